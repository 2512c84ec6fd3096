"""Listens to a run and keeps what a report needs, as cheaply as it can.

It is one of the world's controllers: it sees every write immediately, and wakes at a fixed step to take a sample. It
writes nothing and uses no random numbers, so a run is the same with or without it.
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.analysis.simulation.recording.group_ledger import GroupLedger
from bayplan.analysis.simulation.recording.pod_ledger import NodeLedger, PodLedger
from bayplan.analysis.simulation.recording.series import Sampler
from bayplan.model.cluster import PriorityClass
from bayplan.store import Store, WatchEvent


class Listener:
    """A controller that only listens."""

    name: ClassVar[str] = "listener"
    watches: ClassVar[frozenset[str]] = frozenset(
        {"Node", "NodePool", "Pod", "PodGroup", "PriorityClass", "ReplicaSet"}
    )

    def __init__(self, sampler: Sampler, started_at: int, step_ns: int) -> None:
        self.pods = PodLedger(started_at)
        self.nodes = NodeLedger(started_at)
        self.groups = GroupLedger(started_at)
        self.sampler = sampler
        self.classes: dict[str, int] = {}
        self._started_at = started_at
        self._step_ns = step_ns
        self._next_sample = started_at

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        kind = change.kind
        if kind in ("Pod", "ReplicaSet"):
            self.pods.observe(change)
        elif kind in ("Node", "NodePool"):
            self.nodes.observe(change)
        elif kind == "PodGroup":
            self.groups.observe(change)
        elif isinstance(change.new, PriorityClass):
            self.classes[change.new.metadata.name] = change.new.value

    def reconcile(self, store: Store, now: int) -> None:  # noqa: ARG002
        if now >= self._next_sample:
            self.sampler.sample((now - self._started_at) / 1e9)
            self._next_sample = now + self._step_ns

    def wake_at(self) -> int | None:
        return self._next_sample
