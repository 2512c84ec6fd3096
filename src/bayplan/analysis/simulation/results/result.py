"""What a run came to: columns for programs, a summary for people, one plain dictionary for everybody else.

`to_dict` holds all that the reports show, and the same seed gives the same bytes. `pods`, `nodes`, `preemptions`,
`victims` and `series` are tables of NumPy arrays (see `columns`), and `to_arrow` gives the same for Arrow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bayplan.analysis.simulation.recording.pod_ledger import (
    BY_PREEMPTION,
    DELETED_END,
    FAILED,
    FINISHED,
    NEVER,
    PENDING,
    NodeLedger,
    PodLedger,
)
from bayplan.analysis.simulation.recording.preemption_log import Preemption
from bayplan.analysis.simulation.recording.series import Series
from bayplan.analysis.simulation.results.arrow import arrow_tables
from bayplan.analysis.simulation.results.cascades import Cascades
from bayplan.analysis.simulation.results.columns import (
    Columns,
    node_columns,
    pod_columns,
    preemption_columns,
    series_columns,
    victim_columns,
)

FORMAT = "bayplan simulation v1"
Plain = dict[str, Any]


@dataclass(slots=True)
class Note:
    """Something that could not be done, or that was assumed as the input does not say it."""

    at: int
    source: str
    message: str


@dataclass(repr=False)  # the ledgers hold every pod
class SimulationResult:
    """One run."""

    seed: int
    config_name: str
    until_ns: int  # how much time has passed
    partial: bool
    classes: dict[str, int]
    pod_ledger: PodLedger
    node_ledger: NodeLedger
    samples: Series
    preemption_log: list[Preemption]
    cascades: Cascades
    notes: list[Note] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)  # pod -> why it was last refused
    inputs: str = ""  # equal for runs that were given the same; see inputs.py
    interrupted: bool = False  # by the user; a partial run may also have ended itself

    def __repr__(self) -> str:
        pods, seconds = self.summary["pods"], self.until_ns / 1e9
        figures = ", ".join(f"{pods[name]:,} {name}" for name in ("created", "placed", "preempted", "pending"))
        return f"<SimulationResult{' (partial)' if self.partial else ''}: {seconds:,.0f} s, pods: {figures}>"

    @property
    def pending_reasons(self) -> dict[str, list[str]]:
        """Why pods wait at the end, each with the pods; pods that were never tried have no reason."""
        groups: dict[str, list[str]] = {}
        for key in self.pending:
            groups.setdefault(self.refusals.get(key, ""), []).append(key)
        return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))

    @cached_property
    def pods(self) -> Columns:
        """Every pod that ever was, in order of creation."""
        return pod_columns(self.pod_ledger)

    @cached_property
    def nodes(self) -> Columns:
        """Every node, with the time it was there."""
        return node_columns(self.node_ledger)

    @cached_property
    def preemptions(self) -> Columns:
        """Every decision to evict, in order of time."""
        return preemption_columns(self.preemption_log)

    @cached_property
    def victims(self) -> Columns:
        """Who had to go: `preemption` is the row in `preemptions`."""
        return victim_columns(self.preemption_log)

    @cached_property
    def series(self) -> Columns:
        """The whole cluster over time."""
        return series_columns(self.samples)

    @property
    def tables(self) -> dict[str, Columns]:
        """All of the above by name."""
        return {name: getattr(self, name) for name in ("pods", "nodes", "preemptions", "victims", "series")}

    @cached_property
    def summary(self) -> Plain:
        return {
            "pods": self._pod_figures(),
            "waiting": self._waiting(),
            "evictions": dict(sorted(self.pod_ledger.evictions.items())),
            "evictionsByPreemptor": self._evictions_by_preemptor(),
            "budgetsBroken": sum(len(victim["breaks"]) for one in self.preemption_log for victim in one.victims),
            "utilisation": self.samples.means(),
            "fragmentation": self.samples.fragmentation_figures(),
        }

    def to_dict(self) -> Plain:
        """Everything, as the reports take it."""
        return {
            "format": FORMAT,
            "seed": self.seed,
            "configs": self.config_name,
            "inputs": self.inputs,
            "seconds": self.until_ns / 1e9,
            "partial": self.partial,
            "classes": self.classes,
            "summary": self.summary,
            "series": self.samples.to_dict(),
            "nodes": self.node_ledger.nodes,
            "pods": self._pods_to_plain(),
            "preemptions": [one.to_dict() for one in self.preemption_log],
            "chains": self.cascades.chains,
            "loops": self.cascades.loops,
            "waiting": [{"message": message, "pods": keys} for message, keys in self.pending_reasons.items()],
            "notes": [{"t": one.at / 1e9, "source": one.source, "message": one.message} for one in self.notes],
        }

    def to_arrow(self) -> dict[str, Any]:
        """The tables as `pyarrow.Table`s, by name; needs the extra `bayplan[arrow]`."""
        about = {
            "format": FORMAT,
            "seed": self.seed,
            "config": self.config_name,
            "seconds": self.until_ns / 1e9,
            "partial": self.partial,
        }
        return arrow_tables(self.tables, about)

    def report(self, path: str | Path) -> None:
        """Write the HTML report; needs the extra `bayplan[report]`."""
        # By name, as reports stand above analyses: nothing here may depend on them.
        import_module("bayplan.report.simulation.page").write_report(self.to_dict(), path)

    def _pods_to_plain(self) -> list[Plain]:
        pods = self.pod_ledger
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
        ends = Counter(self.pod_ledger.ends)
        return {
            "created": len(self.pod_ledger.keys),
            "placed": sum(
                bound != NEVER and not there
                for bound, there in zip(self.pod_ledger.bound, self.pod_ledger.was_there, strict=True)
            ),
            "finished": ends[FINISHED],
            "failed": ends[FAILED],
            "deleted": ends[DELETED_END],
            "preempted": sum(cause == BY_PREEMPTION for cause in self.pod_ledger.evicted.values()),
            "pending": ends[PENDING],
        }

    def _waiting(self) -> Plain:
        """Seconds from creation to the node, by class, the most important first; pods that still wait do not count."""
        waits: dict[str, list[int]] = {}
        pods = self.pod_ledger
        for name, created, bound, there in zip(pods.classes, pods.created, pods.bound, pods.was_there, strict=True):
            if bound != NEVER and not there:
                waits.setdefault(name, []).append(bound - created)
        return {name: _quantiles(waits[name]) for name in sorted(waits, key=lambda one: (-self.classes[one], one))}

    def _evictions_by_preemptor(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        owners = dict(zip(self.pod_ledger.keys, self.pod_ledger.owners, strict=True))
        for one in self.preemption_log:
            counts[owners[one.preemptor] or one.preemptor] += len(one.evicted)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def evicted_classes(self) -> dict[str, int]:
        """Class -> how many of its pods were preempted."""
        rows = [row for row, cause in self.pod_ledger.evicted.items() if cause == BY_PREEMPTION]
        return dict(Counter(self.pod_ledger.classes[row] for row in rows))

    @property
    def pending(self) -> list[str]:
        """Pods that wait at the end."""
        return [key for key, end in zip(self.pod_ledger.keys, self.pod_ledger.ends, strict=True) if end == PENDING]


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
