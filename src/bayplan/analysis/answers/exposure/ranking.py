"""All workloads of a cluster, ranked by how exposed their most exposed pod is.

First come those that more PriorityClasses outrank, then those for which a smaller share of the node is enough. Where to
look is found by arithmetic, for all pods at once; what is listed has been decided.
"""

from __future__ import annotations

from collections import Counter

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.answer import Ranking, WorkloadExposure
from bayplan.analysis.answers.exposure.exposing import Exposing, priority_of
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.controllers.ownership import is_terminal
from bayplan.model.pod import Pod


def ranking_of(asking: Asking, top: int) -> Ranking:
    """The `top` most exposed workloads."""
    exposing = Exposing(asking)
    running = [pod for pod in asking.cluster.pods.values() if pod.spec.node_name and not is_terminal(pod)]
    counts: Counter[str] = Counter()
    most: dict[str, Pod] = {}
    for pod in exposing.ranked(running):
        workload = short_name(workload_of(pod, exposing.ownership))
        counts[workload] += 1
        most.setdefault(workload, pod)
    outranked = {priority: len(exposing.classes_above(priority)) for priority in map(priority_of, running)}
    # Sorting is stable: within as many classes the order is that of the shares.
    chosen = sorted(most, key=lambda workload: -outranked[priority_of(most[workload])])[:top]
    found = [
        WorkloadExposure(workload, counts[workload], outranked[priority_of(most[workload])], looked_at)
        for workload, looked_at in ((workload, exposing.look_at(most[workload])) for workload in chosen)
    ]
    return Ranking(tuple(sorted(found, key=_rank)), len(most), len(running))


def _rank(each: WorkloadExposure) -> tuple[bool, int, float, bool]:
    return bool(each.most.reason), -each.outranked_by, each.most.share, each.most.protected
