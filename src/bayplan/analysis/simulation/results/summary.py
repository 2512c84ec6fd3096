"""The figures of a run: rows of pods, preemptions and series in, a `Summary` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from bayplan.analysis.simulation.recording.pod_ledger import PodLedger
from bayplan.analysis.simulation.recording.preemption_log import LoggedPreemption
from bayplan.analysis.simulation.results.run_format import (
    ClusterSeries,
    End,
    EvictionCause,
    Fragmentation,
    NodeRow,
    PodFigures,
    PodRow,
    PoolFigures,
    Summary,
    Waits,
)

SECONDS_PER_HOUR = 3_600


def summarize(
    ledger: PodLedger,
    series: ClusterSeries,
    preemptions: Sequence[LoggedPreemption],
    classes: Mapping[str, int],
    nodes: Sequence[NodeRow] = (),
    seconds: float = 0.0,
) -> Summary:
    """`classes` gives the order of the waiting times; `nodes` were there in these seconds."""
    pools = _pool_figures(nodes, seconds)
    evictions = Counter(pod.evicted for pod in ledger.pods if pod.evicted is not None)
    return Summary(
        pods=_pod_figures(ledger.pods, evictions[EvictionCause.PREEMPTION]),
        waiting=_waiting(ledger.pods, classes),
        evictions={str(cause): number for cause, number in sorted(evictions.items())},
        evictions_by_preemptor=_evictions_by_preemptor(ledger, preemptions),
        budgets_broken=sum(logged.preemption.breaks for logged in preemptions),
        utilization={name: _mean(shares) for name, shares in series.used.items()},
        fragmentation=Fragmentation(_mean(series.fragmentation), max(series.fragmentation, default=0.0)),
        node_hours=round(sum((_hours(node, seconds) for node in nodes), 0.0), 6),
        cost=round(sum((pool.cost for pool in pools.values()), 0.0), 6),
        pools=pools,
    )


def _hours(node: NodeRow, seconds: float) -> float:
    return ((seconds if node.until is None else node.until) - node.since) / SECONDS_PER_HOUR


def _pool_figures(nodes: Sequence[NodeRow], seconds: float) -> dict[str, PoolFigures]:
    """By pool; nodes of no pool have no price."""
    by_pool: dict[str, list[NodeRow]] = {}
    for node in nodes:
        if node.pool:
            by_pool.setdefault(node.pool, []).append(node)
    return {name: _figures_of_pool(rows, seconds) for name, rows in sorted(by_pool.items())}


def _figures_of_pool(nodes: Sequence[NodeRow], seconds: float) -> PoolFigures:
    # At equal times nodes leave before others come.
    steps = sorted([(node.since, 1) for node in nodes] + [(node.until, -1) for node in nodes if node.until is not None])
    return PoolFigures(
        added=sum(node.since > 0 for node in nodes),
        removed=sum(node.until is not None for node in nodes),
        most=max(accumulate(step for _, step in steps)),
        node_hours=round(sum(_hours(node, seconds) for node in nodes), 6),
        cost=round(sum(_hours(node, seconds) * node.price for node in nodes), 6),
    )


def _pod_figures(pods: Sequence[PodRow], preempted: int) -> PodFigures:
    ends = Counter(pod.end for pod in pods)
    return PodFigures(
        created=len(pods),
        placed=sum(pod.waiting is not None for pod in pods),
        finished=ends[End.FINISHED],
        failed=ends[End.FAILED],
        deleted=ends[End.DELETED],
        preempted=preempted,
        pending=ends[End.PENDING],
        bound_before=sum(pod.bound is not None and pod.waiting is None for pod in pods),
    )


def _waiting(pods: Sequence[PodRow], classes: Mapping[str, int]) -> dict[str, Waits]:
    """By class, the most important first; pods that still wait do not count."""
    waits: dict[str, list[float]] = {}
    for pod in pods:
        if pod.waiting is not None:
            waits.setdefault(pod.class_name, []).append(pod.waiting)
    return {name: _quantiles(waits[name]) for name in classes if name in waits}


def _quantiles(waits: Sequence[float]) -> Waits:
    p50, p90, p99 = (round(float(wait), 6) for wait in np.percentile(waits, (50, 90, 99)))
    return Waits(len(waits), p50, p90, p99, round(max(waits), 6))


def _evictions_by_preemptor(ledger: PodLedger, preemptions: Sequence[LoggedPreemption]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for logged in preemptions:
        counts[ledger.workload_of(ledger.rows[logged.preemptor_uid])] += len(logged.evicted)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6) if values else 0.0
