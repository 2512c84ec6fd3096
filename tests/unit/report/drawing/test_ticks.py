"""Round numbers, within the axis, and not too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.report.drawing.ticks import round_ticks, tick_text


@pytest.mark.parametrize(
    ("low", "high", "at_most", "ticks"),
    [
        (0, 102, 4, [0, 50, 100]),
        (0, 24, 10, [0, 5, 10, 15, 20]),
        (90, 100, 10, [90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100]),
        (0, 0.5, 5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (3, 3, 5, [3]),
    ],
)
def test_ticks(low: float, high: float, at_most: int, ticks: list[float]) -> None:
    assert round_ticks(low, high, at_most) == ticks


def test_counts_have_whole_ticks() -> None:
    assert round_ticks(0, 1.05, 4, whole=True) == [0, 1]


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6), st.integers(2, 12))
def test_they_are_within_the_axis_and_few(low: float, span: float, at_most: int) -> None:
    ticks = round_ticks(low, low + span, at_most)
    assert len(ticks) <= at_most + 1
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in ticks)


def test_numbers_are_written_for_people() -> None:
    assert [tick_text(value) for value in (0, 0.5, 1200.0, 2_000_000)] == ["0", "0.5", "1,200", "2,000,000"]
