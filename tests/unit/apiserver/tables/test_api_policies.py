"""Rows of webhooks, admission policies and flow control."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.api_policies import (
    FLOW_SCHEMAS,
    MUTATING_POLICIES,
    POLICY_BINDINGS,
    PRIORITY_LEVELS,
    VALIDATING_POLICIES,
    WEBHOOK_CONFIGURATIONS,
)
from bayplan.apiserver.tables.columns import Printer
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")
SELECTOR = {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["x", "y"]}]}


def named(**fields: Any) -> Part:
    return {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}, **fields}


@pytest.mark.parametrize(
    ("printer", "fields", "cells"),
    [
        (WEBHOOK_CONFIGURATIONS, {"webhooks": [{}, {}]}, [2, "60s"]),
        (VALIDATING_POLICIES, {"spec": {"validations": [{}]}}, [1, "<unset>", "60s"]),
        (
            MUTATING_POLICIES,
            {"spec": {"mutations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}},
            [1, "v1/ConfigMap", "60s"],
        ),
        (
            FLOW_SCHEMAS,
            {"spec": {"priorityLevelConfiguration": {"name": "low"}, "matchingPrecedence": 5}},
            ["low", 5, "<none>", "60s", "?"],
        ),
        (
            FLOW_SCHEMAS,
            {
                "spec": {"distinguisherMethod": {"type": "ByUser"}},
                "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
            },
            ["", 0, "ByUser", "60s", "False"],
        ),
        (PRIORITY_LEVELS, {"spec": {"type": "Exempt"}}, ["Exempt", "<none>", "<none>", "<none>", "<none>", "60s"]),
        (
            PRIORITY_LEVELS,
            {
                "spec": {
                    "type": "Limited",
                    "limited": {
                        "nominalConcurrencyShares": 5,
                        "limitResponse": {"queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}},
                    },
                }
            },
            ["Limited", 5, 64, 6, 50, "60s"],
        ),
    ],
)
def test_cells(printer: Printer, fields: Part, cells: list[Any]) -> None:
    assert printer.cells(named(**fields), NOW) == ["x", *cells]


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (None, "<unset>"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        ({"name": "p"}, "*/p"),
        (
            {"selector": SELECTOR},
            "&LabelSelector{MatchLabels:map[string]string{a: 1,},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:b,Operator:In,Values:[x y],},},}",
        ),
    ],
)
def test_a_policy_binding_shows_its_parameters(reference: Part | None, text: str) -> None:
    binding = named(spec={"policyName": "p", "paramRef": reference})
    assert POLICY_BINDINGS.cells(binding, NOW) == ["x", "p", text, "60s"]
