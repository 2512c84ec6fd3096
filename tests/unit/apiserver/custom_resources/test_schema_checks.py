"""What schemas of definitions may say, beside their structure."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.schema_checks import schema_causes

Part = dict[str, Any]
TEXT = {"type": "string"}
LIST_TYPE, KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
NAMED = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "other": TEXT}}


def found(part: Part, *, has_status: bool = False) -> list[str]:
    """Of a schema with this part under `a`."""
    schema = {"type": "object", "properties": {"a": part}}
    causes = schema_causes(schema, "s", has_status=has_status, checks_rules=True)
    return [f"{cause.field.removeprefix('s.properties[a]')}: {cause.message}" for cause in causes]


@pytest.mark.parametrize(
    "part",
    [
        {**TEXT, "default": "x"},
        {"type": "array", "items": TEXT, LIST_TYPE: "set"},
        {"type": "array", "items": NAMED, LIST_TYPE: "map", KEYS: ["name"]},
        {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"b": TEXT}},
        {"type": "object", "properties": {"b": {**TEXT, "default": "x"}}, "default": {}},
    ],
)
def test_what_may_be_said(part: Part) -> None:
    assert found(part) == []


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        (
            {"type": "integer", "maximum": 1, "default": 2},
            ".default: Invalid value: 2:  in body should be less",
        ),
        ({"type": "object", "properties": {}, "default": {"b": 1}}, '.default: Invalid value: {"b":1}: must not have'),
        ({**TEXT, "uniqueItems": True}, ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime"),
        ({**TEXT, "id": "x"}, ".id: Forbidden: id is not supported"),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            ".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            {"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT},
            ".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {**TEXT, "x-kubernetes-map-type": "atomic"},
            '.type: Invalid value: "string": must be object if',
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "x"},
            '.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular"',
        ),
        ({**TEXT, LIST_TYPE: "set"}, '.type: Invalid value: "string": must be array if x-kubernetes-list-type is'),
        (
            {"type": "array", "items": TEXT, LIST_TYPE: "x"},
            '.x-kubernetes-list-type: Unsupported value: "x": supported values: "atomic", "set", "map"',
        ),
        (
            {"type": "array", "items": NAMED, LIST_TYPE: "set"},
            ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list",
        ),
        (
            {"type": "array", "items": NAMED, KEYS: ["name"]},
            ".x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ),
        (
            {"type": "array", "items": NAMED, LIST_TYPE: "map"},
            ".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {"type": "array", "items": NAMED, LIST_TYPE: "map", KEYS: ["no"]},
            '.x-kubernetes-list-map-keys: Invalid value: ["no"]: entries must all be names of item properties',
        ),
        (
            {"type": "array", "items": NAMED, LIST_TYPE: "map", KEYS: ["name", "name"]},
            '.x-kubernetes-list-map-keys: Invalid value: ["name","name"]: must not contain duplicate entries',
        ),
        (
            {"type": "array", "items": NAMED, LIST_TYPE: "map", KEYS: ["other"]},
            ".items.properties[other].default: Required value: this property is in x-kubernetes-list-map-keys, so it",
        ),
        (
            {"type": "array", "items": {**TEXT, "nullable": True}, LIST_TYPE: "set"},
            ".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": " "}]},
            ".x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": "self\n == ''"}]},
            ".x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line b",
        ),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": "self == ''", "message": " "}]},
            '.x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified',
        ),
        *(
            (
                {**TEXT, "x-kubernetes-validations": [{"rule": "self == ''", "message": f"a{end}b"}]},
                ".x-kubernetes-validations[0].message: Invalid value",
            )
            for end in "\n\r"
        ),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": "self == ''", "messageExpression": " "}]},
            ".x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if s",
        ),
        (
            {"type": "array", "items": {**NAMED, "properties": {"name": {**TEXT, "nullable": True}}}}
            | {LIST_TYPE: "map", KEYS: ["name"]},
            ".items.properties[name].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot",
        ),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": "self == ''", "reason": "x"}]},
            '.x-kubernetes-validations[0].reason: Unsupported value: "x": supported values: "FieldValueDuplicate"',
        ),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": "self >"}]},
            ".x-kubernetes-validations[0].rule: Invalid",
        ),
    ],
)
def test_what_may_not(part: Part, fault: str) -> None:
    (message,) = found(part)
    assert message.startswith(fault)


def test_the_root_says_less_where_there_is_a_status() -> None:
    schema = {"type": "object", "maxProperties": 3}
    assert schema_causes(schema, "s", has_status=False, checks_rules=True) == []
    (cause,) = schema_causes(schema, "s", has_status=True, checks_rules=True)
    assert cause.message.startswith('Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object"')
    assert cause.message.endswith(
        ": only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength "
        "Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
        "XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource "
        "is enabled"
    )


def test_metadata_has_no_defaults() -> None:
    schema = {"type": "object", "properties": {"kind": {**TEXT, "default": "x"}}}
    (cause,) = schema_causes(schema, "s", has_status=False, checks_rules=True)
    assert cause.message == "Forbidden: must not be set in top-level kind"


def test_rules_that_were_there_before_are_not_looked_at() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self >"}]}
    assert len(schema_causes(schema, "s", has_status=False, checks_rules=True)) == 1
    assert schema_causes(schema, "s", has_status=False, checks_rules=False) == []
