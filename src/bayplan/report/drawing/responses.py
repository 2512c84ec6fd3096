"""Points with their intervals: a response curve over the values of an axis, or a cloud of two figures.

Takes numbers; gives a figure. Widths follow the page. The title of a mark says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bayplan.report.drawing.ticks import round_ticks, short
from bayplan.report.markup import tag

_HEIGHT = 160
_TICKS = 4
_ROOM = 0.08  # of the range, above and below


@dataclass(frozen=True)
class Mark:
    """A mean with its interval at a place on the horizontal axis, 0 to 1."""

    x: float
    mean: float
    low: float
    high: float
    title: str
    look: str = "r1"


def response_figure(
    label: str, marks: Sequence[Mark], ticks: Sequence[tuple[float, str]], text: Callable[[float], str]
) -> Markup:
    """Marks with whiskers; `ticks` are places with their texts, `text` says a value."""
    least, most = min(mark.low for mark in marks), max(mark.high for mark in marks)
    room = (most - least) * _ROOM or max(abs(most), 1.0) * _ROOM
    least, most = least - room, most + room

    def y(value: float) -> float:
        return _HEIGHT * (most - value) / (most - least)

    values = round_ticks(least, most, _TICKS)
    axis = [tag("text", text(value), x="100%", y=short(y(value) + 4)) for value in values]
    grid = [tag("line", x1=0, x2="100%", y1=short(y(value)), y2=short(y(value)), class_="grid") for value in values]
    return tag(
        "figure",
        tag("div", tag("b", label), class_="head"),
        tag("svg", axis, class_="axis", height=_HEIGHT, aria_hidden="true"),
        tag(
            "svg",
            grid,
            [_drawn(mark, y) for mark in marks],
            class_="area",
            height=_HEIGHT,
            role="group",
            aria_label=label,
        ),
        tag(
            "svg",
            [tag("text", said, x=f"{100 * x:.3f}%", y=14) for x, said in ticks],
            class_="times",
            height=20,
            aria_hidden="true",
        ),
        class_="plot rows",
        aria_label=label,
    )


def _drawn(mark: Mark, y: Callable[[float], float]) -> Markup:
    x = f"{100 * mark.x:.3f}%"
    return tag(
        "g",
        tag("title", mark.title),
        tag("line", x1=x, x2=x, y1=short(y(mark.low)), y2=short(y(mark.high)), class_=f"range {mark.look}"),
        tag(
            "svg",
            tag("path", d="M-5,0a5,5 0 1 0 10,0a5,5 0 1 0 -10,0z"),
            x=x,
            y=short(y(mark.mean)),
            class_=f"quantile {mark.look}",
        ),
    )
