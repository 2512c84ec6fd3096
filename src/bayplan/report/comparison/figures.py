"""Runs over each other and side by side, as figures for plotly: plain data, nothing is drawn here.

    runs_over_time  used shares by resource, pods that wait and victims so far; a line for each run
    waits_by_class  p50, p90, p99 and longest wait for each priority class; a row for each run

A run has the same color and, where lines cross, the same dash everywhere. Text of users is escaped, because plotly
interprets some HTML in labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from bayplan.analysis.simulation.results.differences import ClassFigures, Comparison
from bayplan.analysis.simulation.results.run_format import End, Run
from bayplan.report.comparison.rows import names
from bayplan.report.durations import TimeUnit, unit_for
from bayplan.report.simulation.time_figures import (
    DASHES,
    Figure,
    WaitRow,
    axis,
    banded,
    chunk_starts,
    legend,
    maxima,
    means,
    wait_traces,
    waits_figure,
    y_axis,
)
from bayplan.report.simulation.view import ALARM, PALETTE

#: The first run is drawn in a quiet color, as the others are compared with it.
COLOURS = ("#52606D", PALETTE[0], ALARM, PALETTE[2], PALETTE[3], PALETTE[5], PALETTE[6])
_RESOURCES_MAX = 5


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
    time = axis(f"simulated time, {unit.name}", range=[0, unit.of(seconds)], zeroline=False)
    figure = banded(bands, data, time)
    figure["layout"]["legend"] = legend(1.04)
    return figure


def _lines(run: Run, resources: Sequence[str], unit: TimeUnit) -> Iterator[tuple[list[float], Sequence[float], str]]:
    """For each band: times, values, and the format of a value."""
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
        "x": xs, "y": ys, "yaxis": y_axis(band), "hovertemplate": hover,
        "line": {"color": colour_of(run), "width": 2, "shape": "hv", "dash": DASHES[run % len(DASHES)]},
    }  # fmt: skip


# ---------------------------------------------------------------- waiting times


def waits_by_class(comparison: Comparison) -> Figure:
    """A row for each run within each class, the most important class on top."""
    number = len(comparison.runs)
    classes = [compared for compared in comparison.classes if any(map(_quantiles, compared.runs))]
    data: list[Figure] = []
    longest = []
    for run, name in enumerate(names(comparison)):
        waits = [
            WaitRow(
                # Runs of a class are drawn close together, the first on top.
                round(place + (run - (number - 1) / 2) * 0.7 / number, 4),
                colour_of(run),
                f"{escape(compared.class_name)} in {escape(name)}",
                compared.runs[run].placed,
                quantiles,
            )
            for place, compared in enumerate(classes)
            if (quantiles := _quantiles(compared.runs[run]))
        ]
        data += wait_traces(waits, name, legendgroup=str(run))
        longest += [wait.quantiles[-1] for wait in waits]
    labels = [f"{escape(compared.class_name)} ({compared.priority:,})" for compared in classes]
    return waits_figure(data, labels, longest, number)


def _quantiles(figures: ClassFigures) -> list[float]:
    """Empty if no pod was placed."""
    return [seconds for seconds in figures.quantiles if seconds is not None]
