"""How much of a shared device's capacity a request takes, and whether that much is left.

Takes what is asked for, what the device has and what others take; amounts are in nano units. The device's own policy
rounds a request up, or refuses it. Upstream: structured/internal/incubating/consumable_capacity.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.columns.devices import Amounts
from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity, whole_value
from bayplan.model.resource_claims import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity


def has_capacity(
    asked: Amounts | None, capacity: Mapping[str, DeviceCapacity], taken: Amounts | None, taking: Amounts | None
) -> bool:
    """Whether the device can give what is asked; one that does not have what is named cannot."""
    if asked and not asked.keys() <= capacity.keys():
        return False
    for name, offered in capacity.items():
        consumed = _consumed(asked.get(name) if asked else None, offered)
        if _violates(consumed, offered.request_policy):
            return False
        total = consumed + (taken or {}).get(name, 0) + (taking or {}).get(name, 0)
        if total > parse_quantity(offered.value):
            return False
    return True


def consumption(asked: Amounts | None, capacity: Mapping[str, DeviceCapacity]) -> Amounts:
    """What a claim that gets a share of the device takes of each capacity."""
    return {name: _consumed(asked.get(name) if asked else None, offered) for name, offered in capacity.items()}


def _consumed(asked: int | None, offered: DeviceCapacity) -> int:
    policy = offered.request_policy
    if asked is None:
        default = policy.default if policy is not None else None
        return parse_quantity(offered.value if default is None else default)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(asked, policy.valid_range, policy.valid_range.min)
    values = [parse_quantity(value) for value in policy.valid_values]
    return next((value for value in values if asked <= value), asked)


def _rounded_up(asked: int, bounds: CapacityRequestPolicyRange, least: RawQuantity) -> int:
    if asked < parse_quantity(least):
        return parse_quantity(least)
    if bounds.step is None:
        return asked
    start, step = whole_value(parse_quantity(least)), whole_value(parse_quantity(bounds.step))
    steps = -(-(whole_value(asked) - start) // step)
    return (start + step * steps) * NANO_PER_UNIT


def _violates(consumed: int, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and consumed == parse_quantity(policy.default)):
        return False
    bounds = policy.valid_range
    if bounds is not None:
        if bounds.max is not None and consumed > parse_quantity(bounds.max):
            return True
        if bounds.step is None:
            return False
        start = whole_value(parse_quantity(bounds.min)) if bounds.min is not None else 0
        return (whole_value(consumed) - start) % whole_value(parse_quantity(bounds.step)) != 0
    if policy.valid_values:
        return all(consumed != parse_quantity(value) for value in policy.valid_values)
    return False
