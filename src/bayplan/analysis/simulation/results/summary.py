"""The figures of a run: rows of pods, preemptions and series in, a `Summary` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bayplan.analysis.simulation.recording.pod_ledger import PodLedger
from bayplan.analysis.simulation.recording.preemption_log import LoggedPreemption
from bayplan.analysis.simulation.results.run_format import (
    Cause,
    End,
    Fragmentation,
    PodFigures,
    PodRow,
    Series,
    Summary,
    Waits,
)


def summarize(
    ledger: PodLedger, series: Series, preemptions: Sequence[LoggedPreemption], classes: Mapping[str, int]
) -> Summary:
    """`classes` gives the order of the waiting times."""
    evictions = Counter(pod.evicted for pod in ledger.pods if pod.evicted is not None)
    return Summary(
        pods=_pod_figures(ledger.pods, evictions[Cause.PREEMPTION]),
        waiting=_waiting(ledger.pods, classes),
        evictions={str(cause): number for cause, number in sorted(evictions.items())},
        evictions_by_preemptor=_evictions_by_preemptor(ledger, preemptions),
        budgets_broken=sum(logged.preemption.breaks for logged in preemptions),
        utilization={name: _mean(shares) for name, shares in series.used.items()},
        fragmentation=Fragmentation(_mean(series.fragmentation), max(series.fragmentation, default=0.0)),
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
