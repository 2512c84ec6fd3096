"""Runs over each other and side by side, as figures for plotly: plain data, nothing is drawn here.

    runs_over_time  used shares by resource, pods that wait and victims so far; a line for each run
    waits_by_class  p50, p90, p99 and longest wait for each priority class; a row for each run

A run has the same colour and, where lines cross, the same dash everywhere. Text of users is escaped, because plotly
reads a part of HTML in labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from bayplan.analysis.simulation.results.differences import ClassFigures, Comparison
from bayplan.analysis.simulation.results.run import End, Run
from bayplan.report.comparison.rows import names
from bayplan.report.durations import TimeUnit, duration_text, unit_for
from bayplan.report.simulation.time_figures import (
    DASHES,
    QUANTILE_MARKS,
    Figure,
    axis,
    chunk_starts,
    layout,
    maxima,
    means,
    shown_wait,
    wait_axis,
    whole_ticks,
)
from bayplan.report.simulation.view import ALARM, PALETTE

#: The first run is drawn in a quiet colour, as it is what others are held against.
COLOURS = ("#52606D", PALETTE[0], ALARM, PALETTE[2], PALETTE[3], PALETTE[5], PALETTE[6])
_RESOURCES_MAX = 5
_BAND = 150  # pixels for each of the plots that stand over each other
_GAP = 0.3  # of a band, for its title


def colour_of(run: int) -> str:
    return COLOURS[run % len(COLOURS)]


def runs_over_time(runs: Sequence[Run], comparison: Comparison) -> Figure:
    """One band for each resource, one for pods that wait, one for victims; zooming one zooms all."""
    seconds = max(run.seconds for run in runs)
    unit = unit_for(seconds)
    called, resources = names(comparison), _resources(runs)
    bands = [*(f"{resource} utilization, %" for resource in resources), "pods waiting", "pods preempted so far"]
    data = [
        _line(place, called[place], band, *drawn)
        for place, run in enumerate(runs)
        for band, drawn in enumerate(_lines(run, resources, unit))
    ]
    return {"data": data, "layout": _bands(bands, data, unit.of(seconds), unit)}


def _lines(run: Run, resources: Sequence[str], unit: TimeUnit) -> Iterator[tuple[list[float], Sequence[float], str]]:
    """For each band: times, values, and how a value is told."""
    series = run.series
    starts = chunk_starts(len(series.t))
    times = [unit.of(series.t[start]) for start in starts]
    for resource in resources:
        yield times, means(series.used.get(resource, [0.0] * len(series.t)), starts), "%{y:.1f} %"
    yield times, maxima(_waiting(run), starts), "%{y:,}"
    yield *_victims_so_far(run, unit), "%{y:,}"


def _resources(runs: Sequence[Run]) -> list[str]:
    """Those that any run uses, in the order of the first run."""
    there = dict.fromkeys(name for run in runs for name in run.series.used)
    used = [name for name in there if any(any(run.series.used.get(name, ())) for run in runs)]
    return used[:_RESOURCES_MAX]


def _waiting(run: Run) -> list[int]:
    """Pods in any place of the queue."""
    places = run.series.queue.values()
    return [sum(counts[sample] for counts in places) for sample in range(len(run.series.t))]


def _victims_so_far(run: Run, unit: TimeUnit) -> tuple[list[float], list[int]]:
    """Steps from nothing at the start to all at the end; as many as a screen can show."""
    at = sorted(pod.ended for pod in run.pods if pod.end is End.PREEMPTED and pod.ended is not None)
    shown = chunk_starts(len(at))
    times = [0.0, *(unit.of(at[place]) for place in shown), unit.of(run.seconds)]
    return times, [0, *(place + 1 for place in shown), len(at)]


def _line(run: int, name: str, band: int, xs: list[float], ys: Sequence[float], hover: str) -> Figure:
    return {
        "type": "scatter", "mode": "lines", "name": escape(name), "legendgroup": str(run), "showlegend": band == 0,
        "x": xs, "y": ys, "yaxis": _axis_name("y", band), "hovertemplate": hover,
        "line": {"color": colour_of(run), "width": 2, "shape": "hv", "dash": DASHES[run % len(DASHES)]},
    }  # fmt: skip


def _axis_name(letter: str, band: int) -> str:
    return f"{letter}{band + 1 if band else ''}"


def _bands(titles: Sequence[str], data: Sequence[Figure], end: float, unit: TimeUnit) -> Figure:
    """The first band on top."""
    number = len(titles)
    height = 1 / (number + (number - 1) * _GAP)
    drawn = layout(
        90 + _BAND * number,
        hovermode="x unified",
        xaxis=axis(f"simulated time, {unit.name}", range=[0, end], zeroline=False, anchor=_axis_name("y", number - 1)),
        legend={"orientation": "h", "x": 0, "y": 1.04, "yanchor": "bottom"},
        margin={"l": 60, "r": 20, "t": 70, "b": 50},
        annotations=[],
    )
    for band, title in enumerate(titles):
        top = 1 - band * height * (1 + _GAP)
        counts = [count for line in data if line["yaxis"] == _axis_name("y", band) for count in line["y"]]
        shares: Figure = {"range": [0, 102]}
        scale = shares if title.endswith("%") else {"rangemode": "tozero", **whole_ticks(counts, 5)}
        drawn[f"yaxis{band + 1 if band else ''}"] = axis(domain=[max(top - height, 0), top], **scale)
        drawn["annotations"].append(_band_title(escape(title), top))
    return drawn


def _band_title(text: str, top: float) -> Figure:
    """Above its band, where a narrow page has room for it."""
    return {
        "text": f"<b>{text}</b>", "showarrow": False, "xref": "paper", "x": 0, "xanchor": "left",
        "yref": "paper", "y": top, "yanchor": "bottom",
    }  # fmt: skip


# ---------------------------------------------------------------- waiting times


class _Wait(NamedTuple):
    """The waits of a class in one run, and the row on which they are drawn."""

    row: float
    class_name: str
    placed: int
    quantiles: Sequence[float]


def waits_by_class(comparison: Comparison) -> Figure:
    """A row for each run within each class, the most important class on top; the line ends at the longest wait."""
    number = len(comparison.runs)
    classes = [compared for compared in comparison.classes if any(map(_quantiles, compared.runs))]
    data, longest = [], []
    for run, name in enumerate(names(comparison)):
        waits = [
            _Wait(_row(number, place, run), compared.class_name, compared.runs[run].placed, quantiles)
            for place, compared in enumerate(classes)
            if (quantiles := _quantiles(compared.runs[run]))
        ]
        data.append(_reach(run, waits))
        data += [_marks(run, name, quantile, waits) for quantile in range(len(QUANTILE_MARKS))]
        longest += [wait.quantiles[-1] for wait in waits]
    drawn = layout(
        140 + max(len(classes), 1) * (24 + 20 * number),
        hovermode="closest",
        xaxis=wait_axis(longest),
        yaxis=axis(
            tickvals=list(range(len(classes))),
            ticktext=[f"{escape(compared.class_name)} ({compared.priority:,})" for compared in classes],
            range=[len(classes) - 0.5, -0.5],
            automargin=True,
            zeroline=False,
            showgrid=False,
        ),
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemsizing": "constant"},
        margin={"l": 150, "r": 20, "t": 60, "b": 50},
        shapes=[_rule(place) for place in range(1, len(classes))],
    )
    return {"data": data, "layout": drawn}


def _quantiles(figures: ClassFigures) -> list[float]:
    """None at all where no pod was placed."""
    return [seconds for seconds in figures.quantiles if seconds is not None]


def _row(runs: int, place: int, run: int) -> float:
    """Runs of a class stand close together, the first on top."""
    return round(place + (run - (runs - 1) / 2) * 0.7 / runs, 4)


def _rule(place: int) -> Figure:
    """Between two classes."""
    line = {"color": "#D5DAE0", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": place - 0.5, "y1": place - 0.5, "line": line}


def _reach(run: int, waits: Sequence[_Wait]) -> Figure:
    xs: list[float | None] = []
    ys: list[float | None] = []
    for wait in waits:
        xs += [shown_wait(wait.quantiles[0]), shown_wait(wait.quantiles[-1]), None]
        ys += [wait.row, wait.row, None]
    return {
        "type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip", "legendgroup": str(run),
        "x": xs, "y": ys, "line": {"color": colour_of(run), "width": 4}, "opacity": 0.4,
    }  # fmt: skip


def _marks(run: int, name: str, quantile: int, waits: Sequence[_Wait]) -> Figure:
    """The legend names the run once, by its first mark."""
    title, symbol, size = QUANTILE_MARKS[quantile]
    return {
        "type": "scatter", "mode": "markers", "name": escape(name), "legendgroup": str(run),
        "showlegend": quantile == 0,
        "x": [shown_wait(wait.quantiles[quantile]) for wait in waits], "y": [wait.row for wait in waits],
        "marker": {
            "symbol": symbol, "size": size, "color": colour_of(run),
            "line": {"width": 2 if title == "longest" else 0, "color": colour_of(run)},
        },
        "hoverinfo": "text",
        "text": [
            f"{escape(wait.class_name)} in {escape(name)}: {title} "
            f"{duration_text(wait.quantiles[quantile])}<br>of {wait.placed:,} placed"
            for wait in waits
        ],
    }  # fmt: skip
