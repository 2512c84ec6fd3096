"""What became of each device that a pod's claims could have had: held by whom, rejected by what, or free.

Takes the attempt's pod and view; gives plain data, claim by claim and request by request. Every device of a node counts
once, with the first thing that keeps it from the request, in the order in which the allocation looks. That says nothing
of devices that fit each other: constraints between devices, and counters they share, are told by name only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.core.columns.device_pools import Pool, PoolError, pools_of_node
from bayplan.core.columns.devices import DeviceEntry, DeviceId, Inventory
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.plugins.dynamic_resources.allocation import hindered_by
from bayplan.core.plugins.dynamic_resources.capacity import has_capacity
from bayplan.core.plugins.dynamic_resources.claims import ClaimError, claims_of
from bayplan.core.plugins.dynamic_resources.extended import UNWRITTEN, backed_resources, unwritten_claim
from bayplan.core.plugins.dynamic_resources.requests import Request, expressions_of, plan_of
from bayplan.core.snapshot import View
from bayplan.model.resource_claims import ResourceClaim

Plain = dict[str, Any]

#: Devices named for each reason at most; all are counted.
NAMED_MAX = 100
AVAILABLE = "available"


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
    seen = list(_devices_seen(view))
    return [_claim(claim, seen, inventory) for claim in claims]


def _claim(claim: ResourceClaim, seen: list[tuple[DeviceEntry, Pool]], inventory: Inventory) -> Plain:
    meta, allocation = claim.metadata, claim.status.allocation
    name = "extended resources" if meta.name == UNWRITTEN else f"{meta.namespace}/{meta.name}"
    if allocation is not None:
        return {
            "claim": name,
            "allocated": [
                {"request": result.request, "device": str(DeviceId(result.driver, result.pool, result.device))}
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


def _request(request: Request, seen: list[tuple[DeviceEntry, Pool]], inventory: Inventory) -> Plain:
    found: dict[str, Plain] = {}
    for entry, pool in seen:
        reason, holders = _first_obstacle(request, entry, pool, inventory)
        group = found.setdefault(reason, {"reason": reason, "count": 0, "devices": []})
        group["count"] += 1
        if group["count"] <= NAMED_MAX:
            group["devices"].append({"device": str(entry.id), **({"heldBy": holders} if holders else {})})
    ordered = sorted(found.values(), key=lambda group: (group["reason"] != AVAILABLE, -group["count"]))
    return {
        "request": request.full_name,
        "deviceClass": request.class_name,
        "mode": request.mode,
        "count": request.count,
        "devices": ordered,
    }


def _devices_seen(view: View) -> Iterator[tuple[DeviceEntry, Pool]]:
    """Devices that some node can see, each once."""
    known: set[DeviceId] = set()
    for row in range(view.nodes.count):
        if not view.nodes.alive[row]:
            continue
        try:
            pools = pools_of_node(view.objects.devices, view.nodes, row)
        except PoolError:
            continue
        for pool in pools:
            for entry in pool.entries:
                if entry.id not in known:
                    known.add(entry.id)
                    yield entry, pool


def _first_obstacle(request: Request, entry: DeviceEntry, pool: Pool, inventory: Inventory) -> tuple[str, list[str]]:
    """What keeps the device from the request, and which claims hold it."""
    holders = inventory.holders.get(entry.id, [])
    if holders and not request.is_admin:
        return "held by another claim", holders
    device_class = inventory.classes.get(request.class_name)
    of_class = expressions_of(device_class.spec.selectors) if device_class is not None else ()
    for owner, expressions in ((f"class {request.class_name}", of_class), ("request", request.selectors)):
        for expression in expressions:
            answer = inventory.answer(expression, entry.content_id) if expression is not None else True
            if isinstance(answer, str):
                return f"selector of {owner} fails: {answer}", []
            if not answer:
                return f"not selected by {owner}: {expression}", []
    if hindered_by(entry.device.taints, request.tolerations):
        return "has a taint that is not tolerated", []
    if not has_capacity(request.capacity, entry.device.capacity, inventory.consumed(entry.id), None):
        return "not enough capacity left", [share.claim for share in inventory.shares.get(entry.id, ())]
    counters = " (shares counters with others)" if pool.counter_sets and entry.device.consumes_counters else ""
    return AVAILABLE + counters, []
