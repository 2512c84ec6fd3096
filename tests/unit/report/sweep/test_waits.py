"""Waits of all points, side by side for each class."""

from __future__ import annotations

import re

from bayplan.analysis.sweeping.summary_format import AxisSummary, Estimate, PointSummary, SweepSummary
from bayplan.report.sweep.waits import wait_figures


def point(value: int, **waits: float) -> PointSummary:
    """Percentiles of waits by class, which are given as CLASS_PERCENTILE."""
    figures = {
        f"waiting.{name.replace('_', '.')}": Estimate(seconds, seconds / 2, seconds * 2, 3)
        for name, seconds in waits.items()
    }
    return PointSummary({"axis": value}, 3, 0, figures, {}, None)


def drawn(*points: PointSummary, baseline: int = 0) -> str:
    axes = [AxisSummary("axis", [1, 2])]
    summary = SweepSummary(axes, [1, 2, 3], 3 * len(points), 0, 0, 0.95, baseline, [], list(points), [], [])
    return str(wait_figures(summary))


def test_each_point_has_its_percentiles() -> None:
    page = drawn(point(1, high_p50=1, high_p99=10), point(2, high_p50=2, high_p99=200), baseline=1)
    titles = re.findall(r"<title>(.*?)</title>", page)
    assert titles == [
        "50%, axis 2: 2 s (1 s to 4 s)",
        "50%, axis 1: 1 s (500 ms to 2 s)",
        "99%, axis 2: 3 min 20 s (1 min 40 s to 6 min 40 s)",
        "99%, axis 1: 10 s (5 s to 20 s)",
    ]
    assert re.findall(r'<i class="(r\d)"></i>(.*?)</span>', page) == [("r0", "axis 2"), ("r1", "axis 1")]


def test_what_is_longer_is_higher_and_nothing_is_not_below_the_scale() -> None:
    page = drawn(point(1, low_p50=0, low_p99=0.001, low_max=1000))
    heights = [float(y) for y in re.findall(r'y="([\d.]+)" class="quantile', page)]
    assert heights[0] == heights[1] > heights[2] > 0


def test_nothing_is_drawn_of_what_is_all_the_same() -> None:
    assert drawn(point(1, low_p50=1, low_p99=1), point(2, low_p50=1, low_p99=1)) == ""
    assert drawn(PointSummary({"axis": 1}, 3, 3, {}, {}, None)) == ""
    page = drawn(point(1, low_p99=1, high_p99=2), point(2, low_p99=1, high_p99=3))
    assert "class high" in page
    assert "class low" not in page
