"""Strategic merge patches of the status of a pod or a group: what differs between what is known and what is to be.

Takes the object before and after; gives the body of a PATCH as kube-scheduler writes it. Reads and writes nothing.
Upstream: pkg/scheduler/util/utils.go PatchPodStatus (v1.36), PatchPodGroupStatus (v1.37).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bayplan.model.conditions import find_condition
from bayplan.model.groups import PodGroup
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod, PodStatus


def status_patch(before: Pod | PodGroup, after: Pod | PodGroup) -> bytes:
    """What differs in conditions, and of a pod in nomination and the claim for extended resources."""
    old, new = before.status, after.status
    # Conditions of pods are older than those of other kinds.
    first = {"lastProbeTime": None} if isinstance(new, PodStatus) else {}
    status = _changed_conditions(old.conditions, new.conditions, first)
    if isinstance(old, PodStatus) and isinstance(new, PodStatus):
        status |= _changed_fields(old, new)
    return msgspec.json.encode({"status": status})


def _changed_conditions(old: Sequence[Condition], new: Sequence[Condition], first: dict[str, Any]) -> dict[str, Any]:
    """`first` is what a new condition begins with."""
    changed = [_difference(find_condition(old, wanted.type), wanted, first) for wanted in new]
    if not any(changed):
        return {}
    order = {"$setElementOrder/conditions": [{"type": condition.type} for condition in new]} if old else {}
    return {**order, "conditions": [fields for fields in changed if fields]}


def _changed_fields(old: PodStatus, new: PodStatus) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if new.extended_resource_claim_status != old.extended_resource_claim_status:
        status["extendedResourceClaimStatus"] = msgspec.to_builtins(new.extended_resource_claim_status)
    if new.nominated_node_name != old.nominated_node_name:
        status["nominatedNodeName"] = new.nominated_node_name or None
    return status


def _difference(standing: Condition | None, wanted: Condition, first: dict[str, Any]) -> dict[str, Any]:
    """The fields that differ, and the type, by which the server finds the condition; all of a new one."""
    if standing is wanted:
        return {}
    fields = _fields(wanted)
    if standing is None:
        return {**first, **fields}
    known = _fields(standing)
    changed = {name: value for name, value in fields.items() if name == "type" or value != known.get(name)}
    return changed if len(changed) > 1 else {}


def _fields(condition: Condition) -> dict[str, Any]:
    """In the order in which they are written."""
    fields = {
        "lastTransitionTime": condition.last_transition_time,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
        "reason": condition.reason,
        "status": condition.status,
        "type": condition.type,
    }
    if not condition.observed_generation:
        del fields["observedGeneration"]
    return fields
