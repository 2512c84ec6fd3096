"""A run over time and its waiting times, as figures.

    over_time   utilization, queue lengths and victims, one above the other on one time axis
    waiting     p50, p90, p99 and longest wait for each priority class
    who_evicted how many pods of which class were evicted by which class

What is drawn is made by functions of its own (`bands_over_time`, `waiting_rows`), as numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from bayplan.analysis.simulation.results.run_format import End
from bayplan.report.answers.html import element
from bayplan.report.answers.parts import Bar, Bars
from bayplan.report.drawing.bands import Band, BandShape, Series, TimeSpan, time_figure
from bayplan.report.drawing.marks import QuantileRow, quantile_figure
from bayplan.report.simulation.view import SimulationView
from bayplan.report.words import counted

POINTS_MAX = 600
DASHES = 4
_BARS = 120
_QUEUE_LOOKS = {"active": "c4", "backoff": "c1", "unschedulable": "alarm", "gated": "c7"}
_FULL = 102  # percent, with room for the line


def time_span(view: SimulationView) -> TimeSpan:
    """The whole run; shown at first is what comes after a long time in which hardly anything happens."""
    return TimeSpan(view.unit, view.unit.of(view.seconds), view.unit.of(view.shown_from))


def over_time(view: SimulationView) -> Markup:
    return time_figure("Utilization and queue over time", bands_over_time(view), time_span(view))


def bands_over_time(view: SimulationView) -> list[Band]:
    """Utilization above, the queue in the middle, victims below."""
    series = view.run.series
    starts = chunk_starts(len(series.t))
    times = [view.unit.of(series.t[start]) for start in starts]
    used = [
        Series(resource, times, means(shares, starts), f"c{place % 8} d{place % DASHES}")
        for place, (resource, shares) in enumerate(_asked_for(series.used))
    ]
    waits = [
        Series(name, times, maxima(lengths, starts), _QUEUE_LOOKS.get(name, "c7"), BandShape.AREA)
        for name, lengths in series.queue.items()
        if any(lengths) or name in ("active", "unschedulable")
    ]
    return [
        Band("utilization, %", used, percent_text, _FULL),
        Band("pods waiting", waits, count_text),
        Band("pods preempted", [_victims_over_time(view)], lambda count: f"{count:,.0f} evicted"),
    ]


def percent_text(value: float) -> str:
    return f"{value:.1f} %"


def count_text(value: float) -> str:
    return f"{value:,.0f}"


def _asked_for(used: dict[str, list[float]]) -> list[tuple[str, list[float]]]:
    """Resources some pod takes; nodes may offer others, whose line would lie on the axis."""
    return [(resource, shares) for resource, shares in used.items() if any(shares)]


def _victims_over_time(view: SimulationView) -> Series:
    edges = np.linspace(0, max(view.seconds, 1e-9), round(_BARS * view.seen_closer) + 1)
    # When they went; two preemptors may have chosen the same pod.
    at = [pod.ended for pod in view.run.pods if pod.end is End.PREEMPTED]
    counts, _ = np.histogram(np.clip(np.array(at, dtype=float), 0, edges[-1]), edges)
    return Series("", [view.unit.of(float(edge)) for edge in edges[:-1]], counts.tolist(), "alarm", BandShape.BARS)


def chunk_starts(count: int, at_most: int = POINTS_MAX) -> list[int]:
    if not count:
        return []
    step = -(-count // at_most)
    return list(range(0, count, step))


def means(shares: Sequence[float], starts: Sequence[int]) -> list[float]:
    if not starts:
        return []
    lengths = np.diff([*starts, len(shares)])
    means = np.add.reduceat(np.asarray(shares, dtype=float), starts) / lengths
    return [round(100 * float(mean), 2) for mean in means]


def maxima(lengths: Sequence[float], starts: Sequence[int]) -> list[int]:
    """A queue that was long for a moment must not vanish between two points."""
    return [int(length) for length in np.maximum.reduceat(np.asarray(lengths), starts)] if starts else []


def waiting(view: SimulationView) -> Markup:
    return quantile_figure("Waiting time by priority class", waiting_rows(view), "pods placed")


def waiting_rows(view: SimulationView) -> list[tuple[str, list[QuantileRow]]]:
    """One row for each class, the most important on top."""
    waits = {name: view.run.summary.waiting[name] for name in view.run.classes if name in view.run.summary.waiting}
    return [
        (f"{name} ({view.run.classes[name]:,})", [QuantileRow(name, view.looks[name], wait.quantiles, wait.count)])
        for name, wait in waits.items()
    ]


def who_evicted(view: SimulationView) -> Markup:
    return element(eviction_bars(view))


def eviction_bars(view: SimulationView) -> Bars:
    """Pods evicted by class of the preemptor and class of the victim, the most important preemptors first."""
    flows = Counter(
        (view.class_by_key[preemption.preemptor], view.class_by_key[victim.pod])
        for preemption in view.run.preemptions
        for victim in preemption.victims
    )
    order = list(view.run.classes)
    rows = sorted(flows.items(), key=lambda item: (order.index(item[0][0]), order.index(item[0][1])))
    return Bars(
        [Bar(f"{preemptor} evicted {victim}", count, counted(count, "pod")) for (preemptor, victim), count in rows]
    )
