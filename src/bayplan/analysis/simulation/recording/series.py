"""Figures of the whole cluster, taken at a fixed step: what is used, who waits where, how scattered the free room is.

Reads the scheduler's columns, so one sample is a few sums over arrays. Shares are of what living nodes can allocate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayplan.core.columns.resources import CPU, MEMORY
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler

PLACES = {
    "active": PodState.ACTIVE,
    "backoff": PodState.BACKOFF,
    "unschedulable": PodState.UNSCHEDULABLE,
    "gated": PodState.GATED,
}


class Series:
    """Samples of one scheduler's view."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.times: list[float] = []
        self.queue: dict[str, list[int]] = {place: [] for place in PLACES}
        self.used: dict[str, list[float]] = {}
        self.running: list[int] = []
        self.fragmentation: list[float] = []

    def sample(self, seconds: float) -> None:
        counts = self._scheduler.queue.counts()
        for place, state in PLACES.items():
            self.queue[place].append(counts[state])
        view = self._scheduler.cache.view()
        nodes = view.nodes
        alive = np.flatnonzero(nodes.alive[: nodes.count])
        allocatable, requested = nodes.allocatable[alive], nodes.requested[alive]
        self._add_used(allocatable.sum(axis=0), requested.sum(axis=0))
        self.running.append(int(nodes.pod_counts[alive].sum()))
        free = np.maximum(allocatable - requested, 0)[:, [CPU, MEMORY]]
        slots = np.maximum(nodes.allowed_pods[alive] - nodes.pod_counts[alive], 0)
        typical = requested[:, [CPU, MEMORY]].sum(axis=0) // max(self.running[-1], 1)
        self.fragmentation.append(_scattered(free, slots, typical))
        self.times.append(seconds)

    def _add_used(self, there: Any, taken: Any) -> None:
        names = self._scheduler.cache.resources.names
        for column, name in enumerate(names[: len(there)]):
            if there[column] or name in self.used:
                earlier = self.used.setdefault(name, [0.0] * len(self.times))
                earlier.append(round(float(taken[column] / there[column]), 6) if there[column] else 0.0)

    def to_dict(self) -> dict[str, Any]:
        return {
            "t": self.times,
            "queue": self.queue,
            "used": self.used,
            "running": self.running,
            "fragmentation": self.fragmentation,
        }

    def means(self) -> dict[str, float]:
        """Resource -> the mean share in use."""
        return {name: _mean(shares) for name, shares in self.used.items()}

    def fragmentation_figures(self) -> dict[str, float]:
        return {"mean": _mean(self.fragmentation), "max": max(self.fragmentation, default=0.0)}


def _scattered(free: Any, slots: Any, typical: Any) -> float:
    """The share of typical pods that the free room would take in one piece, but not as it lies on the nodes."""
    wanted = np.maximum(typical, 1)
    in_one_piece = int((free.sum(axis=0) // wanted).min()) if len(free) else 0
    in_one_piece = min(in_one_piece, int(slots.sum()))
    if not typical.any() or in_one_piece <= 0:
        return 0.0
    as_it_lies = int(np.minimum((free // wanted).min(axis=1), slots).sum())
    return round(1 - min(as_it_lies, in_one_piece) / in_one_piece, 6)


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 6) if values else 0.0
