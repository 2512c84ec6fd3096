"""Indexes of Jobs as text."""

from __future__ import annotations

import pytest

from bayplan.apiserver.admitting.validation.job_indexes import IndexFault, count_indexes, first_overlap


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("0", 1), ("0,2", 2), ("1,3-5", 4), ("0-9", 10), ("8-9", 2), ("+1", 1)]
)
def test_indexes_are_counted(text: str, count: int) -> None:
    assert count_indexes(text, 10) == count


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10", 'too large index: "10"'),
        ("0-10", 'too large index: "10"'),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        ("0,1-3,3", "non-increasing order, previous: 3, current: 3"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("3-2", "non-increasing order, previous: 3, current: 2"),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("a", 'cannot convert string to integer for index: "a"'),
        ("9223372036854775808", 'cannot convert string to integer for index: "9223372036854775808"'),
        (
            "1-2-3",
            'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated '
            "by '-'",
        ),
    ],
)
def test_what_makes_no_sense(text: str, why: str) -> None:
    with pytest.raises(IndexFault) as caught:
        count_indexes(text, 10)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("completed", "failed", "first"),
    [
        ("", "", None),
        ("1-3", "4", None),
        ("1-3", "3-4", 3),
        ("3", "1-3", 3),
        ("0,5-7", "6,0", 0),
        ("1-9", "4,2", 2),
        ("x,5", "5,99", 5),
    ],
)
def test_the_first_index_in_both(completed: str, failed: str, first: int | None) -> None:
    """Parts that cannot be read are left out."""
    assert first_overlap(completed, failed, 10) == first
