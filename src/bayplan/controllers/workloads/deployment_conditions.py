"""What a Deployment says of its rollout: the conditions Available, Progressing and ReplicaFailure.

Takes the status before and after, the bounds of the rollout and the name of the current ReplicaSet; gives conditions.
A condition that changes goes behind the others, as upstream's controller has it. Progress deadlines do not exist here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayplan.model.conditions import FALSE, REPLICA_FAILURE, TRUE, UNKNOWN, find_condition
from bayplan.model.meta import Condition
from bayplan.model.structs import replace
from bayplan.model.workloads import ReplicaSet, ScaleStatus

PROGRESSING: Final = "Progressing"
_NEW_AVAILABLE: Final = "NewReplicaSetAvailable"
_PAUSED, _RESUMED = "DeploymentPaused", "DeploymentResumed"


def availability(available: int, available_min: int) -> Condition:
    """Whether as many pods are available as there must be."""
    if available >= available_min:
        reason, message = "MinimumReplicasAvailable", "Deployment has minimum availability."
        return Condition(type="Available", status=TRUE, reason=reason, message=message)
    reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    return Condition(type="Available", status=FALSE, reason=reason, message=message)


def created(replica_set: str) -> Condition:
    message = f'Created new replica set "{replica_set}"'
    return Condition(type=PROGRESSING, status=TRUE, reason="NewReplicaSetCreated", message=message)


def found(replica_set: str) -> Condition:
    message = f'Found new replica set "{replica_set}"'
    return Condition(type=PROGRESSING, status=TRUE, reason="FoundNewReplicaSet", message=message)


def pausing(conditions: Sequence[Condition], *, paused: bool) -> Condition | None:
    """The condition that says that the rollout was paused or goes on; None if it is known."""
    # Upstream: pkg/controller/deployment/sync.go checkPausedConditions (v1.36).
    standing = find_condition(conditions, PROGRESSING)
    is_known_as_paused = standing is not None and standing.reason == _PAUSED
    if paused == is_known_as_paused:
        return None
    reason, message = (_PAUSED, "Deployment is paused") if paused else (_RESUMED, "Deployment is resumed")
    return Condition(type=PROGRESSING, status=UNKNOWN, reason=reason, message=message)


def progress(before: ScaleStatus, after: ScaleStatus, wanted: int, replica_set: str) -> Condition | None:
    """The condition that says how far the rollout is; None if there is nothing new to say."""
    # Upstream: pkg/controller/deployment/progress.go syncRolloutStatus (v1.36).
    standing = find_condition(after.conditions, PROGRESSING)
    is_over = standing is not None and standing.reason == _NEW_AVAILABLE and after.replicas == after.updated_replicas
    if is_over or not replica_set:
        return None
    if {after.replicas, after.updated_replicas, after.available_replicas} == {wanted}:
        message = f'ReplicaSet "{replica_set}" has successfully progressed.'
        return Condition(type=PROGRESSING, status=TRUE, reason=_NEW_AVAILABLE, message=message)
    if _has_progressed(before, after):
        message = f'ReplicaSet "{replica_set}" is progressing.'
        return Condition(type=PROGRESSING, status=TRUE, reason="ReplicaSetUpdated", message=message)
    return None


def with_failure_of(replica_sets: Sequence[ReplicaSet], conditions: Sequence[Condition]) -> list[Condition]:
    """The conditions with the first ReplicaSet's that says that pods cannot be created or deleted."""
    # Upstream: pkg/controller/deployment/progress.go getReplicaFailures (v1.36).
    failures = (find_condition(each.status.conditions, REPLICA_FAILURE) for each in replica_sets)
    failure = next(filter(None, failures), None)
    if failure is not None:
        return put_last(conditions, failure, failure.last_transition_time or "")
    return [condition for condition in conditions if condition.type != REPLICA_FAILURE]


def _has_progressed(before: ScaleStatus, after: ScaleStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def put_last(conditions: Sequence[Condition], wanted: Condition, time: str) -> list[Condition]:
    """The conditions with this one behind the others, unless it stands already, whatever its message."""
    standing = find_condition(conditions, wanted.type)
    if standing is not None and (standing.status, standing.reason) == (wanted.status, wanted.reason):
        is_said = wanted.type == "Available" or standing.message == wanted.message
        if is_said:
            return [*conditions]
    since = standing.last_transition_time if standing is not None and standing.status == wanted.status else time
    others = [condition for condition in conditions if condition.type != wanted.type]
    return [*others, replace(wanted, last_transition_time=since)]
