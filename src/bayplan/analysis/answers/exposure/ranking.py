"""All workloads of a cluster, ranked by how exposed their most exposed pod is.

First come those that more PriorityClasses outrank, then those for which a smaller share of the node is enough. Where to
look is found by arithmetic, for all pods at once; what is listed has been decided.
"""

from __future__ import annotations

from collections import Counter

from bayplan.admission.priority import HIGHEST_USER_VALUE
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.answer import ExposureRanking, WorkloadExposure
from bayplan.analysis.answers.exposure.exposing import Exposing
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.controllers.ownership import is_terminal
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.pod import Pod


def ranking_of(asking: Asking, top: int, namespace: str = "", priority_class: str = "") -> ExposureRanking:
    """The `top` most exposed workloads, of a namespace or a PriorityClass if one is given. Raises InvalidObject."""
    _check_filters(asking, namespace, priority_class)
    exposing = Exposing(asking)
    running = [
        pod
        for pod in asking.cluster.pods.values()
        if pod.spec.node_name
        and not is_terminal(pod)
        and namespace in ("", pod.metadata.namespace)
        and priority_class in ("", pod.spec.priority_class_name)
    ]
    counts: Counter[str] = Counter()
    most: dict[str, Pod] = {}
    for pod in exposing.ranked(running):
        workload = short_name(workload_of(pod, exposing.ownership))
        counts[workload] += 1
        most.setdefault(workload, pod)
    outranked = {priority: len(exposing.classes_above(priority)) for priority in map(exposing.priority_of, running)}
    # Sorting is stable: within as many classes the order is that of the shares.
    chosen = sorted(most, key=lambda workload: -outranked[exposing.priority_of(most[workload])])[:top]
    first_of_priority: dict[int, str] = {}
    for workload, pod in most.items():
        first_of_priority.setdefault(exposing.priority_of(pod), workload)

    def look_at(workload: str) -> WorkloadExposure:
        pod = most[workload]
        above = exposing.classes_above(exposing.priority_of(pod))
        return WorkloadExposure(
            workload=workload,
            pod_count=counts[workload],
            outranked_by=len(above),
            most=exposing.look_at(pod),
            priority_class=pod.spec.priority_class_name,
            outranked_by_users=sum(each.value <= HIGHEST_USER_VALUE for each in above),
        )

    found = {workload: look_at(workload) for workload in dict.fromkeys((*chosen, *first_of_priority.values()))}
    return ExposureRanking(
        tuple(sorted((found[workload] for workload in chosen), key=_rank)),
        len(most),
        len(running),
        tuple(found[first_of_priority[priority]] for priority in sorted(first_of_priority, reverse=True)),
    )


def _check_filters(asking: Asking, namespace: str, priority_class: str) -> None:
    """What no pod has would look like an answer."""
    pods = asking.cluster.pods.values()
    for given, option, known in (
        (namespace, "--namespace", {pod.metadata.namespace for pod in pods}),
        (priority_class, "--class", {pod.spec.priority_class_name for pod in pods} - {""}),
    ):
        if given and given not in known:
            there_are = f"; there are: {', '.join(sorted(known))}" if known else ""
            raise InvalidObject([Fault("", "", option, f"no pod has {given!r}{there_are}")])


def _rank(each: WorkloadExposure) -> tuple[bool, int, float, bool]:
    return bool(each.most.reason), -each.outranked_by, each.most.share, each.most.protected
