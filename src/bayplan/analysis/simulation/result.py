"""What a run came to: columns for programs, a summary for people, one plain dictionary for everybody else.

`to_dict` holds all that the reports show, and the same seed gives the same bytes. Columns are NumPy arrays with one
entry for each pod; times there are seconds, NaN for what never happened.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bayplan.analysis.simulation.cascades import Cascades
from bayplan.analysis.simulation.pod_ledger import (
    BY_PREEMPTION,
    DELETED_END,
    FAILED,
    FINISHED,
    NEVER,
    PENDING,
    NodeLedger,
    PodLedger,
)
from bayplan.analysis.simulation.preemption_log import Preemption
from bayplan.analysis.simulation.series import Series

FORMAT = "bayplan simulation v1"
Plain = dict[str, Any]
Column = npt.NDArray[Any]


@dataclass(slots=True)
class Note:
    """Something in the input that could not be done when its time came."""

    at: int
    source: str
    message: str


@dataclass
class SimulationResult:
    """One run."""

    seed: int
    config_name: str
    until_ns: int  # how much time has passed
    partial: bool
    classes: dict[str, int]
    pods: PodLedger
    nodes: NodeLedger
    series: Series
    preemptions: list[Preemption]
    cascades: Cascades
    notes: list[Note] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)  # pod -> why it was last refused

    @property
    def pending_reasons(self) -> dict[str, list[str]]:
        """Why pods wait at the end, each with the pods; pods that were never tried have no reason."""
        groups: dict[str, list[str]] = {}
        for key in self.pending:
            groups.setdefault(self.refusals.get(key, ""), []).append(key)
        return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))

    @cached_property
    def columns(self) -> dict[str, Column]:
        """One array for each field of a pod."""
        pods = self.pods
        return {
            "key": np.array(pods.keys, dtype=np.str_),
            "class": np.array(pods.classes, dtype=np.str_),
            "priority": np.array(pods.priorities, dtype=np.int64),
            "owner": np.array(pods.owners, dtype=np.str_),
            "node": np.array(pods.nodes, dtype=np.str_),
            "created": _seconds(pods.created),
            "bound": _seconds(pods.bound),
            "started": _seconds(pods.started),
            "ended": _seconds(pods.ended),
            "end": np.array(pods.ends, dtype=np.str_),
            "cpu": np.array(pods.cpu_milli, dtype=np.int64),
            "memory": np.array(pods.memory_bytes, dtype=np.int64),
        }

    @cached_property
    def summary(self) -> Plain:
        return {
            "pods": self._pod_figures(),
            "waiting": self._waiting(),
            "evictions": dict(sorted(self.pods.evictions.items())),
            "evictionsByPreemptor": self._evictions_by_preemptor(),
            "budgetsBroken": sum(len(victim["breaks"]) for one in self.preemptions for victim in one.victims),
            "utilisation": self.series.means(),
            "fragmentation": self.series.fragmentation_figures(),
        }

    def to_dict(self) -> Plain:
        """Everything, as the reports take it."""
        return {
            "format": FORMAT,
            "seed": self.seed,
            "configs": self.config_name,
            "seconds": self.until_ns / 1e9,
            "partial": self.partial,
            "classes": self.classes,
            "summary": self.summary,
            "series": self.series.to_dict(),
            "nodes": self.nodes.nodes,
            "pods": self._pods_to_plain(),
            "preemptions": [one.to_dict() for one in self.preemptions],
            "chains": self.cascades.chains,
            "loops": self.cascades.loops,
            "waiting": [{"message": message, "pods": keys} for message, keys in self.pending_reasons.items()],
            "notes": [{"t": one.at / 1e9, "source": one.source, "message": one.message} for one in self.notes],
        }

    def report(self, path: str | Path) -> None:
        """Write the HTML report; needs the extra `bayplan[report]`."""
        # By name, as reports stand above analyses: nothing here may depend on them.
        import_module("bayplan.report.simulation_html").write_report(self.to_dict(), path)

    def _pods_to_plain(self) -> list[Plain]:
        pods = self.pods
        return [
            {
                "key": pods.keys[row],
                "class": pods.classes[row],
                "priority": pods.priorities[row],
                "owner": pods.owners[row],
                "node": pods.nodes[row] or None,
                "created": pods.created[row] / 1e9,
                "bound": _or_none(pods.bound[row]),
                "started": _or_none(pods.started[row]),
                "ended": _or_none(pods.ended[row]),
                "end": pods.ends[row],
                "cpu": pods.cpu_milli[row],
                "memory": pods.memory_bytes[row],
            }
            for row in range(len(pods.keys))
        ]

    def _pod_figures(self) -> Plain:
        ends = Counter(self.pods.ends)
        return {
            "created": len(self.pods.keys),
            "placed": sum(
                bound != NEVER and not there for bound, there in zip(self.pods.bound, self.pods.was_there, strict=True)
            ),
            "finished": ends[FINISHED],
            "failed": ends[FAILED],
            "deleted": ends[DELETED_END],
            "preempted": sum(cause == BY_PREEMPTION for cause in self.pods.evicted.values()),
            "pending": ends[PENDING],
        }

    def _waiting(self) -> Plain:
        """Seconds from creation to the node, by class, the most important first; pods that still wait do not count."""
        waits: dict[str, list[int]] = {}
        pods = self.pods
        for name, created, bound, there in zip(pods.classes, pods.created, pods.bound, pods.was_there, strict=True):
            if bound != NEVER and not there:
                waits.setdefault(name, []).append(bound - created)
        return {name: _quantiles(waits[name]) for name in sorted(waits, key=lambda one: (-self.classes[one], one))}

    def _evictions_by_preemptor(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        owners = dict(zip(self.pods.keys, self.pods.owners, strict=True))
        for one in self.preemptions:
            counts[owners[one.preemptor] or one.preemptor] += len(one.evicted)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def evicted_classes(self) -> dict[str, int]:
        """Class -> how many of its pods were preempted."""
        rows = [row for row, cause in self.pods.evicted.items() if cause == BY_PREEMPTION]
        return dict(Counter(self.pods.classes[row] for row in rows))

    @property
    def pending(self) -> list[str]:
        """Pods that wait at the end."""
        return [key for key, end in zip(self.pods.keys, self.pods.ends, strict=True) if end == PENDING]


def _seconds(times: list[int]) -> Column:
    column = np.array(times, dtype=np.float64) / 1e9
    column[np.array(times, dtype=np.int64) == NEVER] = np.nan
    return column


def _or_none(at: int) -> float | None:
    return None if at == NEVER else at / 1e9


def _quantiles(waits: list[int]) -> Plain:
    seconds = np.array(waits, dtype=np.float64) / 1e9
    middle, most, nearly_all = (round(float(one), 6) for one in np.percentile(seconds, (50, 90, 99)))
    return {
        "count": len(waits),
        "p50": middle,
        "p90": most,
        "p99": nearly_all,
        "max": round(float(seconds.max()), 6),
    }


__all__ = ["FORMAT", "Note", "SimulationResult"]
