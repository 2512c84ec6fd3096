"""Merge patches: the RFC's cases, the server's treatment of nulls, and that a difference leads to its target."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.patching.merge_patch import apply_merge_patch
from bayplan.store.errors import BadRequest


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "x"}, {"a": {"b": None}}, {"a": {}}),
        ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_patched(document: dict[str, Any], patch: Any, expected: Any) -> None:
    assert apply_merge_patch(document, patch) == expected


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_a_patch_must_be_an_object(patch: Any, message: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        apply_merge_patch({}, patch)
    assert refusal.value.message == message


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.sampled_from([True, 1, "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=3)
PATCHES = st.recursive(st.none() | VALUES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)


def merge_diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        both_objects = isinstance(before, dict) and isinstance(value, dict)
        patch[name] = merge_diff(before, value) if both_objects and before is not None else value
    return patch


@given(DOCUMENTS, DOCUMENTS)
def test_a_difference_leads_to_its_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy(old)
    assert apply_merge_patch(old, merge_diff(old, new)) == new
    assert old == before


@given(DOCUMENTS, st.dictionaries(NAMES, PATCHES, max_size=3))
def test_a_second_time_changes_nothing(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = apply_merge_patch(document, patch)
    assert apply_merge_patch(once, patch) == once
