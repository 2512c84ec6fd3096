"""What is said of a NodePool or an Autoscaler that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.errors import InvalidObject
from bayplan.model.reading import from_dicts

TEMPLATE = {"status": {"allocatable": {"cpu": "4", "memory": "16Gi"}}}


def faults(kind: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    document = {"apiVersion": "bayplan/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    try:
        from_dicts([document], "pools.yaml")
    except InvalidObject as error:
        return [(fault.field, fault.message) for fault in error.faults if fault.object == f"{kind} a"]
    return []


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"max": None}, "spec.max", "is required"),
        ({"max": 0}, "spec.max", "0 is not a number from 1 to 15,000"),
        ({"min": 11}, "spec.min", "11 is more than spec.max, 10"),
        ({"min": -1}, "spec.min", "-1 is negative"),
        ({"maxx": 3}, "spec.maxx", "unknown field; did you mean max?"),
        ({"price": -1}, "spec.price", "-1 is not a price"),
        ({"price": "much"}, "spec.price", "expected a number"),
        ({"startTime": "soon"}, "spec.startTime", "invalid duration 'soon'"),
        ({"unneededTime": "-1m"}, "spec.unneededTime", "'-1m' is negative"),
        ({"utilizationThreshold": 50}, "spec.utilizationThreshold", "50 is not a share from 0 to 1"),
        ({"template": {}}, "spec.template.status.allocatable", "is required"),
        (
            {"template": {"status": {"allocatable": {"cpu": "four"}}}},
            "spec.template.status.allocatable[cpu]",
            "'four'",
        ),
        (
            {"template": {**TEMPLATE, "spec": {"taints": [{"key": "gpu", "effect": "Never"}]}}},
            "spec.template.spec.taints[0].effect",
            "'Never': expected one of NoSchedule",
        ),
        ({"devices": [{"devices": [{"name": "d"}]}]}, "spec.devices[0].driver", "is required"),
        ({"devices": [{"driver": "gpu.example.com"}]}, "spec.devices[0].devices", "has no devices"),
    ],
)
def test_a_pool_that_cannot_be_is_refused_at_its_field(changes: dict[str, Any], field: str, message: str) -> None:
    found = faults("NodePool", {"max": 10, "template": TEMPLATE, **changes})
    assert len(found) == 1
    assert found[0][0] == field
    assert message in found[0][1]


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"mode": "karpentr"}, "spec.mode", "did you mean karpenter?"),
        ({"expander": "price,cheapest"}, "spec.expander", "'cheapest' is not one of"),
        ({"consolidationPolicy": "Always"}, "spec.consolidationPolicy", "'Always' is not one of"),
        ({"scanInterval": "0s"}, "spec.scanInterval", "must be more than 0"),
        ({"maxNodes": 0}, "spec.maxNodes", "0 is less than 1"),
        ({"disruptionBudget": "200%"}, "spec.disruptionBudget", "a share such as 10%"),
        ({"expanders": "price"}, "spec.expanders", "unknown field; did you mean expander?"),
    ],
)
def test_an_autoscaler_that_cannot_be_is_refused_at_its_field(spec: dict[str, Any], field: str, message: str) -> None:
    found = faults("Autoscaler", spec)
    assert [each[0] for each in found] == [field]
    assert message in found[0][1]


def test_what_is_left_out_has_a_default() -> None:
    assert faults("NodePool", {"max": 10, "template": TEMPLATE}) == []
    assert faults("Autoscaler", {}) == []


def test_a_node_pool_of_karpenter_is_another_kind() -> None:
    document = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {"limits": {}}}
    assert from_dicts([document], "dump.yaml").objects == []
