"""Figures of the whole cluster, sampled at a fixed step: utilization, queue lengths, fragmentation of free capacity.

Reads the scheduler's columns, so one sample is a few sums over arrays. Shares are of what living nodes can allocate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayplan.analysis.simulation.results.run_format import ClusterSeries
from bayplan.core.columns.resources import CPU, MEMORY
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler

PLACES = {
    "active": PodState.ACTIVE,
    "backoff": PodState.BACKOFF,
    "unschedulable": PodState.UNSCHEDULABLE,
    "gated": PodState.GATED,
}


class Sampler:
    """Fills the series with samples of one scheduler's view."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.series = ClusterSeries(t=[], queue={place: [] for place in PLACES}, used={}, running=[], fragmentation=[])

    def sample(self, seconds: float) -> None:
        series = self.series
        counts = self._scheduler.queue.counts()
        for place, state in PLACES.items():
            series.queue[place].append(counts[state])
        view = self._scheduler.cache.view()
        nodes = view.nodes
        alive = np.flatnonzero(nodes.alive[: nodes.count])
        allocatable, requested = nodes.allocatable[alive], nodes.requested[alive]
        self._add_used(_sums(allocatable), _sums(requested))
        series.running.append(int(nodes.pod_counts[alive].sum()))
        free = np.maximum(allocatable - requested, 0)[:, [CPU, MEMORY]]
        slots = np.maximum(nodes.allowed_pods[alive] - nodes.pod_counts[alive], 0)
        typical = _sums(requested[:, [CPU, MEMORY]]) // max(series.running[-1], 1)
        series.fragmentation.append(_scattered(free, slots, typical))
        series.t.append(seconds)

    def _add_used(self, there: Any, taken: Any) -> None:
        names = self._scheduler.cache.resources.values
        used = self.series.used
        for column, name in enumerate(names[: len(there)]):
            if there[column] or name in used:
                earlier = used.setdefault(name, [0.0] * len(self.series.t))
                earlier.append(round(float(taken[column] / there[column]), 6) if there[column] else 0.0)


def _scattered(free: Any, slots: Any, typical: Any) -> float:
    """The share of typical pods that would fit if all free capacity were on one node, but do not fit now."""
    wanted = np.maximum(typical, 1)
    in_one_piece = int((_sums(free) // wanted).min()) if len(free) else 0
    in_one_piece = min(in_one_piece, int(slots.sum()))
    if not typical.any() or in_one_piece <= 0:
        return 0.0
    as_it_lies = int(np.minimum((free // wanted).min(axis=1), slots).sum())
    return round(1 - min(as_it_lies, in_one_piece) / in_one_piece, 6)


def _sums(amounts: Any) -> Any:
    """By resource, over all nodes; as floats, because together they may have more than an int64 can say."""
    return amounts.sum(axis=0, dtype=np.float64)
