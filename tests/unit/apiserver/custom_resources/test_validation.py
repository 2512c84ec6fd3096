"""Values against a schema, in the words of the real server."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.structural import UNSET, Schema
from bayplan.apiserver.custom_resources.validation import schema_faults

Part = dict[str, Any]
STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def faults(schema: Part, value: Any, old: Any = UNSET) -> list[tuple[str, str]]:
    root = Schema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": schema}}}})
    old_document = UNSET if old is UNSET else {"spec": {"a": old}}
    found = schema_faults({"spec": {"a": value}}, root, old=old_document)
    return [(cause.field, cause.message) for cause in found]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (STRING, "x"),
        (INTEGER, 5),
        (INTEGER, 5.0),
        ({"type": "number"}, 5),
        ({"type": "number"}, 5.5),
        ({"type": "boolean"}, True),
        ({"type": "array"}, []),
        ({"type": "object"}, {}),
        ({}, "anything"),
        ({"x-kubernetes-int-or-string": True}, 5),
        ({"x-kubernetes-int-or-string": True}, "5%"),
        ({**STRING, "nullable": True}, None),
        ({**STRING, "format": "date-time"}, "2026-01-01T00:00:00Z"),
        ({**STRING, "format": "something-else"}, "x"),
        ({**INTEGER, "format": "int32"}, 2**31 - 1),
        ({**INTEGER, "minimum": 1, "maximum": 1}, 1),
        ({"type": "number", "multipleOf": 0.1}, 0.3),
        ({**INTEGER, "minimum": 1, "exclusiveMinimum": True}, 2),
        ({**INTEGER, "maximum": 1, "exclusiveMaximum": True}, 0),
        ({**INTEGER, "format": "int32"}, -(2**31)),
        ({**INTEGER, "format": "int64"}, 2**31),
        ({"type": "array", "minItems": 1, "maxItems": 1}, [0]),
        ({"type": "object", "minProperties": 1, "maxProperties": 1}, {"x": 1}),
        ({**STRING, "enum": []}, "x"),
        ({**STRING, "enum": ["a", "b"]}, "b"),
        ({**INTEGER, "enum": [1, 2]}, 2),
        ({**STRING, "minLength": 2, "maxLength": 2}, "éé"),
        ({**STRING, "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "b"),
        ({**STRING, "oneOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, "b"),
        ({**STRING, "allOf": [{"pattern": "a"}, {"pattern": "b"}]}, "ab"),
        ({**STRING, "not": {"pattern": "^a"}}, "b"),
    ],
)
def test_a_valid_value_has_no_faults(schema: Part, value: Any) -> None:
    assert faults(schema, value) == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INTEGER, "x", 'Invalid value: "string": spec.a in body must be of type integer: "string"'),
        (
            {**INTEGER, "format": "int32"},
            "3",
            'Invalid value: "string": spec.a in body must be of type integer: "string"',
        ),
        (INTEGER, 5.5, 'Invalid value: "number": spec.a in body must be of type integer: "number"'),
        (INTEGER, True, 'Invalid value: "boolean": spec.a in body must be of type integer: "boolean"'),
        (STRING, 5, 'Invalid value: "integer": spec.a in body must be of type string: "integer"'),
        (STRING, {}, 'Invalid value: "object": spec.a in body must be of type string: "object"'),
        (STRING, None, 'Invalid value: "null": spec.a in body must be of type string: "null"'),
        (
            {"x-kubernetes-int-or-string": True},
            True,
            'Invalid value: "boolean": spec.a in body must be of type integer,string: "boolean"',
        ),
        (
            {**INTEGER, "format": "int32"},
            5.5,
            'Invalid value: "float64": spec.a in body must be of type int32: "float64"',
        ),
        *(
            ({"type": kind, "format": name}, True, f'Invalid value: "": spec.a in body must be of type {name}: ""')
            for kind, name in (("number", "double"), ("number", "float"), ("integer", "int64"))
        ),
        (
            {"type": "number", "format": "int32"},
            True,
            'Invalid value: "boolean": spec.a in body must be of type number: "boolean"',
        ),
        (
            {**STRING, "format": "date-time"},
            "x",
            'Invalid value: "x": spec.a in body must be of type date-time: "x"',
        ),
        ({**STRING, "enum": ["a", "b"]}, "c", 'Unsupported value: "c": supported values: "a", "b"'),
        ({**INTEGER, "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
        ({**STRING, "maxLength": 1}, "ab", "Too long: may not be more than 1 byte"),
        ({**STRING, "minLength": 3}, "ab", 'Invalid value: "ab": spec.a in body should be at least 3 chars long'),
        ({**STRING, "pattern": "^b"}, "ab", "Invalid value: \"ab\": spec.a in body should match '^b'"),
        ({**INTEGER, "minimum": 1}, 0, "Invalid value: 0: spec.a in body should be greater than or equal to 1"),
        (
            {**INTEGER, "minimum": 1, "exclusiveMinimum": True},
            1,
            "Invalid value: 1: spec.a in body should be greater than 1",
        ),
        ({**INTEGER, "maximum": 1}, 2, "Invalid value: 2: spec.a in body should be less than or equal to 1"),
        (
            {"type": "number", "maximum": 1, "exclusiveMaximum": True},
            1.5,
            "Invalid value: 1.5: spec.a in body should be less than 1",
        ),
        (
            {**INTEGER, "maximum": 1, "exclusiveMaximum": True},
            1,
            "Invalid value: 1: spec.a in body should be less than 1",
        ),
        (
            {"type": "number", "minimum": 1},
            0.5,
            "Invalid value: 0.5: spec.a in body should be greater than or equal to 1",
        ),
        ({"enum": [1]}, True, 'Unsupported value: true: supported values: "1"'),
        ({**INTEGER, "multipleOf": 5}, 7, "Invalid value: 7: spec.a in body should be a multiple of 5"),
        ({"type": "array", "minItems": 1}, [], "Invalid value: 0: spec.a in body should have at least 1 items"),
        ({"type": "array", "maxItems": 1}, [1, 2], "Too many: 2: must have at most 1 item"),
        (
            {"type": "object", "minProperties": 1},
            {},
            "Invalid value: 0: spec.a in body should have at least 1 properties",
        ),
        ({"type": "object", "maxProperties": 2}, dict.fromkeys("xyz"), "Too many: 3: must have at most 2 items"),
    ],
)
def test_one_fault(schema: Part, value: Any, message: str) -> None:
    assert faults(schema, value) == [("spec.a", message)]


def test_a_missing_field_is_required() -> None:
    schema = {"type": "object", "required": ["x", "y"], "properties": {"x": STRING, "y": STRING}}
    assert faults(schema, {"y": "1"}) == [("spec.a.x", "Required value")]
    root = Schema({"type": "object", "required": ["spec"]})
    assert [cause.field for cause in schema_faults({}, root)] == ["spec"]


def test_faults_inside_of_lists_and_maps_have_their_path() -> None:
    items: Part = {"type": "array", "items": {"type": "object", "additionalProperties": INTEGER}}
    assert [field for field, _ in faults(items, [{}, {"k": "x"}])] == ["spec.a[1].k"]


def test_a_number_that_does_not_fit_its_format_is_reported_without_a_field() -> None:
    assert faults({**INTEGER, "format": "int32"}, 2**31) == [
        ("<nil>", 'Invalid value: "": Checked value must be of type integer with format int32 in spec.a')
    ]


CLOSER = {"type": "object", "required": ["x"], "properties": {"x": INTEGER, "y": INTEGER}}
OTHER = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (
            {"anyOf": [OTHER, CLOSER]},
            {"y": 1},
            [
                ("<nil>", 'Invalid value: "": "spec.a" must validate at least one schema (anyOf)'),
                ("spec.a.x", "Required value"),
            ],
        ),
        (
            {"oneOf": [OTHER, CLOSER]},
            {"y": 1},
            [
                (
                    "<nil>",
                    'Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found none valid',
                ),
                ("spec.a.x", "Required value"),
            ],
        ),
        (
            {"oneOf": [{"required": ["x"]}, {"required": ["y"]}]},
            {"x": 1, "y": 1},
            [
                (
                    "<nil>",
                    'Invalid value: "": "spec.a" must validate one and only one schema (oneOf). '
                    "Found 2 valid alternatives",
                )
            ],
        ),
        (
            {"allOf": [{"required": ["x"]}, {"required": ["y"]}]},
            {"x": 1},
            [
                ("spec.a.y", "Required value"),
                ("<nil>", 'Invalid value: "": "spec.a" must validate all the schemas (allOf)'),
            ],
        ),
        (
            {"allOf": [{"required": ["x"]}]},
            {},
            [
                ("spec.a.x", "Required value"),
                ("<nil>", 'Invalid value: "": "spec.a" must validate all the schemas (allOf). None validated'),
            ],
        ),
        (
            {"not": {"required": ["x"]}},
            {"x": 1},
            [("<nil>", 'Invalid value: "": "spec.a" must not validate the schema (not)')],
        ),
    ],
)
def test_of_alternatives_the_closest_is_reported(schema: Part, value: Any, expected: list[tuple[str, str]]) -> None:
    assert faults(schema, value) == expected


@pytest.mark.parametrize(
    ("schema", "old", "new", "is_refused"),
    [
        (INTEGER, "x", "x", False),
        (INTEGER, "x", "y", True),
        (INTEGER, 1, True, True),
        ({"type": "array", "items": INTEGER}, ["x"], ["x", 1], True),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": STRING, "v": INTEGER}},
            },
            [{"k": "a", "v": "x"}],
            [{"k": "b", "v": 1}, {"k": "a", "v": "x"}],
            False,
        ),
        ({"type": "object", "required": ["x"]}, {"y": 1}, {"y": 2}, True),
    ],
)
def test_what_has_not_changed_is_not_judged_again(schema: Part, old: Any, new: Any, is_refused: bool) -> None:
    assert bool(faults(schema, new, old)) is is_refused


def test_a_number_below_its_format_has_no_field_either() -> None:
    [(field, _)] = faults({**INTEGER, "format": "int32"}, -(2**31) - 1)
    assert field == "<nil>"


@pytest.mark.parametrize("first_is_text", [True, False])
def test_of_alternatives_the_one_that_came_furthest_is_shown(first_is_text: bool) -> None:
    """Numbers count for it, texts do not; of equal ones the first is shown."""
    text = {"properties": {"x": {**STRING, "maxLength": 0}}}
    number = {"properties": {"n": {**INTEGER, "maximum": 0}}}
    alternatives = [text, number] if first_is_text else [number, text]
    for kind in ("anyOf", "oneOf"):
        assert [field for field, _ in faults({kind: alternatives}, {"x": "s", "n": 1})] == ["<nil>", "spec.a.n"]


def test_two_valid_alternatives_are_no_progress() -> None:
    missing: Part = {"required": ["z"]}
    twice: Part = {"oneOf": [{}, {}]}
    assert [field for field, _ in faults({"anyOf": [missing, twice]}, {})] == ["<nil>", "spec.a.z"]
