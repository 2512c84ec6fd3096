"""Schemas that are structural, and what keeps others from being so."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.structure import structure_faults

Part = dict[str, Any]
TEXT = {"type": "string"}
EITHER = {"x-kubernetes-int-or-string": True}
NUMBER_OR_TEXT = [{"type": "integer"}, {"type": "string"}]


def root(**properties: Part) -> Part:
    return {"type": "object", "properties": properties}


def found(schema: Part) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in structure_faults(schema, "s")]


@pytest.mark.parametrize(
    "schema",
    [
        root(),
        root(a=TEXT, b={"type": "array", "items": TEXT}, c={"type": "object", "additionalProperties": TEXT}),
        root(a={"x-kubernetes-preserve-unknown-fields": True}),
        root(a=EITHER, b={**EITHER, "anyOf": NUMBER_OR_TEXT}, c={**EITHER, "allOf": [{"anyOf": NUMBER_OR_TEXT}]}),
        root(metadata={"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}}),
        root(a={"type": "object", "properties": {"b": TEXT}, "anyOf": [{"properties": {"b": {"minLength": 1}}}]}),
    ],
)
def test_structural(schema: Part) -> None:
    assert found(schema) == []


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({}, "s.type: Required value: must not be empty at the root"),
        ({"type": "string"}, 's.type: Invalid value: "string": must be object at the root'),
        (root(a={}), "s.properties[a].type: Required value: must not be empty for specified object fields"),
        (
            root(a={"type": "array", "items": {}}),
            "s.properties[a].items.type: Required value: must not be empty for specified array items",
        ),
        (root(a={"type": "array"}), "s.properties[a].items: Required value: must be specified"),
        (
            {"type": "object", "additionalProperties": TEXT},
            "s.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            root(a={**EITHER, "x-kubernetes-preserve-unknown-fields": True}),
            "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if "
            "x-kubernetes-int-or-string is true",
        ),
        (root(kind={"type": "integer"}), 's.properties[kind].type: Invalid value: "integer": must be string'),
        (
            root(metadata={"type": "object", "properties": {"labels": {"type": "object"}}}),
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
            "metadata is implicitly specified",
        ),
        (
            root(a={"type": "string", "anyOf": NUMBER_OR_TEXT[:1]}),
            "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "allOf": [{"properties": {"b": {"minLength": 1}}}]},
            "s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]",
        ),
        (
            root(a={"type": "string", "pattern": "(a"}),
            's.properties[a].pattern: Invalid value: "(a": must be a valid regular expression, but isn\'t: error '
            "parsing regexp: missing closing ): `(a`",
        ),
        (
            root(a={"type": "object", "x-kubernetes-embedded-resource": True}),
            "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields",
        ),
    ],
)
def test_not_structural(schema: Part, fault: str) -> None:
    assert found(schema) == [fault]


def test_faults_are_in_the_order_of_their_texts() -> None:
    assert found(root(b={}, a={}))[0].startswith("s.properties[a]")


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("type", "string", "empty"),
        ("additionalProperties", {}, "undefined"),
        ("default", "", "undefined"),
        ("title", "t", "empty"),
        ("description", "d", "empty"),
        ("nullable", True, "false"),
        ("x-kubernetes-preserve-unknown-fields", True, "false"),
        ("x-kubernetes-embedded-resource", True, "false"),
        ("x-kubernetes-int-or-string", True, "false"),
        ("x-kubernetes-list-map-keys", ["a"], "empty"),
        ("x-kubernetes-list-type", "set", "undefined"),
        ("x-kubernetes-map-type", "atomic", "undefined"),
        ("x-kubernetes-validations", [{"rule": "true"}], "empty"),
    ],
)
def test_what_alternatives_leave_to_the_schema_itself(field: str, value: Any, wanted: str) -> None:
    expected = f"s.properties[a].anyOf[0].{field}: Forbidden: must be {wanted} to be structural"
    assert expected in found(root(a={**TEXT, "anyOf": [{field: value}]}))
