"""Status conditions: reading one by its type and writing one as Kubernetes' controllers do.

Takes lists of conditions as stored and gives new lists: what is stored is never changed in place. The time of the
last transition moves only when the status does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.well_known import READY

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
REPLICA_FAILURE = "ReplicaFailure"
"""Of a workload some of whose pods cannot be created or deleted."""


def find_condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The first condition of the type."""
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def with_condition(conditions: Sequence[Condition], wanted: Condition, time: str) -> list[Condition]:
    """The conditions with this one in the place of its namesake, or behind the others."""
    standing = find_condition(conditions, wanted.type)
    if standing is None:
        return [*conditions, replace(wanted, last_transition_time=time)]
    since = standing.last_transition_time if standing.status == wanted.status else time
    dated = replace(wanted, last_transition_time=since)
    return [dated if condition is standing else condition for condition in conditions]


def is_condition_true(conditions: Iterable[Condition], kind: str) -> bool:
    condition = find_condition(conditions, kind)
    return condition is not None and condition.status == TRUE


def is_ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, READY)


def ready_since(pod: Pod) -> str | None:
    """When it became ready, "" if that is not known; None if it is not ready."""
    condition = find_condition(pod.status.conditions, READY)
    if condition is None or condition.status != TRUE:
        return None
    return condition.last_transition_time or ""


def with_pod_condition(pod: Pod, wanted: Condition, time: str, *, phase: str | None = None) -> Pod:
    """The pod with the condition in its status, and in another phase if one is given."""
    status = replace(pod.status, conditions=with_condition(pod.status.conditions, wanted, time))
    if phase is not None:
        status.phase = phase
    return replace(pod, status=status)
