"""Unknown fields go, and with them nulls that may not be."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom_resources.pruning import prune, without_nulls
from bayplan.apiserver.custom_resources.structural import Schema

Part = dict[str, Any]
STRING: Part = {"type": "string"}
KEEPS = "x-kubernetes-preserve-unknown-fields"


def an_object(**properties: Part) -> Part:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "spec", "kept", "unknown"),
    [
        pytest.param(an_object(a=STRING), {"a": "1", "b": 2}, {"a": "1"}, ["spec.b"], id="unknown field"),
        pytest.param(
            an_object(a=an_object(b=STRING)), {"a": {"c": {"d": 1}}}, {"a": {}}, ["spec.a.c"], id="further below"
        ),
        pytest.param(
            an_object(a={"type": "array", "items": an_object(b=STRING)}),
            {"a": [{"b": "1"}, {"b": "2", "c": 1}]},
            {"a": [{"b": "1"}, {"b": "2"}]},
            ["spec.a[1].c"],
            id="in a list",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": an_object(b=STRING)},
            {"x": {"b": "1", "c": 1}},
            {"x": {"b": "1"}},
            ["spec.x.c"],
            id="in values of a map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING}, {"x": "1"}, {"x": "1"}, [], id="keys of a map"
        ),
        pytest.param(
            {"type": "object", KEEPS: True}, {"x": {"y": [{"z": 1}]}}, {"x": {"y": [{"z": 1}]}}, [], id="kept"
        ),
        pytest.param(
            {**an_object(a=an_object(b=STRING)), KEEPS: True},
            {"x": 1, "a": {"c": 1}},
            {"x": 1, "a": {}},
            ["spec.a.c"],
            id="what is kept has known fields, which are pruned",
        ),
        pytest.param(
            an_object(a={"type": "array", "items": {"type": "object"}, KEEPS: True}),
            {"a": [{"b": 1}]},
            {"a": [{"b": 1}]},
            [],
            id="a list that keeps what its items hold",
        ),
        pytest.param(an_object(a={"type": "array"}), {"a": [{"b": 1}]}, {"a": [{}]}, ["spec.a[0].b"], id="no items"),
        pytest.param(
            an_object(a={**an_object(), "x-kubernetes-embedded-resource": True}),
            {"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}},
            {"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}},
            ["spec.a.spec"],
            id="an embedded object keeps what it is",
        ),
    ],
)
def test_unknown_fields_are_taken_out_and_reported(schema: Part, spec: Part, kept: Part, unknown: list[str]) -> None:
    document = {"apiVersion": "e/v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec}
    assert prune(document, Schema(an_object(spec=schema))) == ({**document, "spec": kept}, unknown)


def test_unknown_fields_are_reported_in_alphabetical_order() -> None:
    assert prune({"z": 1, "spec": 1, "a": 1}, Schema(an_object()))[1] == ["a", "spec", "z"]


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        (STRING, {}),
        ({**STRING, "nullable": True}, {"a": None}),
        ({**STRING, "default": "x"}, {"a": None}),
    ],
)
def test_nulls_that_may_not_be_are_dropped_unless_a_default_takes_their_place(schema: Part, kept: Part) -> None:
    assert without_nulls({"a": None}, Schema(an_object(a=schema))) == kept


def test_nulls_are_dropped_in_lists_of_objects_and_nulls_of_unknown_fields_stay() -> None:
    schema = Schema(an_object(a={"type": "array", "items": an_object(b=STRING)}))
    assert without_nulls({"a": [{"b": None, "c": None}, None]}, schema) == {"a": [{"c": None}, None]}


def test_unknown_metadata_is_taken_out_of_the_object_and_of_embedded_ones() -> None:
    embedded = an_object(a={**an_object(), "x-kubernetes-embedded-resource": True})
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y", "strange": 1}}
    document = {"apiVersion": "e/v1", "kind": "K", "metadata": {"name": "x", "odd": 1}, "spec": {"a": inner}}
    kept, unknown = prune(document, Schema(an_object(spec=embedded)))
    assert kept["metadata"] == {"name": "x"}
    assert kept["spec"]["a"]["metadata"] == {"name": "y"}
    assert unknown == ["metadata.odd", "spec.a.metadata.strange"]
