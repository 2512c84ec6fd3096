"""What became of each device that a pod's claims could have had: held by whom, rejected by what, or free.

Takes the attempt's pod and view; gives plain data, claim by claim and request by request. Every device that some node
sees counts once, with the first thing that keeps it from the request (`device_obstacles`), and the node with the most
available ones is named. Constraints between devices are only named, not checked.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from bayplan.analysis.device_obstacles import DeviceRefusal, devices_of, first_obstacle
from bayplan.core.columns.devices import DeviceEntry, DeviceId, Inventory
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.plugins.device_pools import DevicePool, PoolError, node_matches, pools_of_node
from bayplan.core.plugins.dynamic_resources.binding_conditions import status_of
from bayplan.core.plugins.dynamic_resources.claims import ClaimError, claims_of
from bayplan.core.plugins.dynamic_resources.extended import UNWRITTEN, backed_resources, unwritten_claim
from bayplan.core.plugins.dynamic_resources.requests import RequestPlan, plan_of
from bayplan.core.snapshot import View
from bayplan.model.conditions import TRUE
from bayplan.model.resource_claims import DeviceRequestAllocationResult, ResourceClaim

Plain = dict[str, Any]

#: Devices named for each reason at most; all are counted.
NAMED_MAX = 100
AVAILABLE = "available"
SHARING = f"{AVAILABLE} (shares counters with others)"


class _Seen(NamedTuple):
    """A device, and the nodes that can use it."""

    entry: DeviceEntry
    pool: DevicePool
    nodes: list[str]


def claims_report(pod: PodInfo, view: View) -> list[Plain]:
    """One entry for each claim of the pod; empty for a pod that needs no devices."""
    try:
        claims = list(claims_of(pod))
    except ClaimError:
        return []
    inventory = view.objects.devices
    resources = backed_resources(pod, inventory)
    if resources:
        claims.append(unwritten_claim(pod, inventory, resources))
    if not claims:
        return []
    seen = _devices_seen(view)
    return [_claim(claim, seen, inventory) for claim in claims]


def _claim(claim: ResourceClaim, seen: list[_Seen], inventory: Inventory) -> Plain:
    meta, allocation = claim.metadata, claim.status.allocation
    name = "extended resources" if meta.name == UNWRITTEN else f"{meta.namespace}/{meta.name}"
    if allocation is not None:
        return {
            "claim": name,
            "allocated": [
                {
                    "request": result.request,
                    "device": str(DeviceId(result.driver, result.pool, result.device)),
                    **_open_conditions(claim, result),
                }
                for result in allocation.devices.results
            ],
            "usedBy": [user.name for user in claim.status.reserved_for],
        }
    (planned,) = plan_of([claim]).claims
    return {
        "claim": name,
        "requests": [
            _request(request, seen, inventory) for alternatives in planned.requests for request in alternatives
        ],
        "constraints": [
            {"matchAttribute": c.match_attribute} if c.match_attribute else {"distinctAttribute": c.distinct_attribute}
            for c in planned.constraints
        ],
    }


def _open_conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> Plain:
    """What a pod waits for before it is bound, and what says that it waits in vain; nothing for most devices."""
    status = status_of(claim, result)
    held = {c.type for c in status.conditions if c.status == TRUE} if status is not None else set()
    waits_for = [kind for kind in result.binding_conditions if kind not in held]
    failed = [kind for kind in result.binding_failure_conditions if kind in held]
    return {**({"waitsFor": waits_for} if waits_for else {}), **({"failed": failed} if failed else {})}


def _request(request: RequestPlan, seen: list[_Seen], inventory: Inventory) -> Plain:
    found: dict[DeviceRefusal | str, Plain] = {}
    available: Counter[str] = Counter()
    for entry, pool, nodes in seen:
        obstacle = first_obstacle(request, entry, pool, inventory)
        if obstacle is None:
            available.update(nodes)
        reason = obstacle or (SHARING if pool.counter_sets and entry.device.consumes_counters else AVAILABLE)
        described = obstacle.to_dict() if obstacle is not None else {"reason": reason}
        group = found.setdefault(reason, {**described, "count": 0, "devices": []})
        group["count"] += 1
        if group["count"] <= NAMED_MAX:
            holders = obstacle.holders if obstacle is not None else ()
            group["devices"].append({"device": str(entry.id), **({"heldBy": list(holders)} if holders else {})})
    ordered = sorted(found.values(), key=lambda group: (not group["reason"].startswith(AVAILABLE), -group["count"]))
    most = [{"node": node, "devices": count} for node, count in available.most_common(1)]
    return {
        "request": request.full_name,
        "deviceClass": request.class_name,
        "mode": request.mode,
        "count": request.count,
        "devices": ordered,
        "mostAvailable": most[0] if most else None,
    }


def _devices_seen(view: View) -> list[_Seen]:
    """Devices that some node can see, each once."""
    known: dict[DeviceId, _Seen] = {}
    for row in range(view.nodes.count):
        if not view.nodes.alive[row]:
            continue
        try:
            for pool in pools_of_node(view.objects.devices, view.nodes, row):
                for entry in devices_of(pool, view.objects.devices):
                    seen = known.setdefault(entry.id, _Seen(entry, pool, []))
                    if not entry.slice.spec.per_device_node_selection or node_matches(entry.device, view.nodes, row):
                        seen.nodes.append(view.nodes.names[row])
        except PoolError:
            continue
    return list(known.values())
