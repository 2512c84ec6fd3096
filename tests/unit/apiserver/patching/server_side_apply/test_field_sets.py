"""Sets of fields: their algebra against plain sets of paths, and reading foreign ones."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.patching.server_side_apply.field_sets import (
    FieldSet,
    Path,
    decoded,
    difference,
    intersection,
    paths_of,
    recursive_difference,
    set_of_paths,
    union,
)
from bayplan.apiserver.patching.server_side_apply.path_elements import order_of

ELEMENTS = ["f:a", "f:b", 'k:{"n":1}', 'v:"x"']
PATHS = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple)
SETS = st.frozensets(PATHS, max_size=6)


def made(paths: frozenset[Path]) -> FieldSet:
    return set_of_paths(*sorted(paths))


def is_canonical(node: FieldSet) -> bool:
    in_order = list(node) == sorted(node, key=order_of)
    return in_order and list(node) != ["."] and all(is_canonical(below) for below in node.values())


@given(SETS, SETS)
def test_the_algebra_is_that_of_sets_of_paths(first: frozenset[Path], second: frozenset[Path]) -> None:
    one, two = made(first), made(second)
    before = copy.deepcopy((one, two))
    results = [
        (union(one, two), first | second),
        (intersection(one, two), first & second),
        (difference(one, two), first - second),
        (recursive_difference(one, two), {path for path in first if not starts_with_any(path, second)}),
    ]
    for result, expected in results:
        assert set(paths_of(result)) == expected
        assert result == made(frozenset(expected))
        assert is_canonical(result)
    assert (one, two) == before


def starts_with_any(path: Path, starts: frozenset[Path]) -> bool:
    return any(path[: len(start)] == start for start in starts)


@given(SETS, SETS)
def test_what_changes_nothing_gives_the_same_object(first: frozenset[Path], second: frozenset[Path]) -> None:
    one = made(first)
    assert union(one, made(first & second)) is one
    assert difference(one, made(second - first)) is one


@given(SETS)
def test_what_was_written_is_read_back(paths: frozenset[Path]) -> None:
    assert decoded(made(paths)) == made(paths)


@pytest.mark.parametrize(
    ("foreign", "expected"),
    [
        (None, {}),
        ({".": {}}, {}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": None}, {"f:a": {}}),
        ({"f:b": {}, "f:a": {"z:unknown": {}}}, {"f:a": {}, "f:b": {}}),
        ({"f:l": {'k:{"p": 2}': {}, 'k:{"p":1}': {}}}, {"f:l": {'k:{"p":1}': {}, 'k:{"p":2}': {}}}),
    ],
)
def test_foreign_sets_become_canonical(foreign: object, expected: FieldSet) -> None:
    assert decoded(foreign) == expected
    assert is_canonical(decoded(foreign))


@pytest.mark.parametrize("broken", ["x", {"f:a": 1}, {"a": {}}, {"f:a": {"k:{": {}}}])
def test_broken_sets_are_refused(broken: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each part has words of its own
        decoded(broken)


def test_members_of_a_level_come_before_what_is_below_them() -> None:
    fields: FieldSet = {"f:a": {".": {}, "f:x": {}}, "f:b": {}}
    assert list(paths_of(fields)) == [("f:a",), ("f:b",), ("f:a", "f:x")]
