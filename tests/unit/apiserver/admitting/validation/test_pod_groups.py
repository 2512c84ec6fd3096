"""What is refused about pod groups and workloads, and how a fault is worded; over the API: `kinds/scheduling`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.pod_groups import (
    check_pod_group,
    check_pod_group_status,
    check_pod_group_update,
    check_workload,
    check_workload_update,
)

GANG: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
CLAIM = {"name": "c", "resourceClaimName": "r"}
TEMPLATE = {"name": "a", **GANG}
CONTROLLER = {"apiGroup": "batch", "kind": "Job", "name": "j"}


def said(check: Callable[..., None], *specs: dict[str, Any]) -> list[str]:
    faults = Faults()
    check(*({"metadata": {}, "spec": spec} for spec in specs), faults)
    return [f"{cause.field}: {cause.message}" for cause in faults]


def claims(count: int) -> list[dict[str, Any]]:
    return [{**CLAIM, "name": f"c{number}"} for number in range(count)]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"schedulingPolicy": {"gang": {"minCount": 1}}},
        {"schedulingPolicy": {"basic": {}}},
        {"schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]}},
        {"resourceClaims": claims(4)},
        {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]},
        {"disruptionMode": {"all": {}}},
        {"priority": 1_000_000_000},
        {"priorityClassName": "system-cluster-critical", "priority": 2_000_000_000},
        {"preemptionPolicy": "Never"},
        {"workloadRef": {"workloadName": "w.x", "templateName": "t"}},
    ],
)
def test_good_groups(more: dict[str, Any]) -> None:
    assert said(check_pod_group, {**GANG, **more}) == []


@pytest.mark.parametrize(
    ("more", "faults"),
    [
        ({"resourceClaims": claims(5)}, ["spec.resourceClaims: Too many: 5: must have at most 4 items"]),
        (
            {"resourceClaims": [CLAIM, CLAIM, {"resourceClaimName": "r"}, {**CLAIM, "name": "C_"}]},
            [
                'spec.resourceClaims[1]: Duplicate value: {"name":"c"}',
                "spec.resourceClaims[2].name: Required value",
                "spec.resourceClaims[3].name: Invalid value",
            ],
        ),
        (
            {"resourceClaims": [{**CLAIM, "resourceClaimTemplateName": "t"}]},
            [
                'spec.resourceClaims[0]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": must specify '
                "exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"
            ],
        ),
        (
            {"schedulingConstraints": {"topology": [{}]}},
            ["spec.schedulingConstraints.topology[0].key: Required value"],
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": "a b"}]}},
            ["spec.schedulingConstraints.topology[0].key: Invalid value"],
        ),
        (
            {"priority": 1_000_000_001},
            ["spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000"],
        ),
        ({"priorityClassName": "A"}, ["spec.priorityClassName: Invalid value"]),
        (
            {"preemptionPolicy": "Always"},
            ['spec.preemptionPolicy: Unsupported value: "Always": supported values: '],
        ),
        ({"disruptionMode": {}}, ['spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`']),
        (
            {"workloadRef": {"workloadName": "W", "templateName": "t.u"}},
            ["spec.workloadRef.workloadName: Invalid value", "spec.workloadRef.templateName: Invalid value"],
        ),
    ],
)
def test_bad_groups(more: dict[str, Any], faults: list[str]) -> None:
    found = said(check_pod_group, {**GANG, **more})
    assert len(found) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(found, faults, strict=True))


@pytest.mark.parametrize(
    ("field", "value", "other"),
    [
        ("workloadRef", {"workloadName": "w", "templateName": "t"}, {"workloadName": "v", "templateName": "t"}),
        ("schedulingConstraints", {"topology": [{"key": "a"}]}, {"topology": [{"key": "b"}]}),
        ("resourceClaims", [CLAIM], [{**CLAIM, "resourceClaimName": "s"}]),
        ("disruptionMode", {"all": {}}, {"single": {}}),
        ("priorityClassName", "a", "b"),
        ("priority", 1, 2),
        ("preemptionPolicy", "Never", "PreemptLowerPriority"),
        ("schedulingPolicy", {"basic": {}}, {"gang": {"minCount": 1}}),
    ],
)
def test_what_never_changes(field: str, value: Any, other: Any) -> None:
    group, changed = {**GANG, field: value}, {**GANG, field: other}
    assert said(check_pod_group_update, group, group) == []
    [fault] = said(check_pod_group_update, changed, group)
    assert (fault.startswith(f"spec.{field}: "), fault.endswith("field is immutable")) == (True, True)
    before, after = ({"podGroupTemplates": [{"name": "a", **spec}]} for spec in (group, changed))
    [fault] = said(check_workload_update, after, before)
    assert fault.startswith(f"spec.podGroupTemplates[0].{field}: ")


def test_a_gang_may_need_another_number_of_pods() -> None:
    larger = {"schedulingPolicy": {"gang": {"minCount": 9}}}
    assert said(check_pod_group_update, larger, GANG) == []


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({"podGroupTemplates": [{**TEMPLATE, "name": f"a{number}"} for number in range(8)]}, []),
        (
            {"podGroupTemplates": [{**TEMPLATE, "name": f"a{number}"} for number in range(9)]},
            ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
        ),
        (
            {"podGroupTemplates": [TEMPLATE, TEMPLATE]},
            ['spec.podGroupTemplates[1]: Duplicate value: {"name":"a"}'],
        ),
        ({"podGroupTemplates": [TEMPLATE], "controllerRef": CONTROLLER}, []),
        (
            {"podGroupTemplates": [TEMPLATE], "controllerRef": {"apiGroup": "A", "kind": "a/b"}},
            [
                "spec.controllerRef.apiGroup: Invalid value",
                "spec.controllerRef.kind: Invalid value",
                "spec.controllerRef.name: Required value",
            ],
        ),
    ],
)
def test_workloads(spec: dict[str, Any], faults: list[str]) -> None:
    found = said(check_workload, spec)
    assert len(found) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(found, faults, strict=True))


def test_a_workload_stays_with_its_controller_and_its_templates() -> None:
    before = {"podGroupTemplates": [TEMPLATE], "controllerRef": CONTROLLER}
    [fault] = said(check_workload_update, {**before, "controllerRef": {**CONTROLLER, "name": "k"}}, before)
    assert fault.startswith("spec.controllerRef: Invalid value: ")
    renamed = {**before, "podGroupTemplates": [{**TEMPLATE, "name": "b"}]}
    [fault] = said(check_workload_update, renamed, before)
    assert fault == "spec.podGroupTemplates: Invalid value: items may not be added or removed"


def test_statuses_are_about_claims_that_a_group_has() -> None:
    faults = Faults()
    condition = {
        "type": "",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"resourceClaimStatuses": [{"name": "c"}, {"name": "d"}], "conditions": [condition]}
    check_pod_group_status({"spec": {"resourceClaims": [CLAIM]}, "status": status}, {}, faults)
    found = [f"{cause.field}: {cause.message}" for cause in faults]
    assert found[-1] == (
        'status.resourceClaimStatuses[1].name: Invalid value: "d": must match the name of an entry in '
        "`spec.resourceClaims`"
    )
    assert any(one.startswith("status.conditions[0].type: ") for one in found)
    assert len([one for one in found if "resourceClaimStatuses" in one]) == 1
