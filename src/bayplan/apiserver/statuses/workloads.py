"""What controllers say of workloads and budgets beyond what narrow structs know: counts of zero, times of conditions.

Go writes certain counts though they are zero, and each kind of condition has times of its own; both are facts of the
API's types, not of what the controllers decide.
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.storage.entries import Document

#: Counts that are written though they are zero, by kind.
_ALWAYS_WRITTEN: Final = {
    "Deployment": (),
    "ReplicaSet": ("replicas",),
    "ReplicationController": ("replicas",),
    "StatefulSet": ("replicas", "availableReplicas", "collisionCount"),
    "DaemonSet": ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    "Job": ("ready", "terminating"),
    "PodDisruptionBudget": ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
}


def completed_counts(_old: Document, new: Document, _time: str, _cluster: ClusterView) -> Document:
    """The object with the counts of zero that its kind always has."""
    zeros = dict.fromkeys(_ALWAYS_WRITTEN[new["kind"]], 0)
    return {**new, "status": {**zeros, **(new.get("status") or {})}}


def completed_deployment(old: Document, new: Document, time: str, cluster: ClusterView) -> Document:
    """With the times at which its conditions were last written."""
    known = {condition["type"]: condition for condition in _conditions(old)}
    conditions = [_updated(condition, known.get(condition["type"]), time) for condition in _conditions(new)]
    return _with_conditions(completed_counts(old, new, time, cluster), conditions)


def _updated(condition: Document, before: Document | None, time: str) -> Document:
    if before is not None and all(before.get(field) == value for field, value in condition.items()):
        return before
    return {**condition, "lastUpdateTime": time}


def completed_job(old: Document, new: Document, time: str, cluster: ClusterView) -> Document:
    """With the times at which its conditions were looked at, and nothing left to count."""
    conditions = [{"lastProbeTime": condition.get("lastTransitionTime"), **condition} for condition in _conditions(new)]
    made = completed_counts(old, new, time, cluster)
    return _with_conditions({**made, "status": {"uncountedTerminatedPods": {}, **made["status"]}}, conditions)


def completed_budget(old: Document, new: Document, time: str, cluster: ClusterView) -> Document:
    """With the messages of its conditions, which are written though they are empty."""
    conditions = [{"message": "", **condition} for condition in _conditions(new)]
    return _with_conditions(completed_counts(old, new, time, cluster), conditions)


def _conditions(document: Document) -> list[Document]:
    return (document.get("status") or {}).get("conditions") or []


def _with_conditions(document: Document, conditions: list[Document]) -> Document:
    if not conditions:
        return document
    return {**document, "status": {**document["status"], "conditions": conditions}}
