"""How many replicas a HorizontalPodAutoscaler wants, from what pods use: arithmetic only.

Takes the metrics of an autoscaler and the pods of its target as documents; gives a proposal with what was measured.
Resource metrics of CPU and memory are known, by utilization or average value; pods that are not ready, or of which
nothing is known, are counted with care, as upstream does.
Upstream: pkg/controller/podautoscaler/replica_calculator.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Final, NamedTuple

from bayplan.apiserver.admitting.quantities import written
from bayplan.apiserver.statuses.usage import requested, total, usage_of
from bayplan.apiserver.storage.entries import Document
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME
from bayplan.model.conditions import TRUE
from bayplan.model.quantity import parse_quantity
from bayplan.model.well_known import READY

#: By how much the ratio of used to wanted may differ from 1 before anything is done.
_TOLERANCE: Final = Fraction(1, 10)
_KNOWN: Final = (CPU_NAME, MEMORY_NAME)


class NoMetricError(Exception):
    """Nothing can be proposed; `args` are reason and message."""


class MetricProposal(NamedTuple):
    """What one metric asks for."""

    replicas: int
    metric: str
    """What was measured, in words."""
    current: Document
    """As in `status.currentMetrics`."""


class _Group(NamedTuple):
    """The pods of a target: by their usage if it counts, and those whose usage does not."""

    used: list[tuple[Document, int]]
    unready: list[Document]
    missing: list[Document]


def proposal_of(metric: Document, pods: Sequence[Document], replicas: int) -> MetricProposal:
    """What the metric asks for, given so many replicas; raises NoMetricError."""
    kind = metric.get("type", "")
    if kind != "Resource" or metric["resource"].get("name") not in _KNOWN:
        raise NoMetricError(f"FailedGet{kind}Metric", f"unable to get metric: {kind} metrics are not simulated")
    resource, target = metric["resource"]["name"], metric["resource"].get("target") or {}
    group = _grouped(pods, resource)
    if not group.used:
        why = f"unable to get metrics for resource {resource}: no metrics returned from resource metrics API"
        raise NoMetricError("FailedGetResourceMetric", f"failed to get {resource} utilization: {why}")
    average = written(_usage(group) // len(group.used), like="1Ki" if resource == MEMORY_NAME else "")
    if target.get("averageUtilization"):
        for pod in pods:
            _request(pod, resource)
        percent = _usage(group) * 100 // max(1, sum(_request(pod, resource) for pod, _ in group.used))
        wished = _replicas(group, resource, replicas, percent=target["averageUtilization"])
        measured = {"averageUtilization": percent, "averageValue": average}
        words = f"{resource} resource utilization (percentage of request)"
    else:
        wished = _replicas(group, resource, replicas, average=parse_quantity(target.get("averageValue", "0")))
        measured, words = {"averageValue": average}, f"{resource} resource"
    return MetricProposal(wished, words, {"type": "Resource", "resource": {"name": resource, "current": measured}})


def _usage(group: _Group) -> int:
    return sum(amount for _, amount in group.used)


def _grouped(pods: Sequence[Document], resource: str) -> _Group:
    group = _Group([], [], [])
    for pod in pods:
        phase = (pod.get("status") or {}).get("phase")
        if phase in ("Failed", "Succeeded") or "deletionTimestamp" in pod["metadata"]:
            continue
        usages = usage_of(pod)
        if phase == "Pending" or (resource == CPU_NAME and not _is_ready(pod)):
            group.unready.append(pod)
        elif usages is None:
            group.missing.append(pod)
        else:
            group.used.append((pod, total(usages.values(), resource)))
    return group


def _is_ready(pod: Document) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(known["type"] == READY and known["status"] == TRUE for known in conditions)


def _request(pod: Document, resource: str) -> int:
    amount = 0
    for container in pod["spec"]["containers"]:
        asked = requested(container, resource)
        if asked is None:
            where = f"container {container['name']} of Pod {pod['metadata']['name']}"
            why = f"missing request for {resource} in {where}"
            raise NoMetricError("FailedGetResourceMetric", f"failed to get {resource} utilization: {why}")
        amount += asked
    return amount


def _replicas(group: _Group, resource: str, replicas: int, *, percent: int = 0, average: int = 0) -> int:
    def ratio(used: list[tuple[Document, int]]) -> Fraction:
        amount = sum(usage for _, usage in used)
        if percent:
            asked = sum(_request(pod, resource) for pod, _ in used)
            return Fraction(amount * 100 // max(1, asked), percent)
        return Fraction(amount, max(1, average * len(used)))

    first = ratio(group.used)
    counts_unready = bool(group.unready) and first > 1
    if not counts_unready and not group.missing:
        return replicas if abs(first - 1) <= _TOLERANCE else ceil(first * len(group.used))
    # Those that are not known count so that they speak against what is about to be done.
    full = {id(pod): _request(pod, resource) if percent else average for pod in group.missing}
    used = [*group.used, *((pod, full[id(pod)] if first < 1 else 0) for pod in group.missing)]
    if counts_unready:
        used += [(pod, 0) for pod in group.unready]
    second = ratio(used)
    if abs(second - 1) <= _TOLERANCE or (first < 1) != (second < 1):
        return replicas
    wished = ceil(second * len(used))
    return replicas if (second < 1 and wished > replicas) or (second > 1 and wished < replicas) else wished
