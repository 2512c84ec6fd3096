"""Sets and maps hold nothing twice; embedded objects say what they are."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.lists import embedded_faults, list_faults
from bayplan.apiserver.custom_resources.structural import Schema

Part = dict[str, Any]


def in_spec(schema: Part) -> Schema:
    return Schema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": schema}}}})


def a_list(list_type: str, *keys: str) -> Part:
    return {"type": "array", "x-kubernetes-list-type": list_type, "x-kubernetes-list-map-keys": list(keys)}


@pytest.mark.parametrize(
    ("schema", "value", "faults"),
    [
        (a_list("set"), ["x", "y"], []),
        (a_list("set"), ["x", "y", "x", "x"], [("spec.a[2]", 'Duplicate value: "x"')]),
        (a_list("set"), [{"k": 1}, {"k": 1}], [("spec.a[1]", 'Duplicate value: {"k":1}')]),
        (a_list("atomic"), ["x", "x"], []),
        (a_list("map", "k"), [{"k": "x"}, {"k": "y"}], []),
        (a_list("map", "k"), [{"k": "x", "v": 1}, {"k": "x", "v": 2}], [("spec.a[1]", 'Duplicate value: {"k":"x"}')]),
        (a_list("map", "k", "l"), [{"k": 1}, {"k": 1, "l": 2}, {"k": 1}], [("spec.a[2]", 'Duplicate value: {"k":1}')]),
        (a_list("map", "k"), [{}, {}], [("spec.a[1]", "Duplicate value: {}")]),
        (
            a_list("map", "k"),
            ["x"],
            [("spec.a[0]", 'Invalid value: "x": must be an object for an array of list-type map')],
        ),
        (
            {"type": "array", "items": a_list("set")},
            [["x", "x"]],
            [("spec.a[0][1]", 'Duplicate value: "x"')],
        ),
        (
            {"type": "object", "additionalProperties": a_list("set")},
            {"m": ["x", "x"]},
            [("spec.a[m][1]", 'Duplicate value: "x"')],
        ),
    ],
)
def test_what_a_list_holds_twice_is_reported_once(schema: Part, value: Any, faults: list[tuple[str, str]]) -> None:
    found = list_faults({"spec": {"a": value}}, in_spec(schema))
    assert [(cause.field, cause.message) for cause in found] == faults


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        (
            {"kind": ""},
            [("spec.a.apiVersion", "Required value"), ("spec.a.kind", 'Invalid value: "": must not be empty')],
        ),
        ({"apiVersion": 1, "kind": "Pod"}, [("spec.a.apiVersion", "Invalid value: 1: must be a string")]),
    ],
)
def test_embedded_objects_say_what_they_are(value: Part, faults: list[tuple[str, str]]) -> None:
    found = embedded_faults({"spec": {"a": value}}, in_spec({"type": "object", "x-kubernetes-embedded-resource": True}))
    assert [(cause.field, cause.message) for cause in found] == faults
