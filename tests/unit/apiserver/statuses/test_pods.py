"""Container statuses and conditions that follow from a pod's phase."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api

from bayplan.apiserver.statuses.pods import completed

CLUSTER = Api().registry
THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": NOW}
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": THEN}


def pod(phase: str, *conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    spec = {
        "initContainers": [{"name": "first", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "x"}],
    }
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "resourceVersion": "41"},
        "spec": spec,
        "status": {"phase": phase, "conditions": list(conditions), **status},
    }


def states(made: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    statuses = [*made["status"]["initContainerStatuses"], *made["status"]["containerStatuses"]]
    return {known["name"]: (next(iter(known["state"])), known["ready"]) for known in statuses}


def test_a_pod_that_starts() -> None:
    made = completed(pod("Pending", SCHEDULED), pod("Running", SCHEDULED, READY), NOW, CLUSTER)
    assert [known["type"] for known in made["status"]["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert {known["status"] for known in made["status"]["conditions"]} == {"True"}
    assert all(known["lastProbeTime"] is None for known in made["status"]["conditions"])
    assert states(made) == {"first": ("terminated", True), "side": ("running", True), "c": ("running", True)}


@pytest.mark.parametrize(
    ("phase", "reason", "code", "why"),
    [("Succeeded", "PodCompleted", 0, "Completed"), ("Failed", "PodFailed", 1, "Error")],
)
def test_a_pod_that_ends(phase: str, reason: str, code: int, why: str) -> None:
    running = completed(pod("Pending", SCHEDULED), pod("Running", SCHEDULED, READY), THEN, CLUSTER)
    ready = {**READY, "status": "False", "reason": reason}
    ended = {**running, "status": {**running["status"], "phase": phase, "conditions": [SCHEDULED, ready]}}
    made = completed(running, ended, NOW, CLUSTER)
    (container,) = made["status"]["containerStatuses"]
    assert container["ready"] is False
    terminated = container["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (code, why)
    assert (terminated["startedAt"], terminated["finishedAt"]) == (THEN, NOW)
    (of_containers,) = [known for known in made["status"]["conditions"] if known["type"] == "ContainersReady"]
    assert (of_containers["status"], of_containers["reason"]) == ("False", reason)


def test_restarts_stay_as_they_were() -> None:
    known = {"name": "c", "restartCount": 3, "state": {"running": {"startedAt": THEN}}}
    made = completed(pod("Pending"), pod("Running", READY, containerStatuses=[known]), NOW, CLUSTER)
    assert made["status"]["containerStatuses"][0]["restartCount"] == 3


def test_a_pending_pod_has_no_container_statuses() -> None:
    made = completed(pod("Pending"), pod("Pending", {**SCHEDULED, "status": "False"}), NOW, CLUSTER)
    assert "containerStatuses" not in made["status"]
    assert made["status"]["conditions"][0]["lastProbeTime"] is None


def test_init_containers_stay_ready_when_their_pod_has_succeeded() -> None:
    running = completed(pod("Pending"), pod("Running", READY), THEN, CLUSTER)
    over = {**running, "status": {**running["status"], "phase": "Succeeded"}}
    assert states(completed(running, over, NOW, CLUSTER))["first"] == ("terminated", True)


def test_a_pod_that_starts_has_an_address_of_its_own_and_that_of_its_node() -> None:
    api = Api()
    addresses = [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "172.16.0.9"}]
    api.post("/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"addresses": addresses}})
    started = pod("Running", READY)
    started["spec"]["nodeName"] = "n"
    status = completed(pod("Pending"), started, NOW, api.registry)["status"]
    assert (status["hostIP"], status["hostIPs"]) == ("172.16.0.9", [{"ip": "172.16.0.9"}])
    assert (status["podIP"], status["podIPs"]) == ("10.128.0.42", [{"ip": "10.128.0.42"}])
    started["spec"]["hostNetwork"] = True
    assert completed(pod("Pending"), started, NOW, api.registry)["status"]["podIP"] == "172.16.0.9"


def test_a_pod_keeps_its_address() -> None:
    made = completed(pod("Pending"), pod("Running", READY, podIP="1.2.3.4"), NOW, CLUSTER)
    assert made["status"]["podIP"] == "1.2.3.4"


def test_a_container_that_failed_ends_with_its_exit_code_and_the_others_with_success() -> None:
    running = pod("Running", READY)
    running["spec"]["containers"].append({"name": "d"})
    running = completed(pod("Pending"), running, THEN, CLUSTER)
    first, second = running["status"]["containerStatuses"]
    first = {**first, "state": {**first["state"], "terminated": {"exitCode": 42}}}
    failed = {**running, "status": {**running["status"], "phase": "Failed", "containerStatuses": [first, second]}}
    made = [
        known["state"]["terminated"]
        for known in completed(running, failed, NOW, CLUSTER)["status"]["containerStatuses"]
    ]
    assert [(known["exitCode"], known["reason"]) for known in made] == [(42, "Error"), (0, "Completed")]
    assert (made[0]["startedAt"], made[0]["finishedAt"]) == (THEN, NOW)


def test_what_comes_after_an_init_container_that_failed_for_good_never_starts() -> None:
    failed = {"name": "first", "state": {"terminated": {"exitCode": 3}}}
    ready = {**READY, "status": "False", "reason": "PodFailed"}
    made = completed(pod("Pending"), pod("Failed", ready, initContainerStatuses=[failed]), NOW, CLUSTER)
    assert states(made) == {"first": ("terminated", False), "side": ("waiting", False), "c": ("waiting", False)}
    assert made["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    (condition,) = [known for known in made["status"]["conditions"] if known["type"] == "Initialized"]
    assert (condition["status"], condition["reason"]) == ("False", "ContainersNotInitialized")
    assert condition["message"] == "containers with incomplete status: [first side]"


def test_a_pod_that_was_refused_has_no_containers() -> None:
    ready = {**READY, "status": "False"}
    why = {"reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu"}
    made = completed(pod("Pending"), pod("Failed", ready, **why), NOW, CLUSTER)
    assert "containerStatuses" not in made["status"]
    assert "initContainerStatuses" not in made["status"]
