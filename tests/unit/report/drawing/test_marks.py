"""Quantiles in rows: from left to right, and a title for each."""

from __future__ import annotations

import re

from bayplan.report.drawing.marks import QuantileRow, quantile_figure


def test_marks_are_in_order_and_zero_has_a_place() -> None:
    row = QuantileRow("batch", "c0", [0.0, 1.0, 60.0, 3_600.0], 1_234)
    figure = quantile_figure("waits", [("batch (100)", [row])], "pods placed")
    places = [float(x) for x in re.findall(r'<svg x="([\d.]+)%" y="[\d.]+" class="quantile c0">', figure)]
    assert places == sorted(places)
    assert 0 < places[0] < places[-1] < 100
    assert "<title>batch: p99 1 min, 1,234 pods placed</title>" in figure


def test_rows_of_a_group_are_below_each_other() -> None:
    rows = [QuantileRow(name, "r0", [1.0] * 4, 1) for name in "ab"]
    figure = quantile_figure("waits", [("low", rows), ("high", rows[:1])], "pods")
    heights = [float(y) for y in re.findall(r'<line x1="[\d.]+%" x2="[\d.]+%" y1="([\d.]+)"', figure)]
    assert heights[-3:] == sorted(heights[-3:])
    assert len(set(heights[-3:])) == 3


def test_no_rows_make_a_figure() -> None:
    assert "<figure" in quantile_figure("waits", [], "pods")
