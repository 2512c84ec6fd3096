"""The broken line of a configured score, and how scores are rounded."""

from __future__ import annotations

import pytest

from bayplan.core.columns import IntArray
from bayplan.core.framework.args import ShapePoint
from bayplan.core.plugins.utilization import rounded_quotient, scores_by_utilization

LINES = {
    "one point": ([(50, 5)], {0: 50, 50: 50, 51: 50, 100: 50}),
    "rising": ([(0, 0), (100, 10)], {0: 0, 33: 33, 100: 100}),
    # 100 - 100*1/3 is cut toward zero: 100 - 33, where flooring would give 66
    "falling": ([(0, 10), (3, 0)], {0: 100, 1: 67, 2: 34, 3: 0, 4: 0}),
    "a hill": ([(10, 2), (40, 8), (90, 1)], {0: 20, 10: 20, 25: 50, 40: 80, 41: 79, 65: 45, 90: 10, 100: 10}),
}


@pytest.mark.parametrize(("points", "expected"), LINES.values(), ids=LINES.keys())
def test_scores_by_utilization(points: list[tuple[int, int]], expected: dict[int, int]) -> None:
    """The line is level outside its points, straight between them, and cut toward zero."""
    table: IntArray = scores_by_utilization([ShapePoint(*point) for point in points])
    assert table.shape == (101,)
    assert {percent: int(table[percent]) for percent in expected} == expected


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"), [(0, 1, 0), (1, 2, 1), (3, 2, 2), (5, 2, 3), (4, 3, 1), (5, 3, 2)]
)
def test_halves_are_rounded_up(dividend: int, divisor: int, expected: int) -> None:
    """Not to the even neighbor, as Python's round does."""
    assert rounded_quotient(dividend, divisor) == expected
