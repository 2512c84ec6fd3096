"""Whom another scheduler evicts for whom, as far as a watch shows it.

A victim is marked with a condition that names the scheduler but not the preemptor; the preemptor is nominated to the
victim's node. The two may be seen in either order. Takes both as they are seen; gives a preemptor's victims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from bayplan.core.preemption.prepare import CONDITION_REASON
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct, field
from bayplan.model.time_units import MINUTE
from bayplan.model.well_known import DISRUPTION_TARGET

#: Longer than victims usually take to leave.
MARKS_LAST_NS = 10 * MINUTE


class ShadowVictim(NamedTuple):
    """A pod that has to go; of two with the same importance (priority and start) either may be chosen."""

    key: str
    importance: tuple[int, int] = (0, 0)


class Preempted(NamedTuple):
    """Who had to go from which node; `is_shared`: for several preemptors, and nobody knows who for whom."""

    node: str
    victims: tuple[ShadowVictim, ...] = ()
    is_shared: bool = False


class _Marked(NamedTuple):
    at: int
    victim: ShadowVictim


class _Clearing(Struct, eq=False):
    """A node from which pods go, for as long as somebody waits for it."""

    node: str
    victims: list[ShadowVictim]
    preemptors: set[str] = field(default_factory=set)  # all there ever were
    waiting: set[str] = field(default_factory=set)


class SeenPreemptions:
    """Victims by preemptor."""

    def __init__(self) -> None:
        self._loose: dict[str, list[_Marked]] = {}  # by node: victims that no preemptor is known for
        self._by_node: dict[str, _Clearing] = {}
        self._by_preemptor: dict[str, _Clearing] = {}
        self._marked_at: dict[str, int] = {}  # by victim

    def marked(self, victim: ShadowVictim, node: str, now: int) -> None:
        """A pod on the node is going because of a preemption."""
        self._marked_at[victim.key] = now
        clearing = self._by_node.get(node)
        if clearing is None:
            self._loose.setdefault(node, []).append(_Marked(now, victim))
        else:
            clearing.victims.append(victim)

    def nominated(self, pod: str, node: str) -> None:
        """The pod waits for the node."""
        self.over(pod)
        clearing = self._by_node.get(node)
        if clearing is None:
            loose = self._loose.pop(node, [])
            clearing = self._by_node[node] = _Clearing(node, [marked.victim for marked in loose])
        clearing.preemptors.add(pod)
        clearing.waiting.add(pod)
        self._by_preemptor[pod] = clearing

    def victims_of(self, pod: str) -> Preempted | None:
        """None for a pod that was never nominated."""
        clearing = self._by_preemptor.get(pod)
        if clearing is None:
            return None
        return Preempted(clearing.node, tuple(clearing.victims), len(clearing.preemptors) > 1)

    def has_marked(self, pod: str) -> bool:
        """Whether the pod was evicted for anybody, not long ago."""
        return pod in self._marked_at

    def over(self, pod: str) -> None:
        """The pod has a node, is gone, or waits for another."""
        clearing = self._by_preemptor.pop(pod, None)
        if clearing is not None:
            clearing.waiting.discard(pod)
            if not clearing.waiting:
                del self._by_node[clearing.node]

    def forget_before(self, time: int) -> None:
        """Victims that nobody will ask about any more, and those of which nobody has learned for whom they went."""
        self._marked_at = {victim: at for victim, at in self._marked_at.items() if at + MARKS_LAST_NS >= time}
        for node, marked in list(self._loose.items()):
            left = [each for each in marked if each.at >= time]
            if left:
                self._loose[node] = left
            else:
                del self._loose[node]


def are_interchangeable(ours: Collection[ShadowVictim], theirs: Collection[ShadowVictim]) -> bool:
    """Whether one could as well have been chosen instead of the other: the same number of each importance."""
    return Counter(victim.importance for victim in ours) == Counter(victim.importance for victim in theirs)


def is_marked(pod: Pod, schedulers: Collection[str]) -> bool:
    """Whether one of these schedulers has preempted the pod."""
    condition = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    return (
        condition is not None
        and (condition.status, condition.reason) == (TRUE, CONDITION_REASON)
        # Nothing else of a pod says which scheduler it was: upstream writes the name into this text.
        and condition.message.partition(":")[0] in schedulers
    )
