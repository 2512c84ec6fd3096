"""Whom another scheduler evicts for whom, as far as a watch shows it.

A victim is marked with a condition that names the scheduler but not the preemptor; the preemptor is nominated to the
victim's node. The two may be seen in either order. Takes both as they are seen; gives a preemptor's victims.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from bayplan.core.preemption.prepare import CONDITION_REASON
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.pod import Pod
from bayplan.model.time_units import MINUTE
from bayplan.model.well_known import DISRUPTION_TARGET

#: Longer than victims usually take to leave.
MARKS_LAST_NS = 10 * MINUTE


class Preempted(NamedTuple):
    """Who had to go from which node."""

    node: str
    victims: tuple[str, ...]


class _Marked(NamedTuple):
    at: int
    victim: str


class SeenPreemptions:
    """Victims by preemptor."""

    def __init__(self) -> None:
        self._loose: dict[str, list[_Marked]] = {}  # by node: victims that no preemptor is known for
        self._preemptors: dict[str, str] = {}  # node -> who was nominated to it last
        self._victims: dict[str, Preempted] = {}  # by preemptor
        self._marked_at: dict[str, int] = {}  # by victim

    def marked(self, victim: str, node: str, now: int) -> None:
        """A pod on the node is going because of a preemption."""
        self._marked_at[victim] = now
        preemptor = self._preemptors.get(node)
        if preemptor is None:
            self._loose.setdefault(node, []).append(_Marked(now, victim))
        else:
            known = self._victims.get(preemptor, Preempted(node, ()))
            self._victims[preemptor] = Preempted(node, (*known.victims, victim))

    def nominated(self, pod: str, node: str) -> None:
        """The pod waits for the node."""
        self.over(pod)
        self._preemptors[node] = pod
        loose = self._loose.pop(node, None)
        if loose:
            self._victims[pod] = Preempted(node, tuple(marked.victim for marked in loose))

    def victims_of(self, pod: str) -> Preempted | None:
        return self._victims.get(pod)

    def has_marked(self, pod: str) -> bool:
        """Whether the pod was evicted for anybody, not long ago."""
        return pod in self._marked_at

    def over(self, pod: str) -> None:
        """The pod has a node, is gone, or waits for another."""
        self._victims.pop(pod, None)
        for node in [node for node, preemptor in self._preemptors.items() if preemptor == pod]:
            del self._preemptors[node]

    def forget_before(self, time: int) -> None:
        """Victims that nobody will ask about any more, and those of which nobody has learned for whom they went."""
        self._marked_at = {victim: at for victim, at in self._marked_at.items() if at + MARKS_LAST_NS >= time}
        for node, marked in list(self._loose.items()):
            left = [each for each in marked if each.at >= time]
            if left:
                self._loose[node] = left
            else:
                del self._loose[node]


def is_marked(pod: Pod, schedulers: Collection[str]) -> bool:
    """Whether one of these schedulers has preempted the pod."""
    condition = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    return (
        condition is not None
        and (condition.status, condition.reason) == (TRUE, CONDITION_REASON)
        and condition.message.partition(":")[0] in schedulers
    )
