"""LabelColumn: which values some node has now."""

from __future__ import annotations

import pytest

from bayplan.core.columns.labels import NodeLabels


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([], set(), id="nobody-has-it"),
        pytest.param([(0, "a"), (1, "b"), (2, None)], {"a", "b"}, id="all-different"),
        pytest.param([(0, "a"), (1, "a"), (1, None)], {"a"}, id="one-of-two-lost-it"),
        pytest.param([(0, "a"), (1, "a"), (0, None), (1, None)], set(), id="all-lost-it"),
        pytest.param([(0, "a"), (0, "b")], {"b"}, id="changed"),
        pytest.param([(0, "a"), (0, "a"), (0, None)], set(), id="set-again"),
    ],
)
@pytest.mark.parametrize("asked_first", [True, False], ids=["kept-up-to-date", "built-on-demand"])
def test_existing_values(steps: list[tuple[int, str | None]], expected: set[str], asked_first: bool) -> None:
    """They follow labels as they come, change and go."""
    labels = NodeLabels()
    if asked_first:
        labels.column("host")
    for row, value in steps:
        labels.set(row, {} if value is None else {"host": value})
    column = labels.column("host")
    *existing, absent = column.existing.tolist()
    assert {value for value, exists in zip(column.values.values, existing, strict=True) if exists} == expected
    assert absent is False
