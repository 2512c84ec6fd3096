"""Rows of a table as arrays: which are there, and whether any is there twice."""

from __future__ import annotations

import pytest

from bayplan.core.columns import all_differ, distinct, row_array

MANY = list(range(100, 0, -1))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([], []), ([3], [3]), ([3, 3], [3]), ([5, 1, 5, 3], [1, 3, 5]), ([*MANY, 7], sorted(MANY))],
)
def test_distinct_rows_are_in_order_and_each_is_there_once(rows: list[int], expected: list[int]) -> None:
    assert distinct(row_array(rows)).tolist() == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([], True), ([3], True), ([3, 1], True), ([3, 1, 3], False), (MANY, True), ([*MANY, 7], False)],
)
def test_rows_differ_unless_one_is_there_twice(rows: list[int], expected: bool) -> None:
    assert all_differ(row_array(rows)) is expected
