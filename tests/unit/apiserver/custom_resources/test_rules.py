"""Rules in CEL: when they are asked, and how it is worded that they do not hold."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.rules import rule_faults
from bayplan.apiserver.custom_resources.structural import UNSET, Schema

Part = dict[str, Any]


def faults(schema: Part, value: Any, old: Any = UNSET) -> list[tuple[str, str]]:
    root = Schema({"type": "object", "properties": {"a": schema}})
    found = rule_faults({"a": value}, root, UNSET if old is UNSET else {"a": old})
    return [(cause.field, cause.message) for cause in found]


def ruled(rule: str, kind: str = "integer", **fields: Any) -> Part:
    return {"type": kind, "x-kubernetes-validations": [{"rule": rule, **fields}]}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (ruled("self > 1"), 2, []),
        (ruled("self > 1"), 1, [("a", "Invalid value: 1: failed rule: self > 1")]),
        (ruled("self > 1", message=" too small "), 1, [("a", "Invalid value: 1: too small")]),
        (ruled("self > 1", messageExpression="'not ' + string(self)"), 1, [("a", "Invalid value: 1: not 1")]),
        (ruled("self > 1", messageExpression="self.x"), 1, [("a", "Invalid value: 1: failed rule: self > 1")]),
        (ruled("self > 1", reason="FieldValueForbidden"), 1, [("a", "Forbidden: failed rule: self > 1")]),
        (ruled("self > 1", reason="FieldValueRequired"), 1, [("a", "Required value: failed rule: self > 1")]),
        (ruled("self > 1", reason="FieldValueDuplicate"), 1, [("a", "Duplicate value: 1")]),
        (ruled("has(self.x)", "object"), {}, [("a", "Invalid value: failed rule: has(self.x)")]),
        (ruled("has(self.x)", "object", fieldPath=".x"), {}, [("a.x", "Invalid value: failed rule: has(self.x)")]),
        (
            ruled("self.x > 1", "object"),
            {},
            [("a", 'Invalid value: "object": no such key: x evaluating rule: self.x > 1')],
        ),
        (ruled("self.size() > 1", "array"), [1], [("a", "Invalid value: failed rule: self.size() > 1")]),
        (ruled("self / 2.0 > 0.4", "number"), 1, []),
        (
            ruled("self.unknownFunction()"),
            1,
            [("a", 'Invalid value: "integer": rule compile error: self.unknownFunction()')],
        ),
        (ruled("self > 1"), None, []),
    ],
)
def test_rules_are_asked_about_their_value(schema: Part, value: Any, expected: list[tuple[str, str]]) -> None:
    assert faults(schema, value) == expected


@pytest.mark.parametrize(
    ("schema", "value", "field"),
    [
        ({"type": "array", "items": ruled("self > 1")}, [2, 1], "a[1]"),
        ({"type": "object", "additionalProperties": ruled("self > 1")}, {"k": 1}, "a[k]"),
        ({"type": "object", "properties": {"b": ruled("self > 1")}}, {"b": 1}, "a.b"),
    ],
)
def test_rules_stand_anywhere(schema: Part, value: Any, field: str) -> None:
    assert [found for found, _ in faults(schema, value)] == [field]


@pytest.mark.parametrize("name", ["namespace", "with-dash", "with.dot", "with/slash", "with__two"])
def test_names_that_cel_cannot_read_are_escaped(name: str) -> None:
    escaped = {"with-dash": "with__dash__dash", "with.dot": "with__dot__dot", "with/slash": "with__slash__slash"}
    escaped |= {"namespace": "__namespace__", "with__two": "with__underscores__two"}
    schema = ruled(f"self.{escaped[name]} == 'x'", "object") | {"properties": {name: {"type": "string"}}}
    assert faults(schema, {name: "x"}) == []
    assert faults(schema, {name: "y"})


@pytest.mark.parametrize(
    ("schema", "old", "new", "is_refused"),
    [
        pytest.param(ruled("self == oldSelf"), UNSET, 1, False, id="nothing to compare with"),
        pytest.param(ruled("self == oldSelf"), 1, 1, False, id="the same"),
        pytest.param(ruled("self == oldSelf"), 1, 2, True, id="changed"),
        pytest.param(ruled("self > 1"), 1, 1, False, id="wrong as before"),
        pytest.param(ruled("self > 1"), 0, 1, True, id="wrong in another way"),
        pytest.param(ruled("oldSelf.hasValue()", optionalOldSelf=True), UNSET, 1, True, id="optional, absent"),
        pytest.param(ruled("oldSelf.value() == 1", optionalOldSelf=True), 1, 2, False, id="optional, present"),
        pytest.param(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": ruled("self.v == oldSelf.v", "object"),
            },
            [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
            [{"k": "b", "v": 2}, {"k": "a", "v": 3}],
            True,
            id="items of a map are found by their keys",
        ),
    ],
)
def test_updates_are_compared_with_what_was_there(schema: Part, old: Any, new: Any, is_refused: bool) -> None:
    assert bool(faults(schema, new, old)) is is_refused
