"""How closely a run followed what was recorded: two lists of pods in, counts out.

Pods are matched as between any two runs: by name, else within their workload in order of creation. Replicas that were
created together are interchangeable, also in what becomes of them: of those, pods on the same node are matched first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import inf
from typing import Final, TypeAlias

from bayplan.analysis.simulation.results.pod_matching import match_pods
from bayplan.analysis.simulation.results.run_format import EvictionCause, Fidelity, PodRow

_WITHIN_S: Final = 1.0
_TOGETHER_S: Final = 1.0
_Pair: TypeAlias = tuple[PodRow, PodRow]


def compared(recorded: Sequence[PodRow], run: Sequence[PodRow], node_kinds: Mapping[str, Hashable]) -> Fidelity:
    """Counts of the pods that found a node while it was recorded; `node_kinds` is equal for nodes that are alike."""
    pairs = list(_matched(recorded, run))
    placed = [(was, now) for was, now in pairs if was.bound and now.node is not None]
    started = [(was, now) for was, now in pairs if was.bound and was.started is not None and now.started is not None]

    def is_alike(was: PodRow, now: PodRow) -> bool:
        kind = node_kinds.get(was.node or "")
        return was.node == now.node or (kind is not None and kind == node_kinds.get(now.node or ""))

    return Fidelity(
        placed=sum(1 for row in recorded if row.bound),
        placed_here=len(placed),
        same_node=sum(1 for was, now in placed if was.node == now.node),
        alike_node=sum(1 for was, now in placed if is_alike(was, now)),
        started=sum(1 for row in recorded if row.bound and row.started is not None),
        started_within_second=sum(_differ_little(was.started, now.started) for was, now in started),
        started_as_soon=sum(_differ_little(_start_delay(was), _start_delay(now)) for was, now in started),
        preempted=sum(map(_is_preempted, recorded)),
        preempted_here=sum(map(_is_preempted, run)),
        preempted_both=sum(1 for was, now in pairs if _is_preempted(was) and _is_preempted(now)),
    )


def _differ_little(was: float | None, now: float | None) -> bool:
    return was is not None and now is not None and abs(was - now) <= _WITHIN_S


def _start_delay(row: PodRow) -> float | None:
    return None if row.started is None else row.started - row.created


def _matched(recorded: Sequence[PodRow], run: Sequence[PodRow]) -> Iterator[_Pair]:
    together: list[_Pair] = []
    by_name: list[_Pair] = []
    for left, right in match_pods(recorded, run).pairs:
        was, now = recorded[left], run[right]
        (by_name if was.key == now.key else together).append((was, now))
    yield from by_name
    together.sort(key=lambda pair: (pair[0].owner, pair[0].created))
    batch: list[_Pair] = []
    for pair in together:
        if batch and (batch[-1][0].owner != pair[0].owner or pair[0].created - batch[-1][0].created > _TOGETHER_S):
            yield from _exchanged(batch)
            batch = []
        batch.append(pair)
    yield from _exchanged(batch)


def _exchanged(batch: Sequence[_Pair]) -> Iterator[_Pair]:
    """Other pairs of the batch's pods: those on the same node first, the earlier with the earlier."""
    waiting: defaultdict[str | None, deque[PodRow]] = defaultdict(deque)
    for _, now in sorted(batch, key=lambda pair: _order(pair[1])):
        waiting[now.node].append(now)
    alone: list[PodRow] = []
    for was, _ in sorted(batch, key=lambda pair: _order(pair[0])):
        if waiting[was.node]:
            yield was, waiting[was.node].popleft()
        else:
            alone.append(was)
    left = sorted((now for rows in waiting.values() for now in rows), key=_order)
    yield from zip(alone, left, strict=True)


def _order(row: PodRow) -> float:
    return inf if row.bound is None else row.bound


def _is_preempted(row: PodRow) -> bool:
    return row.evicted is EvictionCause.PREEMPTION
