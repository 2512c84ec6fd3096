"""Who dies if this is applied? A change is made to a copy of the cluster, and what follows is compared with no change.

Both clusters settle first: pods that are pending without the change, and what they evict, are no consequence of it.
With the change its losses come first, then what is pending is tried, then workloads with a new template are updated one
after another, then nodes are drained. Pods are the same if they have the same name, so of a workload's new pods those
of one number are compared with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.changes import Change, changed
from bayplan.analysis.answers.course import UNINTENDED, Course, Departure
from bayplan.analysis.answers.drain import Draining, check_nodes, drain_in
from bayplan.analysis.answers.node_usage import NodeChange, node_changes
from bayplan.analysis.answers.updates import Update, update


@dataclass(frozen=True, slots=True)
class Fate:
    """Where a pod is without the change and with it."""

    pod: str
    node_before: str = ""
    node_after: str = ""
    pending_before: bool = False
    evicted_before: bool = False  # it runs now, and would be evicted without the change
    message: str = ""  # why it has no node with the change
    victims: tuple[str, ...] = ()  # whom it evicts

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"pod": self.pod, "before": self.node_before or None, "after": self.node_after or None}
        if self.pending_before:
            plain["pendingBefore"] = True
        if self.evicted_before:
            plain["evictedBefore"] = True
        if self.message:
            plain["message"] = self.message
        if self.victims:
            plain["victims"] = list(self.victims)
        return plain


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is different with the change."""

    evicted: tuple[Departure, ...]  # whom nobody meant, in the order in which they go
    removed: tuple[Departure, ...]  # deleted, scaled down, updated, drained
    placed: tuple[Fate, ...]  # had no node
    pending: tuple[Fate, ...]  # have none now
    moved: tuple[Fate, ...]  # have another one
    lost: tuple[Fate, ...]  # ran and are gone for good, or were pending and are no longer wanted
    updates: tuple[Update, ...]
    draining: Draining | None
    nodes: tuple[NodeChange, ...]

    @property
    def broken_budgets(self) -> dict[str, list[str]]:
        """Budget -> the pods whose eviction breaks it."""
        broken: dict[str, list[str]] = {}
        for departure in self.evicted:
            for budget in departure.breaks:
                broken.setdefault(budget, []).append(departure.pod)
        return broken

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            name: [each.to_dict() for each in getattr(self, name)]
            for name in ("evicted", "removed", "placed", "pending", "moved", "lost", "updates", "nodes")
        }
        plain["brokenBudgets"] = self.broken_budgets
        plain["draining"] = self.draining.to_dict() if self.draining is not None else None
        return plain


def whatif(asking: Asking, change: Change, drain: Sequence[str] = ()) -> WhatIf:
    """Raises InvalidObject for a change that an API server would refuse, and for nodes that are not there."""
    made = changed(asking.cluster, change)
    before = Course(asking)
    after = Course(asking.of(made.start))
    check_nodes(after.nodes, drain)
    before.settle()
    for loss in made.losses:
        after.remove(loss.pods, loss.cause, loss.by, for_good=loss.for_good)
    after.enqueue(made.cluster.prepared(made.arriving(), after.cache))
    after.settle()
    updates = tuple(update(after, workload, made.cluster.objects, made.now) for workload in made.updates)
    draining = drain_in(after, drain) if drain else None
    return _compared(before, after, updates, draining)


def _compared(before: Course, after: Course, updates: tuple[Update, ...], draining: Draining | None) -> WhatIf:
    departures = list(_only_after(before, after))
    victims: dict[str, tuple[str, ...]] = {}
    for arrival in after.arrivals:
        victims[arrival.pod] = (*victims.get(arrival.pod, ()), *arrival.victims)
    gone = {departure.pod for departure in before.departures} - {*before.pods, *before.waiting, *before.held_back}
    fates = [_fate(key, before, after, victims.get(key, ()), key in gone) for key in _touched(before, after)]
    changes = [fate for fate in fates if _is_change(fate, after)]
    return WhatIf(
        evicted=tuple(each for each in departures if each.cause in UNINTENDED),
        removed=tuple(each for each in departures if each.cause not in UNINTENDED),
        placed=tuple(fate for fate in changes if fate.node_after and not fate.node_before),
        pending=tuple(fate for fate in changes if after.is_pending(fate.pod)),
        moved=tuple(fate for fate in changes if fate.node_after and fate.node_before),
        lost=tuple(fate for fate in changes if not fate.node_after and not after.is_pending(fate.pod)),
        updates=updates,
        draining=draining,
        nodes=tuple(node_changes(before.cache, after.cache)),
    )


def _only_after(before: Course, after: Course) -> Iterator[Departure]:
    """Departures that happen with the change only, in their order."""
    anyway = Counter((each.pod, each.cause) for each in before.departures)
    for departure in after.departures:
        if anyway[departure.pod, departure.cause] > 0:
            anyway[departure.pod, departure.cause] -= 1
        else:
            yield departure


def _touched(before: Course, after: Course) -> list[str]:
    """Pods to which something happens, with the change or without; first those that it happens to with it."""
    keys: dict[str, None] = {}
    for course in (after, before):
        keys |= dict.fromkeys(departure.pod for departure in course.departures)
        keys |= dict.fromkeys(arrival.pod for arrival in course.arrivals)
        keys |= dict.fromkeys((*course.waiting, *course.held_back))
    keys |= dict.fromkeys(after.pods.keys() - before.pods.keys())  # applied with a node
    return list(keys)


def _fate(key: str, before: Course, after: Course, victims: tuple[str, ...], evicted_before: bool) -> Fate:
    return Fate(
        pod=key,
        node_before=before.node_of(key),
        node_after=after.node_of(key),
        pending_before=before.is_pending(key),
        evicted_before=evicted_before,
        message=after.message(key),
        victims=victims,
    )


def _is_change(fate: Fate, after: Course) -> bool:
    if fate.node_before or fate.node_after:
        return fate.node_before != fate.node_after
    return fate.pending_before != after.is_pending(fate.pod)
