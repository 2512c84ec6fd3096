"""What preemptions cause: chains of recreated victims that preempt others, and endless loops.

A victim's *successor* is the next pod that its workload creates. It may preempt in its turn, or be preempted again: the
preemptions that follow from one another form a chain. A *loop* is the same workload being evicted by the same preemptor
repeatedly, each time after it was recreated; many replicas that are evicted once each are not a loop.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from bayplan.analysis.simulation.recording.pod_ledger import NEVER, PodLedger
from bayplan.analysis.simulation.recording.preemption_log import LoggedPreemption
from bayplan.analysis.simulation.results.run_format import Chain, Loop

#: This often within this time is not a coincidence.
LOOP_TIMES = 5
LOOP_WINDOW_NS = 10 * 60 * 1_000_000_000
#: Longer chains are described by their depth: naming every pod of an endless chain is useless.
PODS_NAMED_MAX = 60
LOOP_PODS_NAMED_MAX = 12
CHAINS_MAX = 1_000


@dataclass(slots=True)
class _Eviction:
    """One victim of one preemption."""

    number: int  # of the preemption
    row: int
    successor: int = NEVER


class Cascades:
    """What followed from the preemptions of a run, or of as much of it as has passed; `end` is its last instant."""

    def __init__(self, preemptions: Sequence[LoggedPreemption], ledger: PodLedger, end: int) -> None:
        self._preemptions = preemptions
        self._ledger = ledger
        self._end = end
        rows = ledger.rows
        self._preemptors = [rows[preemption.preemptor_uid] for preemption in preemptions]
        self._evictions = [
            [_Eviction(number, rows[uid]) for uid in preemption.evicted if uid in rows]
            for number, preemption in enumerate(preemptions)
        ]
        self._find_successors()
        self._next = self._find_next()

    def _find_successors(self) -> None:
        """The first free pod of the same workload that was created after the eviction."""
        waiting: defaultdict[str, deque[_Eviction]] = defaultdict(deque)
        upcoming = deque(eviction for evictions in self._evictions for eviction in evictions)
        pods = self._ledger.pods
        for row, (pod, created_at) in enumerate(zip(pods, self._ledger.created_at, strict=True)):
            while upcoming and self._preemptions[upcoming[0].number].at <= created_at:
                eviction = upcoming.popleft()
                waiting[pods[eviction.row].owner].append(eviction)
            if pod.owner and waiting[pod.owner]:
                waiting[pod.owner].popleft().successor = row

    def _find_next(self) -> list[list[int]]:
        """For each preemption those that its victims' successors took part in; all of them come later."""
        by_pod: defaultdict[int, list[int]] = defaultdict(list)
        for number, preemptor in enumerate(self._preemptors):
            by_pod[preemptor].append(number)
            for eviction in self._evictions[number]:
                by_pod[eviction.row].append(number)
        return [
            sorted({after for gone in evictions for after in by_pod.get(gone.successor, ()) if after > number})
            for number, evictions in enumerate(self._evictions)
        ]

    def chains(self) -> list[Chain]:
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

    def _chain(self, root: int, depth: int, deepest: list[int]) -> Chain:
        path = [root]
        while deepest[path[-1]] != NEVER:
            path.append(deepest[path[-1]])
        reached = {root}
        frontier = [root]
        while frontier:
            following = [after for after in self._next[frontier.pop()] if after not in reached]
            reached.update(following)
            frontier += following
        evictions = [eviction for number in sorted(reached) for eviction in self._evictions[number]]
        return Chain(
            t=self._preemptions[root].at / 1e9,
            pods=self._pods_along(path)[:PODS_NAMED_MAX],
            depth=depth,
            victims=len(evictions),
            downtime=sum(map(self._downtime, evictions)) / 1e9,
            budgets_broken=sum(self._preemptions[number].preemption.breaks for number in reached),
        )

    def _pods_along(self, path: list[int]) -> list[str]:
        """The first preemptor, then victims and the pods that replaced them, in order."""
        pods = self._ledger.pods
        named = [pods[self._preemptors[path[0]]].key]
        for number, after in pairwise(path[:PODS_NAMED_MAX]):
            involved = {self._preemptors[after], *(eviction.row for eviction in self._evictions[after])}
            eviction = next(eviction for eviction in self._evictions[number] if eviction.successor in involved)
            named += [pods[eviction.row].key, pods[eviction.successor].key]
        last = self._evictions[path[-1]]
        if last and len(path) <= PODS_NAMED_MAX:
            named.append(pods[last[0].row].key)
        return [key for place, key in enumerate(named) if place == 0 or named[place - 1] != key]

    def _downtime(self, eviction: _Eviction) -> int:
        """From the eviction until the successor runs somewhere; a pod that is not replaced has no downtime."""
        if eviction.successor == NEVER:
            return 0
        bound = self._ledger.bound_at[eviction.successor]
        return (self._end if bound == NEVER else bound) - self._preemptions[eviction.number].at

    def loops(self) -> list[Loop]:
        """The most frequent first."""
        ancestor: dict[int, int] = {}  # row -> the first pod of its line of successors
        lines: defaultdict[tuple[int, str], list[_Eviction]] = defaultdict(list)
        for evictions in self._evictions:
            for eviction in evictions:
                first = ancestor.get(eviction.row, eviction.row)
                if eviction.successor != NEVER:
                    ancestor[eviction.successor] = first
                lines[first, self._ledger.workload_of(self._preemptors[eviction.number])].append(eviction)
        found: defaultdict[tuple[str, str], list[_Eviction]] = defaultdict(list)
        for (first, preemptor), line in lines.items():
            if self._is_loop(line):
                found[preemptor, self._ledger.workload_of(first)] += line
        loops = [self._loop(preemptor, victim, line) for (preemptor, victim), line in found.items()]
        return sorted(loops, key=lambda loop: (-loop.times, loop.preemptor, loop.victim))

    def _is_loop(self, line: list[_Eviction]) -> bool:
        times = [self._preemptions[eviction.number].at for eviction in line]
        spans = zip(times, times[LOOP_TIMES - 1 :], strict=False)
        return any(last - first <= LOOP_WINDOW_NS for first, last in spans)

    def _loop(self, preemptor: str, victim: str, line: list[_Eviction]) -> Loop:
        line = sorted(line, key=lambda eviction: eviction.number)
        rows = dict.fromkeys(row for gone in line for row in (self._preemptors[gone.number], gone.row))
        pods = [self._ledger.pods[row] for row in islice(rows, LOOP_PODS_NAMED_MAX)]
        return Loop(
            preemptor,
            victim,
            pods=[pod.key for pod in pods],
            priorities=[pod.priority for pod in pods],
            times=len(line),
            since=self._preemptions[line[0].number].at / 1e9,
            until=self._preemptions[line[-1].number].at / 1e9,
        )
