"""What belongs to the server in documents."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, document, namespace, pod, resource_named

from bayplan.apiserver.registry.admission import admit_update

DEPLOYMENT = document(
    "apps/v1",
    "Deployment",
    {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
)


def _updated(old: dict[str, Any], subresource: str = "", **changes: Any) -> dict[str, Any]:
    return admit_update(resource_named(old), {**old, **changes}, old, Documents(namespace("default")), NOW, subresource)


def test_a_new_document_gets_a_generation_and_an_empty_status() -> None:
    made = admitted({**DEPLOYMENT, "status": {"replicas": 9}, "metadata": {**DEPLOYMENT["metadata"], "generation": 7}})
    assert (made["metadata"]["generation"], made["status"]) == (1, {})


def test_a_node_comes_with_its_status() -> None:
    assert admitted(document("v1", "Node", {}, status={"capacity": {"cpu": "1"}}))["status"]["allocatable"] == {
        "cpu": "1"
    }


def test_a_gated_pod_says_so() -> None:
    [condition] = admitted(pod(schedulingGates=[{"name": "a"}]))["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")


def test_a_job_selects_its_own_pods() -> None:
    job = admitted(document("batch/v1", "Job", {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}))
    uid = {"batch.kubernetes.io/controller-uid": "1"}
    labels = {**uid, "controller-uid": "1", "batch.kubernetes.io/job-name": "x", "job-name": "x"}
    assert job["spec"]["selector"] == {"matchLabels": uid}
    assert job["spec"]["template"]["metadata"]["labels"] == labels
    assert job["metadata"]["labels"] == labels


def test_label_keys_of_a_spread_constraint_become_part_of_its_selector() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    constraint |= {"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["hash", "absent"]}
    given = pod(topologySpreadConstraints=[constraint])
    given["metadata"] = {**given["metadata"], "labels": {"hash": "1"}}
    [written] = admitted(given)["spec"]["topologySpreadConstraints"]
    assert written["labelSelector"]["matchExpressions"] == [{"key": "hash", "operator": "In", "values": ["1"]}]


@pytest.mark.parametrize(
    ("changes", "generation"),
    [
        ({"spec": {**admitted(DEPLOYMENT)["spec"], "replicas": 3}}, 2),
        ({"metadata": {**admitted(DEPLOYMENT)["metadata"], "annotations": {"a": "b"}}}, 2),
        ({"metadata": {**admitted(DEPLOYMENT)["metadata"], "labels": {"a": "b"}}}, 1),
        ({"status": {"replicas": 3}}, 1),
    ],
)
def test_the_generation_counts_what_controllers_must_act_upon(changes: dict[str, Any], generation: int) -> None:
    updated = _updated(admitted(DEPLOYMENT), **changes)
    assert (updated["metadata"]["generation"], updated["status"]) == (generation, {})


def test_a_write_to_the_status_leaves_the_rest_alone() -> None:
    old = admitted(DEPLOYMENT)
    updated = _updated(old, "status", spec={**old["spec"], "replicas": 9}, status={"replicas": 1})
    assert (updated["spec"], updated["status"]) == (old["spec"], {"replicas": 1})


def test_a_template_of_a_daemon_set_has_a_generation_of_its_own() -> None:
    old = admitted(document("apps/v1", "DaemonSet", DEPLOYMENT["spec"]))
    template = {**old["spec"]["template"], "metadata": {"labels": {"a": "b", "c": "d"}}}
    name = "deprecated.daemonset.template.generation"
    assert old["metadata"]["annotations"] == {name: "1"}
    assert _updated(old, spec={**old["spec"], "template": template})["metadata"]["annotations"] == {name: "2"}
    assert _updated(old, spec={**old["spec"], "minReadySeconds": 5})["metadata"]["annotations"] == {name: "1"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"podIP": "10.0.0.1"}, {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}),
        ({"podIPs": [{"ip": "10.0.0.2"}]}, {"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.2"}]}),
    ],
)
def test_a_pod_has_its_address_in_both_fields(status: dict[str, Any], expected: dict[str, Any]) -> None:
    assert _updated(admitted(pod()), "status", status=status)["status"] == {**expected, "qosClass": "BestEffort"}


@pytest.mark.parametrize("subresource", ["resize", "ephemeralcontainers"])
def test_a_write_to_a_part_of_the_spec_leaves_the_rest_alone(subresource: str) -> None:
    old = admitted(pod(nodeSelector={"a": "b"}))
    old["metadata"]["annotations"] = {"a": "b"}
    mine = {"labels": {"c": "d"}, "finalizers": ["e/f"], "annotations": {"c": "d"}}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    wished = {**old["metadata"], **mine, "ownerReferences": [owner]}
    updated = _updated(old, subresource, metadata=wished, spec={**old["spec"], "nodeSelector": {}, "hostname": "h"})
    assert (updated["metadata"], updated["spec"]) == (old["metadata"], old["spec"])
