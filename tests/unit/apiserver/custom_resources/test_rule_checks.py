"""Rules of definitions: what compiles, what does not, and what costs too much."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.api_server import DEFINITIONS, TOYS, Api, toy, toy_definition

from bayplan.apiserver.custom_resources.rule_checks import rule_causes

Part = dict[str, Any]
SCHEMA_PATH = "spec.validation.openAPIV3Schema"
TEXTS = {"type": "array", "items": {"type": "string"}}
ITEM = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TABLES = {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}}


def spec_with(rule: str, **more: Any) -> Part:
    """A schema whose spec has a number, a text, a list, and this rule."""
    properties = {
        "number": {"type": "integer"},
        "a-b": {"type": "string"},
        "texts": TEXTS,
        "few": {**TEXTS, "maxItems": 10},
        "tables": TABLES,
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule, **more}]}
    return {"type": "object", "properties": {"spec": spec}}


def found(schema: Part) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in rule_causes(schema, SCHEMA_PATH)]


@pytest.mark.parametrize(
    "rule",
    [
        "self.number == 42",
        "self.a__dash__b.startsWith('x')",
        "self.texts.all(text, text.size() < 3)",
        "self.few.all(a, self.few.all(b, a == b))",
        "self.map.all(key, self.map[key] > 0)",
        "self.map['x'] == 1 || has(self.map.y)",
        "self.items.exists(item, item.name == 'x')",
        "self.items[0].name != ''",
        "has(self.number) && self.any == self.any",
        "!has(oldSelf.number) || self.number >= oldSelf.number",
        "quantity(self.a__dash__b).isGreaterThan(quantity('1'))",
    ],
)
def test_rules_that_compile(rule: str) -> None:
    assert found(spec_with(rule)) == []


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("self.number = 42", "compilation failed: ERROR: <input>:1:13: Syntax error: token recognition error at: '= '"),
        ("self.number == 'a' + 1", "found no matching overload for '_+_' applied to '(string, int)'"),
        ("other == 1", "undeclared reference to 'other'"),
        ("self.number", ""),
        ("1", "cel expression must evaluate to a bool"),
        ("self.nothing == 1", "<input>:1:5: undefined field 'nothing'\n | self.nothing == 1\n | ....^"),
        ("has(self.nothing)", "undefined field 'nothing'"),
        ("self. nothing == 1", "<input>:1:5: undefined field 'nothing'\n | self. nothing == 1\n | ....^"),
        ("true &&\nself.nothing == 1", "<input>:2:5: undefined field 'nothing'\n | self.nothing == 1\n | ....^"),
        ("self.items.all(item, item.other == 'x')", "undefined field 'other'"),
        ("self.items[0].other == 'x'", "undefined field 'other'"),
    ],
)
def test_rules_that_do_not(rule: str, fault: str) -> None:
    causes = found(spec_with(rule))
    if not fault:
        assert causes == []  # of unknown type: objects are not typed here
        return
    ((field, message),) = causes
    assert field == "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    shown = json.dumps(rule).replace("&", "\\u0026").replace(">", "\\u003e")
    assert message.startswith(f'Invalid value: {{"Rule":{shown},"Message":"","MessageExpression":"","Reason":null,')
    assert fault in message


def test_values_are_typed_by_their_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string", "x-kubernetes-validations": [{"rule": RULE}]}}}
    ((field, message),) = found(schema)
    assert field == "spec.validation.openAPIV3Schema.properties[n].x-kubernetes-validations[0].rule"
    assert "found no matching overload for '_>_' applied to '(string, int)'" in message


RULE = "self > 1"


def test_the_root_has_its_type_and_name() -> None:
    rule = {"rule": "self.metadata.name != '' && self.kind == 'Toy' && self.apiVersion != ''"}
    root = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule]}
    assert found(root) == []
    assert "undefined field 'labels'" in found({**root, "x-kubernetes-validations": [LABELS]})[0][1]


LABELS = {"rule": "self.metadata.labels.size() > 0"}


@pytest.mark.parametrize(
    "rule",
    [
        "self.texts.all(a, self.texts.all(b, a == b))",
        "self.tables.all(x, x.all(y, y.all(z, z == z)))",
    ],
)
def test_loops_over_unbounded_lists_cost_too_much(rule: str) -> None:
    ((field, message),) = found(spec_with(rule))
    assert field.endswith("x-kubernetes-validations[0].rule")
    assert message.startswith("Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simpl")


@pytest.mark.parametrize(
    ("items", "rule", "is_refused"),
    [
        # As many as fit into a request: 1048575 texts, 142987 times, 1572863 numbers, 349525 objects.
        ({"type": "string"}, "self.all(t, t == 'a' || t == 'b' || t == 'c')", False),
        ({"type": "string"}, "self.all(t, t.size() > 1 ? t.size() > 2 : t.size() > 3)", False),
        ({"type": "string"}, "self.all(t, t.size() + t.size() + t.size() > 0)", True),
        ({"type": "string", "format": "date-time"}, "self.all(t, t.getHours() + t.getHours() + 1 + 1 + 1 > 0)", False),
        ({"type": "integer"}, "self.all(n, n > 0)", False),
        ({"type": "integer"}, "self.all(n, n + 1 + 1 + 1 + 1 > 0)", True),
        (ITEM, "self.all(o, o.n + o.n + o.n + o.n + o.n > 0)", False),
        (ITEM, f"self.all(o, {' + '.join(['o.n'] * 10)} > 0)", True),
        ({**ITEM, "properties": {"n": {"type": "integer", "default": 1}}}, "self.all(o, o.n + o.n + o.n > 0)", True),
    ],
)
def test_loops_go_round_as_often_as_items_fit_into_a_request(items: Part, rule: str, *, is_refused: bool) -> None:
    schema = {"type": "array", "items": items, "x-kubernetes-validations": [{"rule": rule}]}
    causes = found({"type": "object", "properties": {"list": schema}})
    assert ["estimated rule cost exceeds budget" in message for _, message in causes] == [True] * is_refused


def test_rules_around_a_fault_of_the_schema_are_left_alone() -> None:
    schema = spec_with("self.nothing == 1")
    path = f"{SCHEMA_PATH}.properties[spec]"
    assert rule_causes(schema, SCHEMA_PATH, [f"{path}.properties[number].type"]) == []
    assert len(rule_causes(schema, SCHEMA_PATH, [f"{SCHEMA_PATH}.properties[other].type"])) == 1


def test_expressions_of_messages_must_be_texts() -> None:
    ((field, message),) = found(spec_with("true", messageExpression="1"))
    assert field.endswith("x-kubernetes-validations[0].messageExpression")
    assert message.endswith("messageExpression must evaluate to a string")
    assert found(spec_with("true", messageExpression="'x' + self.a__dash__b")) == []


def test_a_definition_with_a_broken_rule_is_refused() -> None:
    api = Api()
    status, message = api.refusal("POST", DEFINITIONS, toy_definition(spec_with("self.number = 42")))
    assert status == 422
    assert message.startswith('CustomResourceDefinition.apiextensions.k8s.io "toys.example.com" is invalid: spec.val')


def test_rules_of_one_object_share_a_budget() -> None:
    api = Api()
    rule = {"rule": "[1,2,3,4,5,6,7,8,9,0].all(a, [1,2,3,4,5,6,7,8,9,0].all(b, [1,2,3].all(c, c > 0 && self != '')))"}
    items = {"type": "string", "x-kubernetes-validations": [rule]}
    schema = {"type": "object", "properties": {"list": {"type": "array", "maxItems": 100000, "items": items}}}
    api.post(DEFINITIONS, toy_definition(schema))
    assert api.call("POST", TOYS, toy(list=["x"] * 100))[0] == 201
    status, message = api.refusal("POST", TOYS, toy("u", list=["x"] * 50_000))
    assert status == 422
    assert message.count("running out of cost budget, no further validation rules will be run") == 1
