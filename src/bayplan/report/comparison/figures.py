"""Runs over each other and side by side, as figures.

    runs_over_time  used shares by resource, pods that wait and victims so far; a line for each run
    waits_by_class  p50, p90, p99 and longest wait for each priority class; a row for each run

A run has the same color and, where lines cross, the same dash everywhere. What is drawn is made by functions of its own
(`bands`, `wait_rows`), as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from bayplan.analysis.simulation.results.differences import ClassFigures, Comparison
from bayplan.analysis.simulation.results.run_format import End, Run
from bayplan.report.comparison.rows import names
from bayplan.report.drawing.bands import Band, Series, TimeSpan, time_figure
from bayplan.report.drawing.marks import QuantileRow, quantile_figure
from bayplan.report.durations import TimeUnit, unit_for
from bayplan.report.simulation.time_figures import (
    DASHES,
    POINTS_MAX,
    chunk_starts,
    count_text,
    maxima,
    means,
    percent_text,
)

_LOOKS = 7  # colors that the page's style has for runs
_RESOURCES_MAX = 5
_FULL = 102  # percent, with room for the line


def look_of(run: int) -> str:
    return f"r{run % _LOOKS}"


def runs_over_time(runs: Sequence[Run], comparison: Comparison) -> Markup:
    seconds = max(run.seconds for run in runs)
    unit = unit_for(seconds)
    return time_figure("Runs over time", bands(runs, comparison, unit), TimeSpan(unit, unit.of(seconds)))


def bands(runs: Sequence[Run], comparison: Comparison, unit: TimeUnit) -> list[Band]:
    """One band for each resource, one for pods that wait, one for victims."""
    called, resources = names(comparison), _resources(runs)
    lines = [list(_lines(run, resources, unit, POINTS_MAX // len(runs))) for run in runs]
    titles = [*(f"{resource} utilization, %" for resource in resources), "pods waiting", "pods preempted so far"]
    return [
        Band(
            title,
            [
                Series(called[place], *drawn[band], f"{look_of(place)} d{place % DASHES}")
                for place, drawn in enumerate(lines)
            ],
            percent_text if band < len(resources) else count_text,
            _FULL if band < len(resources) else None,
        )
        for band, title in enumerate(titles)
    ]


def _lines(
    run: Run, resources: Sequence[str], unit: TimeUnit, points: int
) -> Iterator[tuple[list[float], Sequence[float]]]:
    """For each band: times and values."""
    series = run.series
    starts = chunk_starts(len(series.t), points)
    times = [unit.of(series.t[start]) for start in starts]
    for resource in resources:
        yield times, means(series.used.get(resource, [0.0] * len(series.t)), starts)
    yield times, maxima(_waiting(run), starts)
    yield _victims_so_far(run, unit, points)


def _resources(runs: Sequence[Run]) -> list[str]:
    """Those that any run uses, in the order of the first run."""
    there = dict.fromkeys(name for run in runs for name in run.series.used)
    used = [name for name in there if any(any(run.series.used.get(name, ())) for run in runs)]
    return used[:_RESOURCES_MAX]


def _waiting(run: Run) -> list[int]:
    """Pods in any place of the queue."""
    places = run.series.queue.values()
    return [sum(counts[sample] for counts in places) for sample in range(len(run.series.t))]


def _victims_so_far(run: Run, unit: TimeUnit, points: int) -> tuple[list[float], list[int]]:
    """Steps from nothing at the start to all at the end; as many as a screen can show."""
    at = sorted(pod.ended for pod in run.pods if pod.end is End.PREEMPTED and pod.ended is not None)
    shown = chunk_starts(len(at), points)
    times = [0.0, *(unit.of(at[place]) for place in shown), unit.of(run.seconds)]
    return times, [0, *(place + 1 for place in shown), len(at)]


def waits_by_class(comparison: Comparison) -> Markup:
    return quantile_figure("Waiting time by priority class and run", wait_rows(comparison), "pods placed")


def wait_rows(comparison: Comparison) -> list[tuple[str, list[QuantileRow]]]:
    """A row for each run within each class, the most important class on top."""
    called = names(comparison)
    classes = [compared for compared in comparison.classes if any(map(_quantiles, compared.runs))]
    return [
        (
            f"{compared.class_name} ({compared.priority:,})",
            [
                QuantileRow(f"{compared.class_name} in {called[run]}", look_of(run), quantiles, figures.placed)
                for run, figures in enumerate(compared.runs)
                if (quantiles := _quantiles(figures))
            ],
        )
        for compared in classes
    ]


def _quantiles(figures: ClassFigures) -> list[float]:
    """Empty if no pod was placed."""
    return [seconds for seconds in figures.quantiles if seconds is not None]
