"""Bounds on intervals, for CI."""

from __future__ import annotations

import pytest

from bayplan.analysis.sweeping.bounds import read_bounds
from bayplan.analysis.sweeping.summary_format import Estimate, MeanDifference, PointSummary, SweepSummary
from bayplan.model.errors import InvalidObject

BASE = PointSummary({"a": 1}, 6, 0, {"x.p99": Estimate(20, 10, 30, 6)}, {}, None)
OTHER = PointSummary(
    {"a": 2}, 6, 0, {"x.p99": Estimate(40, 35, 50, 6)}, {"x.p99": MeanDifference(20, 5, 40, 6, 0.1, False)}, None
)
SUMMARY = SweepSummary([], [], 12, 0, 0, 0.95, 0, ["x.p99"], [BASE, OTHER], [], [])


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("x.p99.high > 30s", [2]),
        ("x.p99.high >= 30", [1, 2]),
        ("x.p99.low < 0.5 min", [1]),
        ("x.p99.mean <= 20", [1]),
        ("difference.x.p99.low > 0", [2]),
        ("difference.x.p99.low>5", []),
    ],
)
def test_which_points_meet_a_bound(text: str, points: list[int]) -> None:
    (bound,) = read_bounds([text])
    assert [point.settings["a"] for point, _ in bound.met_by(SUMMARY)] == points


@pytest.mark.parametrize("text", ["x.p99 > 3", "x.p99.high", "x.p99.high > many", "x.p99.high == 3", ""])
def test_what_is_no_bound(text: str) -> None:
    with pytest.raises(InvalidObject, match="--fail-on"):
        read_bounds([text])


def test_a_figure_that_no_run_has() -> None:
    (bound,) = read_bounds(["x.p98.high > 3"])
    with pytest.raises(InvalidObject, match=r"no run has a figure x\.p98; did you mean x\.p99"):
        bound.met_by(SUMMARY)
