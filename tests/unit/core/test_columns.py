"""Rows as arrays: each once and in order, however many they are and however far apart."""

from __future__ import annotations

import pytest

from bayplan.core.columns import DENSE, distinct, row_array


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([7, 7, 7], [7]),
        ([3, 1, 3, 0, 1], [0, 1, 3]),
        ([5, 1_000 * DENSE, 5], [5, 1_000 * DENSE]),
    ],
    ids=["none", "one", "close together", "far apart"],
)
def test_distinct_rows(rows: list[int], expected: list[int]) -> None:
    assert distinct(row_array(rows)).tolist() == expected
