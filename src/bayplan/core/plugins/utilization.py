"""Scores by how much of something is in use, along a broken line that a configuration gives.

Takes points of utilization (0 to 100) and score (0 to 10, as configured); gives scores of 0 to 100. Several plugins
score so; what is in use is theirs to say.
Upstream: plugins/helper/shape_score.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayplan.core.columns import IntArray
from bayplan.core.framework.args import ShapePoint
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.plugins.node_amounts import Amounts

MAX_UTILIZATION = 100
MAX_CONFIGURED_SCORE = 10


def scores_by_utilization(shape: Sequence[ShapePoint]) -> IntArray:
    """(101,) the broken line through the points at every whole percentage."""
    points = [(point.utilization, point.score * MAX_NODE_SCORE // MAX_CONFIGURED_SCORE) for point in shape]
    return np.array([_on_line(points, percent) for percent in range(MAX_UTILIZATION + 1)], dtype=np.int64)


def rounded_quotient(dividend: Amounts, divisor: Amounts) -> Amounts:
    """The nearest whole number, halves up; neither is negative.

    Upstream divides floats and rounds. With numbers this small a quotient is a half as a float only if it is one.
    """
    return (2 * dividend + divisor) // (2 * divisor)


def truncated_quotient(dividend: Any, divisor: Any) -> Any:
    """As Go divides whole numbers, of arrays or of one: toward zero; the divisor is positive."""
    quotient = dividend // divisor
    return quotient + ((quotient < 0) & (quotient * divisor != dividend))


def _on_line(points: Sequence[tuple[int, int]], utilization: int) -> int:
    for position, (end, end_score) in enumerate(points):
        if utilization <= end:
            if position == 0:
                return end_score
            start, start_score = points[position - 1]
            rise = (end_score - start_score) * (utilization - start)
            # Go divides toward zero, which matters where the line falls.
            part = abs(rise) // (end - start)
            return start_score + (part if rise >= 0 else -part)
    return points[-1][1]
