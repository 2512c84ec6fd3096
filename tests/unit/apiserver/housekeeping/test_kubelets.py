"""Kubelets report which spec they act on, containers that are added, and extended resources of their nodes."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import PODS, pod
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.kubelets import KubeletReports
from bayplan.model.node_pools import POOL_LABEL

NODES = "/api/v1/nodes"
GPU = "example.com/gpu"


def running_pod() -> Stage:
    stage = Stage([KubeletReports()])
    made = pod()
    made["spec"]["nodeName"] = "n"
    stage.post(PODS, **made)
    stage.patch(f"{PODS}/p/status", status={"phase": "Running"})
    return stage


def test_a_pod_says_which_generation_of_its_spec_runs() -> None:
    stage = running_pod()
    assert stage.api.get(f"{PODS}/p")["status"]["observedGeneration"] == 1
    stage.patch(f"{PODS}/p", spec={"activeDeadlineSeconds": 500})
    assert stage.api.get(f"{PODS}/p")["status"]["observedGeneration"] == 2


def test_a_resize_is_carried_out_at_once() -> None:
    stage = Stage([KubeletReports()])
    made = pod()
    made["spec"]["nodeName"] = "n"
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    stage.post(NODES, metadata=named("n"), status={"allocatable": {"cpu": "4"}})
    stage.post(PODS, **made)
    ready = {"type": "Ready", "status": "True"}
    status = {"name": "c", "state": {"running": {}}, "resources": {"requests": {"cpu": "1"}}}
    stage.patch(
        f"{PODS}/p/status",
        status={"phase": "Running", "conditions": [ready], "containerStatuses": [status, named("x")]},
    )
    larger = {"requests": {"cpu": "2"}}
    stage.patch(f"{PODS}/p/resize", spec={"containers": [{**made["spec"]["containers"][0], "resources": larger}]})
    known, other = stage.api.get(f"{PODS}/p")["status"]["containerStatuses"]
    assert (known["resources"], known["allocatedResources"]) == (larger, {"cpu": "2"})
    assert "resources" not in other


def test_a_container_that_is_added_for_debugging_runs() -> None:
    stage = running_pod()
    added = {"name": "debug", "image": "i", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}
    stage.patch(f"{PODS}/p/ephemeralcontainers", spec={"ephemeralContainers": [added]})
    (status,) = stage.api.get(f"{PODS}/p")["status"]["ephemeralContainerStatuses"]
    assert (status["name"], [*status["state"]], status["ready"]) == ("debug", ["running"], False)


def allocatable(stage: Stage, capacity: dict[str, str]) -> Any:
    stage.patch(f"{NODES}/n/status", status={"capacity": capacity})
    return stage.api.get(f"{NODES}/n")["status"]["allocatable"]


def test_extended_resources_that_are_added_to_a_node_can_be_had() -> None:
    stage = Stage([KubeletReports()])
    stage.post(NODES, metadata=named("n"), status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}})
    assert allocatable(stage, {GPU: "4"}) == {"cpu": "3", GPU: "4"}
    assert allocatable(stage, {GPU: "5"}) == {"cpu": "3", GPU: "5"}


def test_what_a_node_holds_back_stays_held_back() -> None:
    stage = Stage([KubeletReports()])
    stage.post(NODES, metadata=named("n"), status={"capacity": {GPU: "4"}, "allocatable": {GPU: "3"}})
    assert allocatable(stage, {GPU: "5"}) == {GPU: "3"}


def test_a_node_of_a_pool_says_what_it_is_and_another_one_only_what_it_was_made_with() -> None:
    stage = Stage([KubeletReports()])
    stage.post(NODES, metadata={**named("pooled"), "labels": {POOL_LABEL: "small"}})
    stage.post(NODES, metadata=named("other"))
    pooled, other = (stage.api.get(f"{NODES}/{name}")["status"] for name in ("pooled", "other"))
    assert (pooled["nodeInfo"]["kubeletVersion"], other["nodeInfo"]["kubeletVersion"]) == ("v1.36.4", "")
    assert pooled["addresses"] == [{"type": "Hostname", "address": "pooled"}]
    assert "addresses" not in other


def test_what_is_said_of_a_node_of_a_pool_stays() -> None:
    stage = Stage([KubeletReports()])
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
    stage.post(NODES, metadata={**named("pooled"), "labels": {POOL_LABEL: "small"}}, status={"addresses": addresses})
    assert stage.api.get(f"{NODES}/pooled")["status"]["addresses"] == addresses
