"""Pods bound, marked, nominated and evicted, as kube-scheduler does it.

Takes an action and the pod as it is known; yields requests. Upstream: pkg/scheduler/util/utils.go PatchPodStatus,
pkg/scheduler/framework/preemption/executor.go, plugins/defaultbinder/default_binder.go (v1.36).
"""

from __future__ import annotations

from bayplan.core.actions import Bind, ClearNomination, Emit, Evict, Nominate, SetCondition, preempted
from bayplan.model.conditions import FALSE, TRUE, find_condition, with_pod_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DISRUPTION_TARGET, POD_SCHEDULED
from bayplan.performing.requests import (
    CONFLICT,
    NOT_FOUND,
    Delete,
    Known,
    PatchStatus,
    PostBinding,
    RefusedError,
    Steps,
    find,
)


def bind(action: Bind) -> Steps[None]:
    """Give the pod its node. That it is there already counts: an earlier request, whose answer was lost, did it."""
    try:
        yield PostBinding(action.pod, action.uid, action.node)
    except RefusedError as error:
        if error.status != CONFLICT:
            raise
        stored = yield from _find_pod(action.pod)
        if stored is None or stored.metadata.uid != action.uid or stored.spec.node_name != action.node:
            raise error from None


def set_condition(action: SetCondition, known: Known, now: int) -> Steps[None]:
    """PodScheduled=False, unless the pod says so already, is gone, or is another by now."""
    pod = known("Pod", action.pod)
    if isinstance(pod, Pod) and not is_idle(action, pod):
        after = _with_condition(pod, POD_SCHEDULED, FALSE, action.reason, action.message, now)
        if action.nominated_node is not None:
            after.status.nominated_node_name = action.nominated_node
        yield PatchStatus(pod, after)


def is_idle(action: SetCondition, pod: Pod | None) -> bool:
    """Whether it changes nothing."""
    if pod is None or pod.metadata.uid != action.uid:
        return True
    nominated = action.nominated_node
    return (nominated is None or nominated == pod.status.nominated_node_name) and _says(
        pod, POD_SCHEDULED, FALSE, action.reason, action.message
    )


def nominate(action: Nominate | ClearNomination, known: Known) -> Steps[None]:
    """Write the node that the pod waits for, or take it back."""
    pod, node = known("Pod", action.pod), action.node if isinstance(action, Nominate) else ""
    if isinstance(pod, Pod) and pod.status.nominated_node_name != node:
        yield PatchStatus(pod, replace(pod, status=replace(pod.status, nominated_node_name=node)))


def evict(action: Evict, known: Known, now: int) -> Steps[Emit | None]:
    """Mark the pod and delete it; what there is to say about it if it was there.

    A pod that is gone or going, or another by the same name, is as good as evicted.
    """
    pod = known("Pod", action.pod)
    if not isinstance(pod, Pod) or pod.metadata.uid != action.uid or pod.metadata.deletion_timestamp is not None:
        return None
    reason, message = action.condition_reason, action.condition_message
    try:
        if not _says(pod, DISRUPTION_TARGET, TRUE, reason, message):
            yield PatchStatus(pod, _with_condition(pod, DISRUPTION_TARGET, TRUE, reason, message, now))
        # Upstream has no precondition, and would delete another pod that has got the name in the meantime.
        yield Delete("Pod", action.pod, action.uid)
    except RefusedError as error:
        if error.status == NOT_FOUND:
            return None
        if error.status == CONFLICT:
            stored = yield from _find_pod(action.pod)
            if stored is None or stored.metadata.uid != action.uid:
                return None
        raise
    return preempted(action, action.note)


def _find_pod(key: str) -> Steps[Pod | None]:
    found = yield from find("Pod", key)
    return found if isinstance(found, Pod) else None


def _says(pod: Pod, kind: str, status: str, reason: str, message: str) -> bool:
    """Whether the condition is there; a generation that was not observed yet alone is not worth a request."""
    standing = find_condition(pod.status.conditions, kind)
    return (
        standing is not None and standing.status == status and standing.reason == reason and standing.message == message
    )


def _with_condition(pod: Pod, kind: str, status: str, reason: str, message: str, now: int) -> Pod:
    generation = pod.metadata.generation or None
    made = Condition(type=kind, status=status, reason=reason, message=message, observed_generation=generation)
    return with_pod_condition(pod, made, format_time(now))
