"""What keeps one device from one request: the first thing that does, by name.

Takes a request, a device and its pool; gives a `DeviceRefusal`, or None for a device that the request could have. What
a device is comes before who has it: a device that is not selected would be of no use if it were free. Constraints
between devices are not looked at, nor what other requests of the same pod take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from bayplan.core.columns.devices import Amounts, DeviceEntry, Inventory, SelectorFailure, slice_index
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.plugins.device_pools import DevicePool
from bayplan.core.plugins.dynamic_resources.allocation import counters_left, hindered_by
from bayplan.core.plugins.dynamic_resources.capacity import CapacityError, has_capacity
from bayplan.core.plugins.dynamic_resources.requests import RequestPlan, expressions_of
from bayplan.core.snapshot import View
from bayplan.model.quantity import parse_quantity


class ObstacleStep(IntEnum):
    """In the order in which they are looked at: the later, the nearer is the device to being usable."""

    POOL = 0
    CLASS_SELECTOR = 1
    REQUEST_SELECTOR = 2
    TAINT = 3
    IN_USE = 4
    CAPACITY = 5


@dataclass(frozen=True, slots=True)
class DeviceRefusal:
    """Why a request cannot have a device. Equal ones are told together."""

    step: ObstacleStep
    text: str
    expression: str = ""  # the CEL text, of a selector
    holders: tuple[str, ...] = field(default=(), compare=False)  # claims (namespace/name) that have the device

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"reason": self.text}
        if self.expression:
            owner = "class" if self.step is ObstacleStep.CLASS_SELECTOR else "request"
            plain["selector"] = {"of": owner, "cel": self.expression}
        return plain


def devices_of(pool: DevicePool, inventory: Inventory) -> Iterator[DeviceEntry]:
    """The devices of the pool, also of one that offers none, as it is incomplete or invalid."""
    yield from pool.entries
    if pool.is_incomplete or pool.is_invalid:
        for each in slice_index(inventory).by_pool[pool.id]:
            yield from inventory.entries_of(each)


def first_obstacle(
    request: RequestPlan, entry: DeviceEntry, pool: DevicePool, inventory: Inventory
) -> DeviceRefusal | None:
    if pool.is_incomplete or pool.is_invalid:
        return DeviceRefusal(ObstacleStep.POOL, f"its pool is {'being updated' if pool.is_incomplete else 'invalid'}")
    return (
        _unselected(request, entry, inventory)
        or _tainted(request, entry)
        or _in_use(request, entry, inventory)
        or _short(request, entry, pool, inventory)
    )


def users_of(claims: tuple[str, ...] | list[str], view: View) -> list[str]:
    """The pods (namespace/name) that use these claims; the claim itself if no pod does."""
    users = []
    for key in claims:
        namespace, _, name = key.partition("/")
        claim = view.objects.resource_claims.get((namespace, name))
        reserved = claim.status.reserved_for if claim is not None else []
        users += [f"{namespace}/{user.name}" for user in reserved] or [f"claim {key}"]
    return list(dict.fromkeys(users))


def _unselected(request: RequestPlan, entry: DeviceEntry, inventory: Inventory) -> DeviceRefusal | None:
    device_class = inventory.classes.get(request.class_name)
    of_class = expressions_of(device_class.spec.selectors) if device_class is not None else ()
    steps = (
        (ObstacleStep.CLASS_SELECTOR, f"class {request.class_name}", of_class),
        (ObstacleStep.REQUEST_SELECTOR, "request", request.selectors),
    )
    for step, owner, expressions in steps:
        for expression in expressions:
            answer = inventory.answer(expression, entry.content_id) if expression is not None else True
            if isinstance(answer, SelectorFailure):
                return DeviceRefusal(step, f"selector of {owner} fails: {answer.text}", expression or "")
            if not answer:
                return DeviceRefusal(
                    step, f"not selected by {owner}: {' '.join((expression or '').split())}", expression or ""
                )
    return None


def _tainted(request: RequestPlan, entry: DeviceEntry) -> DeviceRefusal | None:
    for taint in entry.device.taints:
        if hindered_by([taint], request.tolerations):
            value = f"={taint.value}" if taint.value else ""
            return DeviceRefusal(ObstacleStep.TAINT, f"tainted {taint.key}{value}:{taint.effect}")
    return None


def _in_use(request: RequestPlan, entry: DeviceEntry, inventory: Inventory) -> DeviceRefusal | None:
    holders = inventory.holders.get(entry.id)
    return (
        DeviceRefusal(ObstacleStep.IN_USE, "in use", holders=tuple(holders))
        if holders and not request.is_admin
        else None
    )


def _short(request: RequestPlan, entry: DeviceEntry, pool: DevicePool, inventory: Inventory) -> DeviceRefusal | None:
    """A capacity, or a counter that devices of the pool share, of which too little is left."""
    device, sharing = entry.device, tuple(share.claim for share in inventory.shares.get(entry.id, ()))
    asked, taken = request.capacity, inventory.consumed(entry.id)
    gates = inventory.gates
    try:
        if gates.dra_consumable_capacity and not has_capacity(asked, device.capacity, taken, None, gates):
            names = sorted({*device.capacity, *(asked or ())})
            short = [name for name in names if not _has(asked, entry, taken, name, gates)]
            return DeviceRefusal(ObstacleStep.CAPACITY, f"too little {' and '.join(short)} left", holders=sharing)
    except CapacityError as problem:
        return DeviceRefusal(ObstacleStep.CAPACITY, str(problem))
    left = counters_left(pool, inventory) if device.consumes_counters and not inventory.is_allocated(entry.id) else {}
    short = [
        name
        for consumed in device.consumes_counters
        for name, counter in consumed.counters.items()
        if left and left[consumed.counter_set][name] < parse_quantity(counter.value)
    ]
    if short:
        return DeviceRefusal(
            ObstacleStep.CAPACITY, f"too little {' and '.join(short)} left to share with devices in use"
        )
    return None


def _has(asked: Amounts | None, entry: DeviceEntry, taken: Amounts | None, name: str, gates: FeatureGates) -> bool:
    """Whether the device has enough of that capacity."""
    capacity = {key: value for key, value in entry.device.capacity.items() if key == name}
    return has_capacity({name: asked[name]} if asked and name in asked else None, capacity, taken, None, gates)
