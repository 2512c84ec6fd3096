"""What preemptions set off: chains of victims that come back and push others, and loops that never end.

A victim's *successor* is the next pod that its workload creates. It may preempt in its turn, or be preempted again: the
preemptions that follow from one another form a chain. A *loop* is the same workload being evicted by the same preemptor
again and again, each time after it was recreated; many replicas making room once each are none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bayplan.analysis.simulation.recording.pod_ledger import NEVER, PodLedger
from bayplan.analysis.simulation.recording.preemption_log import Preemption

Plain = dict[str, Any]
#: As often within this time is no accident.
LOOP_TIMES = 5
LOOP_WINDOW_NS = 10 * 60 * 1_000_000_000
#: Longer chains are told by their depth; naming every pod of an endless one helps nobody.
PODS_NAMED_MAX = 60
LOOP_PODS_NAMED_MAX = 12
CHAINS_MAX = 1_000


@dataclass(slots=True)
class _Eviction:
    """One victim of one preemption."""

    number: int  # of the preemption
    row: int
    successor: int = NEVER


@dataclass(slots=True)
class Cascades:
    """What was found."""

    chains: list[Plain] = field(default_factory=list)
    loops: list[Plain] = field(default_factory=list)


def find_cascades(preemptions: Sequence[Preemption], pods: PodLedger, rows: dict[str, int], end: int) -> Cascades:
    """`rows` has the row of every uid that ever was; `end` is the last instant of the run."""
    story = _Story(preemptions, pods, rows, end)
    return Cascades(story.chains(), story.loops())


class _Story:
    def __init__(self, preemptions: Sequence[Preemption], pods: PodLedger, rows: dict[str, int], end: int) -> None:
        self._preemptions = preemptions
        self._pods = pods
        self._end = end
        self._preemptors = [rows[one.preemptor_uid] for one in preemptions]
        self._evictions = [
            [_Eviction(number, rows[uid]) for uid in one.evicted if uid in rows]
            for number, one in enumerate(preemptions)
        ]
        self._find_successors()
        self._next = self._find_next()

    def _find_successors(self) -> None:
        """The first free pod of the same workload that was created after the eviction."""
        waiting: defaultdict[str, deque[_Eviction]] = defaultdict(deque)
        evictions = sorted(
            (one for all_of_it in self._evictions for one in all_of_it),
            key=lambda one: self._preemptions[one.number].at,
        )
        upcoming = deque(evictions)
        pods = self._pods
        for row, (created, owner) in enumerate(zip(pods.created, pods.owners, strict=True)):
            while upcoming and self._preemptions[upcoming[0].number].at <= created:
                eviction = upcoming.popleft()
                waiting[pods.owners[eviction.row]].append(eviction)
            if owner and waiting[owner]:
                waiting[owner].popleft().successor = row

    def _find_next(self) -> list[list[int]]:
        """For each preemption those that its victims' successors took part in; all of them come later."""
        by_pod: defaultdict[int, list[int]] = defaultdict(list)
        for number, preemptor in enumerate(self._preemptors):
            by_pod[preemptor].append(number)
            for eviction in self._evictions[number]:
                by_pod[eviction.row].append(number)
        return [
            sorted({after for one in evictions for after in by_pod.get(one.successor, ()) if after > number})
            for number, evictions in enumerate(self._evictions)
        ]

    def chains(self) -> list[Plain]:
        """The longest first."""
        depths = [1] * len(self._next)
        deepest = [NEVER] * len(self._next)
        for number in range(len(self._next) - 1, -1, -1):
            for after in self._next[number]:
                if depths[after] + 1 > depths[number]:
                    depths[number], deepest[number] = depths[after] + 1, after
        later = {after for following in self._next for after in following}
        roots = [number for number in range(len(self._next)) if number not in later and depths[number] > 1]
        roots.sort(key=lambda number: (-depths[number], number))
        return [self._chain(root, depths[root], deepest) for root in roots[:CHAINS_MAX]]

    def _chain(self, root: int, depth: int, deepest: list[int]) -> Plain:
        path = [root]
        while deepest[path[-1]] != NEVER:
            path.append(deepest[path[-1]])
        reached = {root}
        frontier = [root]
        while frontier:
            following = [after for after in self._next[frontier.pop()] if after not in reached]
            reached.update(following)
            frontier += following
        evictions = [one for number in sorted(reached) for one in self._evictions[number]]
        return {
            "t": self._preemptions[root].at / 1e9,
            "pods": self._pods_along(path)[:PODS_NAMED_MAX],
            "depth": depth,
            "victims": len(evictions),
            "downtime": sum(map(self._downtime, evictions)) / 1e9,
            "budgetsBroken": sum(len(victim["breaks"]) for one in reached for victim in self._preemptions[one].victims),
        }

    def _pods_along(self, path: list[int]) -> list[str]:
        """The first preemptor, then who was pushed and who came back, in order."""
        keys = self._pods.keys
        named = [keys[self._preemptors[path[0]]]]
        for number, after in pairwise(path[:PODS_NAMED_MAX]):
            involved = {self._preemptors[after], *(one.row for one in self._evictions[after])}
            eviction = next(one for one in self._evictions[number] if one.successor in involved)
            named += [keys[eviction.row], keys[eviction.successor]]
        last = self._evictions[path[-1]]
        if last and len(path) <= PODS_NAMED_MAX:
            named.append(keys[last[0].row])
        return [key for place, key in enumerate(named) if place == 0 or named[place - 1] != key]

    def _downtime(self, eviction: _Eviction) -> int:
        """From the eviction until the successor runs somewhere; a pod that nobody replaces is simply gone."""
        if eviction.successor == NEVER:
            return 0
        bound = self._pods.bound[eviction.successor]
        return (self._end if bound == NEVER else bound) - self._preemptions[eviction.number].at

    def loops(self) -> list[Plain]:
        """The most frequent first."""
        ancestor: dict[int, int] = {}  # row -> the first pod of its line of successors
        lines: defaultdict[tuple[int, str], list[_Eviction]] = defaultdict(list)
        for evictions in self._evictions:
            for one in evictions:
                first = ancestor.get(one.row, one.row)
                if one.successor != NEVER:
                    ancestor[one.successor] = first
                lines[first, self._pods.name_of(self._preemptors[one.number])].append(one)
        found: defaultdict[tuple[str, str], list[_Eviction]] = defaultdict(list)
        for (first, preemptor), line in lines.items():
            if self._is_loop(line):
                found[preemptor, self._pods.name_of(first)] += line
        loops = [self._loop(preemptor, victim, line) for (preemptor, victim), line in found.items()]
        return sorted(loops, key=lambda loop: (-loop["times"], loop["preemptor"], loop["victim"]))

    def _is_loop(self, line: list[_Eviction]) -> bool:
        times = [self._preemptions[one.number].at for one in line]
        spans = zip(times, times[LOOP_TIMES - 1 :], strict=False)
        return any(last - first <= LOOP_WINDOW_NS for first, last in spans)

    def _loop(self, preemptor: str, victim: str, line: list[_Eviction]) -> Plain:
        line = sorted(line, key=lambda one: one.number)
        rows = list(dict.fromkeys(row for one in line for row in (self._preemptors[one.number], one.row)))
        rows = rows[:LOOP_PODS_NAMED_MAX]
        times = [self._preemptions[one.number].at for one in line]
        return {
            "preemptor": preemptor,
            "victim": victim,
            "pods": [self._pods.keys[row] for row in rows],
            "priorities": [self._pods.priorities[row] for row in rows],
            "times": len(line),
            "from": times[0] / 1e9,
            "until": times[-1] / 1e9,
        }
