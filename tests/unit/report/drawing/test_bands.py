"""What is drawn where, and what a strip says."""

from __future__ import annotations

import re

from bayplan.report.drawing.bands import Band, BandShape, Series, TimeSpan, time_figure
from bayplan.report.durations import unit_for

SPAN = TimeSpan(unit_for(100.0), 100.0)


def count(value: float) -> str:
    return f"{value:g} pods"


def paths(band: Band, look: str) -> list[str]:
    return re.findall(rf'<path class="{look}" d="([^"]*)"', time_figure("x", [band], SPAN))


def test_a_line_is_level_until_the_next_value_and_goes_on_to_the_end() -> None:
    line = Series("cpu", [0, 10, 20, 30], [0, 50, 50, 100], "c0")
    assert paths(Band("share", [line], count, 100), "line c0") == ["M0,120H10V60H30V0H100"]


def test_areas_are_stacked_and_nothing_is_drawn_for_zero() -> None:
    low = Series("a", [0, 50], [1, 0], "c0", BandShape.AREA)
    high = Series("b", [0, 50], [1, 2], "c1", BandShape.AREA)
    band = Band("pods", [low, high], count, 2)
    assert paths(band, "filled c0") == ["M0,120V60H50V120z"]
    assert paths(band, "filled c1") == ["M0,60V0H50V60zM50,120V0H100V120z"]


def test_the_axis_has_room_for_the_highest_stack() -> None:
    stacked = [Series(name, [0], [3], "c0", BandShape.AREA) for name in "ab"]
    assert Band("pods", stacked, count).highest == 6 * 1.05
    assert Band("pods", [], count).highest == 1.05


def test_a_strip_says_what_the_values_are_then() -> None:
    line = Series("cpu", [0, 50], [1, 2], "c0")
    late = Series("gpu", [60], [7], "c1")
    titles = re.findall(r"<title>([^<]*)</title>", time_figure("x", [Band("pods", [line, late], count)], SPAN))
    assert len(titles) == 120
    assert titles[0] == "417 ms: cpu 1 pods"
    assert titles[-1] == "1 min 40 s: cpu 2 pods, gpu 7 pods"


def test_what_is_shown_at_first_may_be_a_part() -> None:
    figure = time_figure("x", [Band("pods", [], count)], TimeSpan(unit_for(100.0), 100.0, 90.0))
    assert 'viewBox="90 0 10 120"' in figure
    assert 'data-end="100" data-start="90"' in figure
    assert re.findall(r'<text x="([\d.]+)%" y="14">95<', figure) == ["50.000"]
