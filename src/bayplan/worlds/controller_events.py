"""Which Events the controllers' writes stand for, in upstream's words.

Takes who wrote and what: the object before and after, or the one that was refused. Gives what is said about which
object; `event_recording` writes it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from bayplan.controllers.ownership import controller_reference
from bayplan.controllers.workloads.job_pods import COMPLETE, FAILED
from bayplan.model.conditions import FALSE, TRUE, find_condition
from bayplan.model.groups import PodGroup, Workload
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.meta import ObjectReference
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.workloads import Job, ReplicaSet

NORMAL, WARNING = "Normal", "Warning"
_CREATED, _DELETED = "SuccessfulCreate", "SuccessfulDelete"
_JOBS: Final = "job-controller"
_OF_PODS: Final = frozenset({"replicaset-controller", "replication-controller", "daemonset-controller", _JOBS})
_SETS, _CRON_JOBS, _DEPLOYMENTS = "statefulset-controller", "cronjob-controller", "deployment-controller"


class EventText(NamedTuple):
    """What an Event says."""

    about: ObjectReference
    type: str
    reason: str
    message: str
    field_path: str = ""
    """Of a part of the object, as `spec.containers{web}`."""
    host: str = ""
    """The node from which this is said."""


def events_of(component: str, before: Object | None, after: Object | None) -> Iterator[EventText]:
    """What the component says when it writes this; without `after` it has deleted the object."""
    obj = after if after is not None else before
    owner = None if obj is None else _controller(obj)
    if owner is not None and (before is None or after is None):
        assert obj is not None
        yield from _made_or_deleted(component, owner, obj, is_new=before is None)
    if isinstance(after, ReplicaSet) and owner is not None and component == _DEPLOYMENTS:
        yield from _scaled(owner, before, after)
    elif isinstance(after, Job) and isinstance(before, Job):
        yield from _news_of_job(before, after)
    elif isinstance(after, PodDisruptionBudget) and isinstance(before, PodDisruptionBudget):
        yield from _news_of_budget(before, after)


def refusal_of(component: str, obj: Object, error: str) -> Iterator[EventText]:
    """What the component says when it may not create the object."""
    owner = _controller(obj)
    if owner is None or not isinstance(obj, Pod):
        return
    if component == _SETS:
        message = f"Create Pod {obj.metadata.name} in StatefulSet {owner.name} failed error: {error}"
        yield EventText(owner, WARNING, "FailedCreate", message)
    elif component in _OF_PODS:
        yield EventText(owner, WARNING, "FailedCreate", f"Error creating: {error}")


def _made_or_deleted(component: str, owner: ObjectReference, obj: Object, *, is_new: bool) -> Iterator[EventText]:
    name, kind = obj.metadata.name, type(obj).__name__
    reason = _CREATED if is_new else _DELETED
    if component in _OF_PODS and kind == "Pod":
        yield EventText(owner, NORMAL, reason, f"{'Created' if is_new else 'Deleted'} pod: {name}")
    elif component == _SETS and kind == "Pod":
        verb = "Create" if is_new else "Delete"
        yield EventText(owner, NORMAL, reason, f"{verb} Pod {name} in StatefulSet {owner.name} successful")
    elif component == _JOBS and is_new and isinstance(obj, Workload | PodGroup):
        yield EventText(owner, NORMAL, f"{kind}Created", f"Created {kind} {name} for Job {owner.name}")
    elif component == _CRON_JOBS and kind == "Job":
        yield EventText(owner, NORMAL, reason, f"{'Created' if is_new else 'Deleted'} job {name}")


def _scaled(owner: ObjectReference, before: Object | None, after: ReplicaSet) -> Iterator[EventText]:
    old = before.spec.replicas or 0 if isinstance(before, ReplicaSet) else 0
    new = after.spec.replicas or 0
    if old != new:
        direction = "up" if new > old else "down"
        message = f"Scaled {direction} replica set {after.metadata.name} from {old} to {new}"
        yield EventText(owner, NORMAL, "ScalingReplicaSet", message)


def _news_of_job(before: Job, after: Job) -> Iterator[EventText]:
    about = _reference(after)
    for condition in after.status.conditions:
        known = find_condition(before.status.conditions, condition.type)
        if known is not None and known.status == condition.status:
            continue
        match condition.type, condition.status:
            case "Suspended", status if status in (TRUE, FALSE):
                reason = "Suspended" if status == TRUE else "Resumed"
                yield EventText(about, NORMAL, reason, condition.message)
            case kind, status if kind == COMPLETE and status == TRUE:
                yield EventText(about, NORMAL, "Completed", "Job completed")
            case kind, status if kind == FAILED and status == TRUE:
                yield EventText(about, WARNING, condition.reason, condition.message)


def _news_of_budget(before: PodDisruptionBudget, after: PodDisruptionBudget) -> Iterator[EventText]:
    """A budget that was looked at for the first time, or whose last pod has gone."""
    if after.status is None or after.status.expected_pods or after.status.observed_generation == 0:
        return
    if before.status is None or before.status.expected_pods or before.status.observed_generation == 0:
        yield EventText(_reference(after), NORMAL, "NoPods", "No matching pods found")


def _controller(obj: Object) -> ObjectReference | None:
    reference = controller_reference(obj.metadata)
    if reference is None:
        return None
    return ObjectReference(
        api_version=reference.api_version,
        kind=reference.kind,
        namespace=obj.metadata.namespace,
        name=reference.name,
        uid=reference.uid,
    )


def _reference(obj: Object) -> ObjectReference:
    kind = ALL_KINDS[type(obj).__name__]
    meta = obj.metadata
    return ObjectReference(
        api_version=kind.api_version, kind=kind.kind, namespace=meta.namespace, name=meta.name, uid=meta.uid
    )
