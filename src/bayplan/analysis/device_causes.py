"""Why nodes cannot give a pod its devices: which request of which claim, and what keeps which devices from it.

Takes what DynamicResources found out about the pod and the rows it rejected. Each request is tried by itself, to find
the one that fails; if all could be met alone, they cannot be met together. Nodes on which the same things stand in the
way of the same request are one cause, and the node that comes closest is described: its devices, by obstacle, the ones
that are nearest to being usable first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from bayplan.analysis.device_obstacles import DeviceRefusal, devices_of, first_obstacle, users_of
from bayplan.analysis.written import written_terms
from bayplan.core.columns import RowArray
from bayplan.core.columns.devices import DeviceEntry, DeviceId
from bayplan.core.plugins.device_pools import PoolError, node_matches, pools_of_node
from bayplan.core.plugins.dynamic_resources.extended import UNWRITTEN
from bayplan.core.plugins.dynamic_resources.findings import CANNOT_ALLOCATE, FITS, INVALID_POOLS, findings_of
from bayplan.core.plugins.dynamic_resources.requests import ClaimPlan, Plan, RequestPlan, plan_of
from bayplan.core.plugins.dynamic_resources.state import CLAIM_BITS, NOT_AVAILABLE, DeviceState
from bayplan.core.snapshot import View
from bayplan.model.resource_claims import ALL_DEVICES, DeviceConstraint, ResourceClaim

_USERS, _DEVICES, _EXPRESSION_MAX = 2, 2, 100


class DeviceCause(NamedTuple):
    """A cause in words, the rows it is true of, and what the words are made of."""

    text: str
    rows: list[int]
    requests: list[dict[str, Any]]


class _Demand(NamedTuple):
    """A request of a claim: one alternative, or several of which the first available counts."""

    claim: ClaimPlan
    alternatives: tuple[RequestPlan, ...]


@dataclass(slots=True)
class _Offer:
    """What one node has for one request."""

    available: int
    obstacles: dict[DeviceRefusal, list[tuple[DeviceEntry, DeviceRefusal]]]

    @property
    def device_count(self) -> int:
        return self.available + sum(map(len, self.obstacles.values()))


def device_causes(view: View, state: DeviceState, code: int, rows: RowArray) -> list[DeviceCause]:
    """The rows that DynamicResources rejected with that code, by cause; nothing where its message says it all."""
    if code & NOT_AVAILABLE:
        names = [_allocated(claim) for place, claim in enumerate(state.claims) if code >> CLAIM_BITS >> place & 1]
        return [DeviceCause("; ".join(names), rows.tolist(), [])]
    if code not in (CANNOT_ALLOCATE, INVALID_POOLS):
        return []
    found: list[DeviceCause] = []
    for group in state.groups:
        of_group = rows if group.mask is None else rows[group.mask[rows]]
        found += _Allocating(view, group.plan).causes(of_group)
    return found


class _Allocating:
    """Claims that need devices, on nodes that cannot serve all of them."""

    def __init__(self, view: View, plan: Plan) -> None:
        self._view = view
        self._plan = plan
        self._demands = [_Demand(claim, alternatives) for claim in plan.claims for alternatives in claim.requests]

    def causes(self, rows: RowArray) -> Iterator[DeviceCause]:
        left = rows
        for demand in self._demands:
            fails = self._codes_alone(demand, left) != FITS
            yield from self._by_obstacles(demand, left[fails])
            left = left[~fails]
        if len(left):
            yield DeviceCause(self._together(), left.tolist(), [])

    def _codes_alone(self, demand: _Demand, rows: RowArray) -> RowArray:
        inventory, nodes = self._view.objects.devices, self._view.nodes
        plan = plan_of([_only(demand)])
        found = findings_of(inventory, nodes, plan)
        found.look(inventory, nodes, plan, rows)
        return found.codes[rows]

    def _by_obstacles(self, demand: _Demand, rows: RowArray) -> Iterator[DeviceCause]:
        grouped: defaultdict[tuple[Any, ...], list[tuple[int, list[_Offer]]]] = defaultdict(list)
        for row in rows.tolist():
            offers = [self._offer(request, row) for request in demand.alternatives]
            enough = tuple(_is_enough(*each) for each in zip(demand.alternatives, offers, strict=True))
            grouped[(enough, *(frozenset(offer.obstacles) for offer in offers))].append((row, offers))
        for group in grouped.values():
            best, offers = max(group, key=_closeness)
            requests = [
                self._described(demand.claim, request, offer, self._view.nodes.names[best])
                for request, offer in zip(demand.alternatives, offers, strict=True)
            ]
            text = "; or ".join(_request_text(each, demand.claim.constraints) for each in requests)
            yield DeviceCause(f"{_claim_name(demand.claim.claim)}, {text}", [row for row, _ in group], requests)

    def _offer(self, request: RequestPlan, row: int) -> _Offer:
        inventory, nodes = self._view.objects.devices, self._view.nodes
        offer = _Offer(0, {})
        try:
            for pool in pools_of_node(inventory, nodes, row):
                for entry in devices_of(pool, inventory):
                    if entry.slice.spec.per_device_node_selection and not node_matches(entry.device, nodes, row):
                        continue
                    obstacle = first_obstacle(request, entry, pool, inventory)
                    if obstacle is None:
                        offer.available += 1
                    else:
                        offer.obstacles.setdefault(obstacle, []).append((entry, obstacle))
        except PoolError:
            pass  # the attempt ends in an error, which says so
        return offer

    def _described(self, claim: ClaimPlan, request: RequestPlan, offer: _Offer, node: str) -> dict[str, Any]:
        obstacles = sorted(offer.obstacles.items(), key=lambda each: (-each[0].step, -len(each[1])))
        return {
            "claim": _claim_name(claim.claim).removeprefix("claim "),
            "request": request.full_name,
            "deviceClass": request.class_name,
            "mode": request.mode,
            "count": request.count,
            "node": node,
            "available": offer.available,
            "obstacles": [self._obstacle(obstacle, devices) for obstacle, devices in obstacles],
        }

    def _obstacle(
        self, obstacle: DeviceRefusal, devices: Sequence[tuple[DeviceEntry, DeviceRefusal]]
    ) -> dict[str, Any]:
        claims = list(dict.fromkeys(holder for _, each in devices for holder in each.holders))
        return {
            **obstacle.to_dict(),
            "count": len(devices),
            "devices": [entry.id.device for entry, _ in devices],
            **({"claims": claims, "usedBy": users_of(claims, self._view)} if claims else {}),
        }

    def _together(self) -> str:
        """All requests could be met, but not all of them at the same time."""
        names = " and ".join(_claim_name(claim.claim) for claim in self._plan.claims)
        rules = [rule for claim in self._plan.claims for rule in map(_constraint_text, claim.constraints)]
        devices = sum(request.count for _, (request, *_) in self._demands)
        why = f" ({'; '.join(rules)})" if rules else f" ({devices:,} devices)" if devices else ""
        return f"{names}: each request could be met alone, but not all of them together{why}"


def _closeness(candidate: tuple[int, list[_Offer]]) -> tuple[int, int, int]:
    row, offers = candidate
    return max(offer.available for offer in offers), max(offer.device_count for offer in offers), -row


def _is_enough(request: RequestPlan, offer: _Offer) -> bool:
    return request.mode != ALL_DEVICES and offer.available >= request.count


def _only(demand: _Demand) -> ResourceClaim:
    """The claim with only that request."""
    claim = copy(demand.claim.claim)
    claim.spec = copy(claim.spec)
    claim.spec.devices = copy(claim.spec.devices)
    name = demand.alternatives[0].base_name
    claim.spec.devices.requests = [each for each in claim.spec.devices.requests if each.name == name]
    return claim


# ---------------------------------------------------------------- words


def _claim_name(claim: ResourceClaim) -> str:
    meta = claim.metadata
    return "extended resources" if meta.name == UNWRITTEN else f"claim {meta.namespace}/{meta.name}"


def _request_text(request: dict[str, Any], constraints: Sequence[DeviceConstraint]) -> str:
    available, obstacles = request["available"], request["obstacles"]
    name = f"request {request['request']}"
    if not available and not obstacles:
        return f"{name}: these nodes have no devices"
    parts = [_obstacle_text(each) for each in obstacles]
    if request["mode"] == ALL_DEVICES:
        return f"{name} wants all devices of {request['node']}: {'; '.join(parts)}"
    wanted = f"{request['node']} has {available:,} of {request['count']:,}"
    if available >= request["count"]:
        parts = list(map(_constraint_text, constraints)) or parts
        return f"{name}: {wanted}, but they do not go together: {'; '.join(parts)}"
    return f"{name}: {wanted}: {'; '.join(parts)}"


def _obstacle_text(obstacle: dict[str, Any]) -> str:
    text = obstacle["reason"]
    expression = " ".join(obstacle.get("selector", {}).get("cel", "").split())
    if len(expression) > _EXPRESSION_MAX:
        text = text.replace(expression, f"{expression[: _EXPRESSION_MAX - 1]}…")
    if "usedBy" in obstacle:
        text += f" by {_some(obstacle['usedBy'], _USERS)}"
    return f"{obstacle['count']:,} {text} ({_some(obstacle['devices'], _DEVICES)})"


def _some(names: Sequence[str], at_most: int) -> str:
    more = len(names) - at_most
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:at_most])}, +{more:,}"


def _constraint_text(constraint: DeviceConstraint) -> str:
    if constraint.match_attribute:
        return f"all must have the same {constraint.match_attribute}"
    return f"all must differ in {constraint.distinct_attribute}"


def _allocated(claim: ResourceClaim) -> str:
    """A claim whose devices are of no use on these nodes."""
    allocation = claim.status.allocation
    assert allocation is not None
    devices = [str(DeviceId(each.driver, each.pool, each.device)) for each in allocation.devices.results]
    where = written_terms(allocation.node_selector.node_selector_terms) if allocation.node_selector else ""
    rest = f", usable only where {where}" if where else ", which will not become ready"
    return f"{_claim_name(claim)} has {_some(devices, _DEVICES)}{rest}"
