"""Path elements: how they are made, sorted, written in messages and brought into canonical form."""

from __future__ import annotations

import msgspec
import pytest

from bayplan.apiserver.patching.server_side_apply.path_elements import (
    canonical,
    key_element,
    order_of,
    readable,
    value_element,
)


def test_keys_are_sorted_and_absent_ones_left_out() -> None:
    assert key_element(("protocol", "containerPort"), "TCP", 80) == 'k:{"containerPort":80,"protocol":"TCP"}'
    assert key_element(("ip", "port"), msgspec.UNSET, 1) == 'k:{"port":1}'


def test_values_keep_their_type_and_are_safe_inside_html() -> None:
    assert [value_element(value) for value in (1, True, "1", "a<b")] == ["v:1", "v:true", 'v:"1"', 'v:"a\\u003cb"']


def test_names_come_before_keys_and_numbers_sort_as_numbers() -> None:
    elements = ["i:10", "i:9", 'v:"a"', "v:10", "v:9", 'k:{"port":443}', 'k:{"port":80}', "f:b", "f:a", "."]
    expected = [".", "f:a", "f:b", 'k:{"port":80}', 'k:{"port":443}', "v:9", "v:10", 'v:"a"', "i:9", "i:10"]
    assert sorted(elements, key=order_of) == expected


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("f:data", ".data"),
        ('k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'),
        ('v:"x"', '[="x"]'),
        ("i:3", "[3]"),
    ],
)
def test_readable(element: str, text: str) -> None:
    assert readable(element) == text


@pytest.mark.parametrize(
    ("foreign", "expected"),
    [
        ("f:a", "f:a"),
        ('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}'),
        ('v: "x"', 'v:"x"'),
        ("i:007", "i:7"),
        ("z:what", None),
    ],
)
def test_foreign_elements_become_canonical(foreign: str, expected: str | None) -> None:
    assert canonical(foreign) == expected


@pytest.mark.parametrize("broken", ["", "f", "fa", "k:{", "k:1", "i:x", "v:"])
def test_broken_elements_are_refused(broken: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each part has words of its own
        canonical(broken)
