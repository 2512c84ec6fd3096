"""Pod groups and Workloads in files that no API server would have stored, and pods that name no group."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.checks import check
from bayplan.model.conversion import convert
from bayplan.model.kinds import KINDS

GANG = {"gang": {"minCount": 1}}
POLICY = "spec.schedulingPolicy"


def found(kind: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    obj, faults = convert({"metadata": {"name": "x"}, "spec": spec}, KINDS[kind].struct)
    assert faults == []
    return check(obj)


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({"schedulingPolicy": GANG}, []),
        ({"schedulingPolicy": {"basic": {}}}, []),
        ({}, [(POLICY, "must specify one of: `basic`, `gang`")]),
        ({"schedulingPolicy": {"basic": {}, **GANG}}, [(POLICY, "must specify exactly one of: `basic`, `gang`")]),
        ({"schedulingPolicy": {"gang": {}}}, [(f"{POLICY}.gang.minCount", "must be greater than or equal to 1")]),
        (
            {"schedulingPolicy": {"gang": {"minCount": -1}}},
            [(f"{POLICY}.gang.minCount", "must be greater than or equal to 1")],
        ),
        (
            {"schedulingPolicy": GANG, "schedulingConstraints": {"topology": [{}]}},
            [("spec.schedulingConstraints.topology[0].key", "is missing")],
        ),
    ],
)
def test_a_group_is_of_one_policy_with_a_quorum(spec: dict[str, Any], faults: list[tuple[str, str]]) -> None:
    assert found("PodGroup", spec) == faults


def test_templates_of_a_workload_are_looked_at_too() -> None:
    templates = [{"name": "a", "schedulingPolicy": GANG}, {"name": "b", "schedulingPolicy": {"gang": {"minCount": 0}}}]
    assert found("Workload", {"podGroupTemplates": templates}) == [
        ("spec.podGroupTemplates[1].schedulingPolicy.gang.minCount", "must be greater than or equal to 1")
    ]


def test_a_pod_names_its_group() -> None:
    assert found("Pod", {"schedulingGroup": {"podGroupName": "g"}}) == []
    assert found("Pod", {"schedulingGroup": {}}) == [("spec.schedulingGroup", "must specify one of: `podGroupName`")]
