"""Who dies if this is applied? A change is made to a copy of the cluster, and what follows is compared with no change.

Both clusters settle first: pods that are pending without the change, and what they evict, are no consequence of it.
*Before* is always the cluster as it is now; pods that would not stay where they are even without the change, because
today's pending pods are placed, are kept apart.
With the change its losses come first, then what is pending is tried, then workloads with a new template are updated one
after another, then nodes are drained. Pods are the same if they have the same name, so of a workload's new pods those
of one number are compared with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.changes import ClusterChange, changed
from bayplan.analysis.answers.course import UNINTENDED, Course, Departure, DepartureCause
from bayplan.analysis.answers.drain import Draining, check_nodes, drain_in
from bayplan.analysis.answers.node_usage import NodeChange, node_changes
from bayplan.analysis.answers.playing import play_out
from bayplan.analysis.answers.updates import Update
from bayplan.analysis.showing import Shown


@dataclass(frozen=True, slots=True)
class PodCourse:
    """Where a pod is now, and where it ends with the change and without it."""

    pod: str
    node_before: str = ""  # now
    node_without: str = ""  # once today's pending pods are placed
    node_after: str = ""
    pending_before: bool = False
    pending_without: bool = False
    message: str = ""  # why it has no node with the change
    victims: tuple[str, ...] = ()  # whom it evicts
    evicted_anyway: tuple[str, ...] = ()  # those of its victims that would be evicted without the change as well
    removal: DepartureCause | None = None  # why it is not wanted any longer, if it was evicted first

    @property
    def is_indirect(self) -> bool:
        """Whether it would not stay as it is now without the change: today's pending pods are the reason."""
        return (self.node_before, self.pending_before) != (self.node_without, self.pending_without)

    @property
    def is_spared(self) -> bool:
        """Whether it keeps its node, and would be evicted without the change."""
        return bool(self.node_before) and self.node_before == self.node_after and not self.node_without

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"pod": self.pod, "before": self.node_before or None, "after": self.node_after or None}
        if self.pending_before:
            plain["pendingBefore"] = True
        if self.is_indirect:
            plain["withoutChange"] = self.node_without or None
        if self.message:
            plain["message"] = self.message
        if self.victims:
            plain["victims"] = list(self.victims)
        if self.evicted_anyway:
            plain["evictedAnyway"] = list(self.evicted_anyway)
        if self.removal is not None:
            plain["removal"] = self.removal.value
        return plain


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Shown):
    """What is different with the change."""

    evicted: tuple[Departure, ...]  # whom nobody meant, in the order in which they go
    removed: tuple[Departure, ...]  # deleted, scaled down, updated, drained; without those that were evicted
    placed: tuple[PodCourse, ...]  # had no node
    pending: tuple[PodCourse, ...]  # have none now
    moved: tuple[PodCourse, ...]  # have another one
    lost: tuple[PodCourse, ...]  # ran and are gone for good, or were pending and are no longer wanted
    indirect: tuple[PodCourse, ...]  # get, keep or change a node only because today's pending pods are placed
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
            for name in ("evicted", "removed", "placed", "pending", "moved", "lost", "indirect", "updates", "nodes")
        }
        plain["brokenBudgets"] = self.broken_budgets
        plain["draining"] = self.draining.to_dict() if self.draining is not None else None
        return plain


def whatif(asking: Asking, change: ClusterChange, drain: Sequence[str] = ()) -> WhatIf:
    """Raises InvalidObject for a change that an API server would refuse, and for nodes that are not there."""
    made = changed(asking.cluster, change)
    before = Course(asking)
    now = _Now.of(before)
    after = Course(asking.of(made.start))
    check_nodes(after.nodes, drain)
    before.settle()
    updates = play_out(after, made)
    draining = drain_in(after, drain) if drain else None
    return _compared(now, before, after, updates, draining)


@dataclass(frozen=True, slots=True)
class _Now:
    """Where pods are before anything happens."""

    nodes: dict[str, str]
    pending: frozenset[str]

    @classmethod
    def of(cls, course: Course) -> _Now:
        return cls(
            {key: pod.spec.node_name for key, pod in course.pods.items()},
            frozenset((*course.waiting, *course.held_back)),
        )


def _compared(
    now: _Now, before: Course, after: Course, updates: tuple[Update, ...], draining: Draining | None
) -> WhatIf:
    departures = list(_only_after(before, after))
    evicted = [each for each in departures if each.cause in UNINTENDED]
    removals = {each.pod: each for each in departures if each.cause not in UNINTENDED}
    victims = _victims(after)
    new = Counter(each.pod for each in evicted)
    fates = [_fate(key, now, before, after, victims.get(key, ()), new, removals) for key in _touched(before, after)]
    changes = [fate for fate in fates if _is_change(fate, after)]
    with_node = [fate for fate in changes if fate.node_after]
    direct = [fate for fate in with_node if not fate.is_indirect]
    return WhatIf(
        evicted=tuple(evicted),
        removed=tuple(each for each in departures if each.cause not in UNINTENDED and each.pod not in new),
        placed=tuple(fate for fate in direct if not fate.node_before),
        pending=tuple(fate for fate in changes if after.is_pending(fate.pod)),
        moved=tuple(fate for fate in direct if fate.node_before),
        lost=tuple(fate for fate in changes if not fate.node_after and not after.is_pending(fate.pod)),
        indirect=tuple(fate for fate in with_node if fate.is_indirect),
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


def _victims(course: Course) -> dict[str, tuple[str, ...]]:
    """Whom each pod evicts."""
    victims: dict[str, tuple[str, ...]] = {}
    for arrival in course.arrivals:
        victims[arrival.pod] = (*victims.get(arrival.pod, ()), *arrival.victims)
    return victims


def _fate(
    key: str,
    now: _Now,
    before: Course,
    after: Course,
    victims: tuple[str, ...],
    evicted: Mapping[str, int],
    removals: Mapping[str, Departure],
) -> PodCourse:
    return PodCourse(
        pod=key,
        node_before=now.nodes.get(key, ""),
        node_without=before.node_of(key),
        node_after=after.node_of(key),
        pending_before=key in now.pending,
        pending_without=before.is_pending(key),
        message=after.message(key),
        victims=victims,
        evicted_anyway=tuple(victim for victim in victims if victim not in evicted),
        removal=removals[key].cause if key in removals and key in evicted and not after.knows(key) else None,
    )


def _is_change(fate: PodCourse, after: Course) -> bool:
    if fate.node_without or fate.node_after:
        return fate.node_without != fate.node_after
    return fate.pending_without != after.is_pending(fate.pod)
