"""How long pods waited: for each class, the percentiles of each point side by side, on a logarithmic scale.

Takes the summary of a sweep; gives a figure for each class whose waits differ between points or pods. Of many points,
only the first are drawn, with the baseline.
"""

from __future__ import annotations

from math import log10
from typing import Final

from markupsafe import Markup

from bayplan.analysis.sweeping.summary_format import Estimate, PointSummary, SweepSummary
from bayplan.report.drawing.responses import Mark, response_figure
from bayplan.report.markup import NOTHING, joined, tag
from bayplan.report.sweep import parts

_PREFIX: Final = "waiting."
_PERCENTILES: Final = {"p50": "50%", "p90": "90%", "p99": "99%", "max": "longest"}
#: There are so many colors.
_POINTS_MAX: Final = 7
#: Waits below this, in seconds, are drawn as this.
_LEAST: Final = 0.001


def wait_figures(summary: SweepSummary) -> Markup:
    """Nothing if no pod waited for longer than another."""
    first = [
        summary.points[summary.baseline],
        *(p for p in summary.points if p is not summary.points[summary.baseline]),
    ]
    shown = [point for point in first if point.figures][:_POINTS_MAX]
    found = {name for point in shown for name in point.figures if name.startswith(_PREFIX) and name.endswith(".p99")}
    classes = sorted(name.removeprefix(_PREFIX).removesuffix(".p99") for name in found)
    figures = [drawn for each in classes if (drawn := _of_class(summary, shown, each))]
    if not figures:
        return NOTHING
    names = [tag("span", tag("i", class_=f"r{place}"), parts.point_name(summary, p)) for place, p in enumerate(shown)]
    said = "Half, nine tenths, 99 of 100 and all pods of a class waited no longer than this; means over seeds."
    return joined(tag("p", said), tag("p", names, class_="legend"), joined(figures))


def _of_class(summary: SweepSummary, shown: list[PointSummary], name: str) -> Markup:
    marks, seconds = [], set()
    for row, (percentile, words) in enumerate(_PERCENTILES.items()):
        measure = f"{_PREFIX}{name}.{percentile}"
        for place, point in enumerate(shown):
            wait = point.figures.get(measure)
            if wait is not None:
                seconds.add(wait.mean)
                title = f"{words}, {parts.point_name(summary, point)}: {parts.estimate_text(measure, wait)}"
                marks.append(_mark((row + (place + 1) / (len(shown) + 1)) / len(_PERCENTILES), wait, title, place))
    if len(seconds) < 2:
        return NOTHING
    ticks = [((row + 0.5) / len(_PERCENTILES), words) for row, words in enumerate(_PERCENTILES.values())]
    return response_figure(
        f"class {name}", marks, ticks, lambda value: parts.number_text(f"{_PREFIX}{name}.p50", 10**value)
    )


def _mark(x: float, wait: Estimate, title: str, place: int) -> Mark:
    mean, low, high = (log10(max(value, _LEAST)) for value in (wait.mean, wait.low, wait.high))
    return Mark(x, mean, low, high, title, f"r{place}")
