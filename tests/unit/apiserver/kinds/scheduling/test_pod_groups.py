"""Pod groups and workloads over the API: what is refused, what is filled in, and what may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.testing import LiveCluster, cluster
from bayplan.testing.live_objects import Refusal

GANG: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
GROUPS_ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true"


def group(spec: dict[str, Any], name: str = "g") -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def workload(*templates: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"podGroupTemplates": list(templates), **spec},
    }


def member(name: str, group: str = "g", cpu: str = "1") -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulingGroup": {"podGroupName": group},
            "containers": [{"name": "main", "image": "i", "resources": resources}],
        },
    }


@pytest.fixture(scope="module")
def still() -> Iterator[LiveCluster]:
    """Nothing happens in it but what clients write."""
    with cluster(nodes=0, scheduler=False, controllers=False, feature_gates=GROUPS_ON, kubernetes_version="1.37") as k:
        k.apply(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
        )
        yield k


def refused(live: LiveCluster, *documents: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as raised:
        live.apply(list(documents))
    return str(raised.value)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            group({"schedulingPolicy": {}}),
            'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
        ),
        (
            group({"schedulingPolicy": {"gang": {"minCount": 1}, "basic": {}}}),
            'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`',
        ),
        (
            group({"schedulingPolicy": {"gang": {"minCount": -1}}}),
            "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
        ),
        (group({"schedulingPolicy": {"gang": {"minCount": 0}}}), "spec.schedulingPolicy.gang.minCount: Required value"),
        (
            group({**GANG, "disruptionMode": {}}),
            'spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`',
        ),
        (
            group({**GANG, "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}),
            "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
        ),
        (
            group({**GANG, "resourceClaims": [{"name": "c"}]}),
            "spec.resourceClaims[0]: Invalid value",
        ),
        (
            group({**GANG, "priorityClassName": "high", "priority": 8}),
            "priority set in the pod group (8) must match the priority computed (9) based on the priority class set",
        ),
        (group({**GANG, "priorityClassName": "none"}), "no PriorityClass with name none was found"),
        (group({**GANG, "workloadRef": {"workloadName": "w", "templateName": ""}}), "templateName: Required value"),
        (
            workload(),
            'spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`',
        ),
        (workload({"name": "A", **GANG}), 'spec.podGroupTemplates[0].name: Invalid value: "A"'),
        (workload({"name": "a", **GANG}, controllerRef={"kind": "Job", "name": ""}), "controllerRef.name: Required"),
        (
            {**member("p"), "spec": {**member("p")["spec"], "schedulingGroup": {}}},
            'spec.schedulingGroup: Invalid value: "": must specify one of: `podGroupName`',
        ),
        (member("p", group="Not_A_Name"), 'spec.schedulingGroup.podGroupName: Invalid value: "Not_A_Name"'),
    ],
)
def test_bad_input_is_refused_in_the_server_s_words(still: LiveCluster, document: dict[str, Any], said: str) -> None:
    assert said in refused(still, document)


def test_a_new_group_gets_its_priority_its_mode_and_its_finalizer(still: LiveCluster) -> None:
    still.apply(group({**GANG, "priorityClassName": "high"}, "fresh"))
    made = still.get("podgroup", "fresh")
    assert made["spec"] == {
        **GANG,
        "disruptionMode": {"single": {}},
        "priorityClassName": "high",
        "priority": 9,
    }
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"schedulingPolicy": {"gang": {"minCount": 5}}}, ""),
        ({"schedulingPolicy": {"basic": {}}}, "spec.schedulingPolicy: Invalid value"),
        ({**GANG, "priority": 3}, "spec.priority: Invalid value: 3: field is immutable"),
        (
            {**GANG, "disruptionMode": {"all": {}}},
            'spec.disruptionMode: Invalid value: {"single":{},"all":{}}: field is immutable',
        ),
    ],
)
def test_only_the_size_of_a_gang_may_change(still: LiveCluster, spec: dict[str, Any], said: str) -> None:
    still.apply(group(GANG, "standing"))
    stored = still.get("podgroup", "standing")
    document = group(spec, "standing")
    if said:
        assert said in refused(still, document)
    else:
        still.apply(document)
        changed = still.get("podgroup", "standing")
        assert changed["spec"]["schedulingPolicy"] == spec["schedulingPolicy"]
        assert changed["metadata"]["generation"] == stored["metadata"]["generation"] + 1


def test_templates_of_a_workload_are_not_added_or_removed(still: LiveCluster) -> None:
    still.apply(workload({"name": "a", **GANG}))
    assert "items may not be added or removed" in refused(still, workload({"name": "a", **GANG}, {"name": "b", **GANG}))
    still.apply(workload({"name": "a", "schedulingPolicy": {"gang": {"minCount": 7}}}))


def test_without_the_gate_there_are_no_groups() -> None:
    with cluster(nodes=0, scheduler=False, controllers=False) as k, pytest.raises((Refusal, LookupError, ValueError)):
        k.apply(group(GANG))


@pytest.fixture
def lively() -> Iterator[LiveCluster]:
    with cluster(nodes=2, feature_gates=GROUPS_ON, kubernetes_version="1.37") as k:
        yield k


def test_a_gang_waits_for_its_group_and_its_members_and_is_bound_together(lively: LiveCluster) -> None:
    lively.apply([member("a"), group(GANG)])
    lively.wait_until("podgroup/g exists")
    assert "nodeName" not in lively.get("pod", "a")["spec"]
    lively.apply(member("b"))
    for name in ("a", "b"):
        lively.wait_until(f"pod/{name} running")
    (condition,) = lively.get("podgroup", "g")["status"]["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == ("True", "Scheduled", "")


def test_a_group_that_is_deleted_stays_as_long_as_it_has_pods(lively: LiveCluster) -> None:
    lively.apply([group(GANG), member("a"), member("b")])
    lively.wait_until("pod/b running")
    lively.delete("podgroup", "g")
    assert lively.get("podgroup", "g")["metadata"]["deletionTimestamp"]
    for name in ("a", "b"):
        lively.delete("pod", name)
    lively.wait_until("podgroup/g gone")


def test_both_versions_show_the_same_group(still: LiveCluster) -> None:
    """What was written in one version can be changed in the other, and each writer gets its own."""
    in_alpha = {"apiVersion": "scheduling.k8s.io/v1alpha3"}
    (made,) = still.apply(group({"schedulingPolicy": {"gang": {"minCount": 2}}}, "both") | in_alpha)
    assert (made["apiVersion"], made["spec"]["priority"]) == ("scheduling.k8s.io/v1alpha3", 0)
    larger = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    (changed,) = still.apply(group(larger, "both"))
    assert (changed["apiVersion"], changed["metadata"]["uid"]) == ("scheduling.k8s.io/v1beta1", made["metadata"]["uid"])
    (again,) = still.apply(group(larger, "both") | in_alpha)
    assert again["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


def test_groups_of_groups_are_not_served(still: LiveCluster) -> None:
    composite = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "c"},
        "spec": {"workloadRef": {"workloadName": "w", "templateName": "t"}, "schedulingPolicy": {"basic": {}}},
    }
    assert "doesn't have a resource type for CompositePodGroup" in refused(still, composite)


def test_fields_of_gates_that_are_off_are_not_kept() -> None:
    spec = {
        **GANG,
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "resourceClaims": [{"name": "c", "resourceClaimName": "shared"}],
        "preemptionPolicy": "Never",
    }
    with cluster(
        nodes=0, scheduler=False, controllers=False, feature_gates="GenericWorkload=true", kubernetes_version="1.37"
    ) as k:
        (made,) = k.apply(group(spec))
    assert made["spec"].keys() == {"schedulingPolicy", "disruptionMode", "priority"}
