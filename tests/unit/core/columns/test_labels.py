"""LabelColumn: which values some node has now, and what becomes of columns that are dropped."""

from __future__ import annotations

import numpy as np
import pytest

from bayplan.core.columns import labels
from bayplan.core.columns.counters import NodeCounts
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
    known = NodeLabels()
    if asked_first:
        known.column("host")
    for row, value in steps:
        known.set(row, {} if value is None else {"host": value})
    column = known.column("host")
    *existing, absent = column.existing.tolist()
    assert {value for value, exists in zip(column.values.values, existing, strict=True) if exists} == expected
    assert absent is False


def test_sums_for_a_dropped_column_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not hear of nodes that join, so nothing can be counted by it later."""
    monkeypatch.setattr(labels, "COLUMNS_MAX", 1)
    known = NodeLabels()
    known.set(0, {"zone": "a", "host": "x"})
    zones = known.column("zone")
    known.column("host")
    counts = NodeCounts(np.array([2], dtype=np.int32))
    assert counts.by_domain(zones).tolist() == [2, 0]
    known.set(1, {"zone": "a", "host": "y"})
    counts.add(1, 1)
    assert counts.by_domain(known.column("zone")).tolist() == [3, 0]
