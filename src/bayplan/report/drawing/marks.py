"""Rows with marks on a logarithmic axis of durations: the median, p90, p99 and longest of something.

Takes rows in groups; gives a figure. Widths follow the page. The title of a mark says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10

from markupsafe import Markup

from bayplan.report.durations import duration_text
from bayplan.report.markup import joined, tag

_SHORTEST = 0.01  # seconds; a logarithmic axis has no zero
_TICKS = (0.01, 0.1, 1, 10, 60, 600, 3_600, 36_000, 86_400, 864_000)
_ROW = 24  # pixels
_GAP = 10
_LABEL_MAX = 24
#: In the order of the quantiles: the name, and the form of the mark around its middle.
QUANTILES = (
    ("median", "M-5,0a5,5 0 1 0 10,0a5,5 0 1 0 -10,0z"),
    ("p90", "M-6,0L0,-6L6,0L0,6z"),
    ("p99", "M-4.5,-4.5h9v9h-9z"),
    ("longest", "M-1,-8h2v16h-2z"),
)


@dataclass(frozen=True)
class QuantileRow:
    """Quantiles in seconds, from the median to the longest."""

    name: str
    look: str  # classes of the page's style
    quantiles: Sequence[float]
    count: int


def quantile_figure(label: str, groups: Sequence[tuple[str, Sequence[QuantileRow]]], noun: str) -> Markup:
    """A label for each group, and below each other its rows; `noun` is what was counted."""
    longest = max((row.quantiles[-1] for _, rows in groups for row in rows), default=0.0)
    scale = _Scale(max(longest, 10.0))
    labels: list[Markup] = []
    drawn: list[Markup] = [_grid(scale)]
    top = _GAP
    for name, rows in groups:
        middle = top + _ROW * len(rows) / 2
        labels.append(tag("text", tag("title", name), _shortened(name), x="100%", y=middle + 4))
        for place, row in enumerate(rows):
            drawn += _row(row, top + _ROW * (place + 0.5), scale, noun)
        top += _ROW * len(rows) + _GAP
    return tag(
        "figure",
        _legend(),
        tag("svg", labels, class_="axis", height=top, aria_hidden="true"),
        tag("svg", drawn, class_="area", height=top, role="group", aria_label=label),
        _ticks(scale),
        class_="plot rows",
        aria_label=label,
    )


@dataclass(frozen=True)
class _Scale:
    top: float

    def percent(self, seconds: float) -> str:
        low, high = log10(_SHORTEST * 0.8), log10(self.top * 1.4)
        return f"{100 * (log10(max(seconds, _SHORTEST)) - low) / (high - low):.3f}%"

    @property
    def ticks(self) -> list[float]:
        return [tick for tick in _TICKS if tick <= self.top]


def _row(row: QuantileRow, y: float, scale: _Scale, noun: str) -> Iterator[Markup]:
    first, last = scale.percent(row.quantiles[0]), scale.percent(row.quantiles[-1])
    yield tag("line", x1=first, x2=last, y1=y, y2=y, class_=f"range {row.look}")
    for (name, form), seconds in zip(QUANTILES, row.quantiles, strict=True):
        title = tag("title", f"{row.name}: {name} {duration_text(seconds)}, {row.count:,} {noun}")
        yield tag("svg", title, tag("path", d=form), x=scale.percent(seconds), y=y, class_=f"quantile {row.look}")


def _grid(scale: _Scale) -> Markup:
    at = [(scale.percent(tick), tick) for tick in scale.ticks]
    return joined(tag("line", x1=x, x2=x, y1=0, y2="100%", class_="grid") for x, _ in at)


def _ticks(scale: _Scale) -> Markup:
    labels = [
        tag(
            "text",
            f"≤ {duration_text(tick)}" if tick == _SHORTEST else duration_text(tick),
            x=scale.percent(tick),
            y=14,
        )
        for tick in scale.ticks
    ]
    title = tag("text", "from creation to placement (logarithmic)", class_="title", x="50%", y=32)
    return tag("svg", labels, title, class_="times", height=36, aria_hidden="true")


def _legend() -> Markup:
    return tag(
        "div",
        (
            tag(
                "span",
                tag("svg", tag("path", d=form), viewBox="-8 -8 16 16", width=14, height=14, aria_hidden="true"),
                name,
            )
            for name, form in QUANTILES
        ),
        class_="head marks",
    )


def _shortened(name: str) -> str:
    return name if len(name) <= _LABEL_MAX else f"{name[: _LABEL_MAX - 1]}…"
