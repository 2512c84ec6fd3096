"""Strategic merge patches of a pod's status: the difference between what is known of the pod and what it is to be.

Takes the pod as it was last seen; gives the body of a PATCH as kube-scheduler writes it, or None where nothing would
change. Reads and writes nothing. Upstream: pkg/scheduler/util/utils.go PatchPodStatus (v1.36).
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.core.actions import Evict, SetCondition
from bayplan.model.conditions import FALSE, TRUE, find_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DISRUPTION_TARGET, POD_SCHEDULED


def failure_patch(pod: Pod, action: SetCondition, now: int) -> bytes | None:
    """PodScheduled=False and, if the action has one, the nomination."""
    condition = _wanted(pod, POD_SCHEDULED, FALSE, action.reason, action.message, now)
    return _patch(pod, condition, action.nominated_node)


def nomination_patch(pod: Pod, node: str) -> bytes | None:
    """The node that the pod waits for; "" takes it back."""
    return _patch(pod, None, node)


def victim_patch(pod: Pod, action: Evict, now: int) -> bytes | None:
    """The condition of a pod that is about to be deleted."""
    reason, message = action.condition_reason, action.condition_message
    return _patch(pod, _wanted(pod, DISRUPTION_TARGET, TRUE, reason, message, now), None)


def _wanted(pod: Pod, kind: str, status: str, reason: str, message: str, now: int) -> dict[str, Any]:
    """The condition as it is to be, its fields in the order in which they are written."""
    standing = find_condition(pod.status.conditions, kind)
    since = format_time(now)
    if standing is not None and standing.status == status and standing.last_transition_time:
        since = standing.last_transition_time
    wanted = {
        "lastProbeTime": None,
        "lastTransitionTime": since,
        "message": message,
        "observedGeneration": pod.metadata.generation,
        "reason": reason,
        "status": status,
        "type": kind,
    }
    if not pod.metadata.generation:
        del wanted["observedGeneration"]
    return wanted


def _patch(pod: Pod, wanted: dict[str, Any] | None, nominated: str | None) -> bytes | None:
    conditions = pod.status.conditions
    standing = find_condition(conditions, wanted["type"]) if wanted is not None else None
    moves = nominated is not None and nominated != pod.status.nominated_node_name
    if not moves and (wanted is None or _is_equal(standing, wanted)):
        return None
    status: dict[str, Any] = {}
    if wanted is not None:
        changed = wanted if standing is None else _difference(standing, wanted)
        if changed:
            if conditions:
                types = [condition.type for condition in conditions]
                status["$setElementOrder/conditions"] = [
                    {"type": kind} for kind in (types if standing is not None else [*types, wanted["type"]])
                ]
            status["conditions"] = [changed]
    if moves:
        status["nominatedNodeName"] = nominated or None
    return msgspec.json.encode({"status": status})


def _is_equal(standing: Condition | None, wanted: dict[str, Any]) -> bool:
    """Whether there is nothing to say; a generation that was not observed yet alone is not worth a request."""
    return standing is not None and (standing.status, standing.reason, standing.message) == (
        wanted["status"],
        wanted["reason"],
        wanted["message"],
    )


def _difference(standing: Condition, wanted: dict[str, Any]) -> dict[str, Any]:
    """The fields that differ, and the type, by which the server finds the condition."""
    known = {
        "lastProbeTime": None,
        "lastTransitionTime": standing.last_transition_time,
        "message": standing.message,
        "observedGeneration": standing.observed_generation,
        "reason": standing.reason,
        "status": standing.status,
    }
    changed = {field: value for field, value in wanted.items() if field != "type" and value != known[field]}
    return {**changed, "type": standing.type} if changed else {}
