"""Bands of lines, areas and bars over each other on one time axis.

Takes numbers by name; gives a figure. Widths follow the page, heights and text do not. The script `plots.js` zooms by
changing the part of the time that an area shows; without it, everything is there but that. What the values are at a
moment is the title of a strip, which a browser shows under the pointer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from markupsafe import Markup

from bayplan.report.drawing.ticks import round_ticks, short, tick_text
from bayplan.report.durations import TimeUnit, duration_text
from bayplan.report.markup import joined, tag

_HEIGHT = 120  # pixels of a band
_HEADROOM = 1.05
_TICKS = 4
_TIME_TICKS = 10
_STRIPS, _STRIPS_MAX = 120, 500


class BandShape(Enum):
    """How a series is drawn; areas of a band are stacked."""

    LINE = "line"
    AREA = "area"
    BARS = "bars"


@dataclass(frozen=True)
class Series:
    """Values that hold from their time to the next one; for bars, within that time."""

    name: str
    times: Sequence[float]  # in the unit of the axis
    values: Sequence[float]
    look: str  # classes of the page's style
    shape: BandShape = BandShape.LINE

    def at(self, time: float) -> float | None:
        place = bisect_right(self.times, time) - 1
        return self.values[place] if place >= 0 else None


@dataclass(frozen=True)
class Band:
    """One plot of several."""

    title: str
    series: Sequence[Series]
    text: Callable[[float], str]  # a value in words
    top: float | None = None  # of the axis; None: the largest value

    @property
    def highest(self) -> float:
        if self.top is not None:
            return self.top
        stacked = [one.values for one in self.series if one.shape is BandShape.AREA]
        totals = list(map(sum, zip(*stacked, strict=True))) if stacked else []
        alone = [value for one in self.series if one.shape is not BandShape.AREA for value in one.values]
        return max([*totals, *alone, 1]) * _HEADROOM


@dataclass(frozen=True)
class TimeSpan:
    """A time axis: what there is, and what is shown at first."""

    unit: TimeUnit
    end: float
    start: float = 0.0  # of what is shown at first

    def viewed(self, height: float) -> str:
        """The view of an area with this height."""
        return f"{short(self.start)} 0 {short(max(self.end - self.start, 1e-9))} {short(height)}"


def time_figure(label: str, bands: Sequence[Band], span: TimeSpan) -> Markup:
    """The first band on top."""
    drawn = [joined(_head(band), _axis(band), _area(label, band, span)) for band in bands]
    return figure(label, span, [*drawn, time_ticks(span)])


def figure(label: str, span: TimeSpan, children: object, look: str = "") -> Markup:
    """A figure whose areas `plots.js` zooms."""
    return tag(
        "figure",
        children,
        class_=f"plot time {look}".rstrip(),
        aria_label=label,
        data_end=short(span.end),
        data_start=short(span.start),
    )


def _head(band: Band) -> Markup:
    names = [tag("span", tag("i", class_=one.look), one.name) for one in band.series if one.name]
    return tag("div", tag("b", band.title), tag("span", names, class_="names"), class_="head")


def _axis(band: Band) -> Markup:
    labels = [
        tag("text", tick_text(tick), x="100%", y=short(_y(tick, band.highest) + 4)) for tick in _value_ticks(band)
    ]
    return tag("svg", labels, class_="axis", height=_HEIGHT, aria_hidden="true")


def _value_ticks(band: Band) -> list[float]:
    return round_ticks(0, band.highest, _TICKS, whole=band.top is None)


def _y(value: float, highest: float) -> float:
    return _HEIGHT * (1 - value / highest)


def _area(label: str, band: Band, span: TimeSpan) -> Markup:
    grid = "".join(f"M0,{short(_y(tick, band.highest))}H{short(span.end)}" for tick in _value_ticks(band))
    return tag(
        "svg",
        tag("path", class_="grid", d=grid),
        list(_shapes(band, span.end)),
        list(_strips(band, span)),
        class_="area",
        viewBox=span.viewed(_HEIGHT),
        preserveAspectRatio="none",
        height=_HEIGHT,
        role="group",
        aria_label=f"{label}: {band.title}",
    )


def _shapes(band: Band, end: float) -> Iterator[Markup]:
    below: list[float] = []
    for one in band.series:
        heights = list(one.values)
        if one.shape is BandShape.AREA:
            below = below or [0.0] * len(heights)
            heights = [low + value for low, value in zip(below, heights, strict=True)]
            yield tag("path", class_=f"filled {one.look}", d=_between(one.times, below, heights, band.highest, end))
            below = heights
        elif one.shape is BandShape.BARS:
            zeros = [0.0] * len(heights)
            yield tag("path", class_=f"filled {one.look}", d=_between(one.times, zeros, heights, band.highest, end))
        else:
            yield tag("path", class_=f"line {one.look}", d=_steps(one.times, heights, band.highest, end))


def _steps(times: Sequence[float], values: Sequence[float], highest: float, end: float) -> str:
    """A line that is level until the next value; equal values are drawn once."""
    drawn: list[str] = []
    last = ""
    for time, value in zip(times, values, strict=True):
        y = short(_y(value, highest))
        if not drawn:
            drawn.append(f"M{short(time)},{y}")
        elif y != last:
            drawn.append(f"H{short(time)}V{y}")
        last = y
    return "".join([*drawn, f"H{short(end)}"]) if drawn else "M0,0"


def _between(times: Sequence[float], low: Sequence[float], high: Sequence[float], highest: float, end: float) -> str:
    """Rectangles from one value to the other, joined where nothing changes."""
    drawn: list[str] = []
    start = 0
    for place in range(1, len(times) + 1):
        if place < len(times) and (low[place], high[place]) == (low[start], high[start]):
            continue
        until = times[place] if place < len(times) else end
        if high[start] > low[start]:
            top, bottom = short(_y(high[start], highest)), short(_y(low[start], highest))
            drawn.append(f"M{short(times[start])},{bottom}V{top}H{short(until)}V{bottom}z")
        start = place
    return "".join(drawn) or "M0,0"


def _strips(band: Band, span: TimeSpan) -> Iterator[Markup]:
    """Invisible, side by side; their titles say what the values are."""
    closer = span.end / max(span.end - span.start, 1e-9)
    count = min(round(_STRIPS * closer), _STRIPS_MAX)
    width = span.end / count if span.end else 0
    for number in range(count if width else 0):
        middle = (number + 0.5) * width
        values = [(one.name, one.at(middle)) for one in band.series]
        said = ", ".join(f"{name} {band.text(value)}".strip() for name, value in values if value is not None)
        when = duration_text(middle * span.unit.seconds)
        title = tag("title", f"{when}: {said}")
        yield tag("rect", title, class_="strip", x=short(number * width), width=short(width), height=_HEIGHT)


def time_ticks(span: TimeSpan) -> Markup:
    """Below the last area; `plots.js` writes them again for another part of the time."""
    shown = max(span.end - span.start, 1e-9)
    labels = [
        tag("text", tick_text(tick), x=f"{100 * (tick - span.start) / shown:.3f}%", y=14)
        for tick in round_ticks(span.start, span.end, _TIME_TICKS)
    ]
    title = tag("text", f"simulated time, {span.unit.name}", class_="title", x="50%", y=32)
    return tag("svg", tag("g", labels), title, class_="times", height=36, aria_hidden="true")
