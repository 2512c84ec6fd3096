"""Counts and lists in English."""

from __future__ import annotations

import pytest

from bayplan.report.words import counted, examples, listed


@pytest.mark.parametrize(("number", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (5000, "5,000 nodes")])
def test_counted(number: int, text: str) -> None:
    assert counted(number, "node") == text


@pytest.mark.parametrize(
    ("names", "at_most", "text"),
    [
        ([], None, ""),
        (["a"], 1, "a"),
        (["a", "b"], None, "a and b"),
        (["a", "b", "c"], 3, "a, b and c"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
    ],
)
def test_listed(names: list[str], at_most: int | None, text: str) -> None:
    assert listed(names, at_most) == text


def test_examples() -> None:
    assert examples(["a", "b"], 2) == "a, b"
    assert examples(["a", "b", "c", "d"], 2) == "a, b, +2"
