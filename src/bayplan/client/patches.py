"""Strategic merge patches of a pod's status: the difference between what is known of the pod and what it is to be.

Takes the pod before and after; gives the body of a PATCH as kube-scheduler writes it. Reads and writes nothing.
Upstream: pkg/scheduler/util/utils.go PatchPodStatus (v1.36).
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.model.conditions import find_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod


def status_patch(before: Pod, after: Pod) -> bytes:
    """What differs in conditions, nomination and the claim for extended resources."""
    old, new = before.status, after.status
    status: dict[str, Any] = {}
    changed = [_difference(find_condition(old.conditions, wanted.type), wanted) for wanted in new.conditions]
    if any(changed):
        if old.conditions:
            status["$setElementOrder/conditions"] = [{"type": condition.type} for condition in new.conditions]
        status["conditions"] = [fields for fields in changed if fields]
    if new.extended_resource_claim_status != old.extended_resource_claim_status:
        status["extendedResourceClaimStatus"] = msgspec.to_builtins(new.extended_resource_claim_status)
    if new.nominated_node_name != old.nominated_node_name:
        status["nominatedNodeName"] = new.nominated_node_name or None
    return msgspec.json.encode({"status": status})


def _difference(standing: Condition | None, wanted: Condition) -> dict[str, Any]:
    """The fields that differ, and the type, by which the server finds the condition; all of a new one."""
    if standing is wanted:
        return {}
    fields = _fields(wanted)
    if standing is None:
        return {"lastProbeTime": None, **fields}
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
