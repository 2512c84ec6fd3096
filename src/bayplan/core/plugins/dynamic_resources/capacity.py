"""How much of a shared device's capacity a request takes, and whether that much is left.

Takes what is asked for, what the device has and what others take; amounts are in nano units. The device's own policy
rounds a request up, or refuses it. Upstream: structured/internal/incubating/consumable_capacity.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.columns.devices import Amounts
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import INT64_MAX, NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity
from bayplan.model.resource_claims import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity


class CapacityError(Exception):
    """What is asked cannot be computed with; no other device would do either."""


def has_capacity(
    asked: Amounts | None,
    capacity: Mapping[str, DeviceCapacity],
    taken: Amounts | None,
    taking: Amounts | None,
    gates: FeatureGates,
) -> bool:
    """Whether the device can give what is asked; one that does not have what is named cannot. Raises CapacityError."""
    if asked and not asked.keys() <= capacity.keys():
        return False
    amounts = consumption(asked, capacity, gates)
    for name, offered in capacity.items():
        consumed = amounts[name]
        if _violates(consumed, offered.request_policy, gates):
            return False
        total = consumed + (taken or {}).get(name, 0) + (taking or {}).get(name, 0)
        if total > parse_quantity(offered.value):
            return False
    return True


def consumption(asked: Amounts | None, capacity: Mapping[str, DeviceCapacity], gates: FeatureGates) -> Amounts:
    """What a claim that gets a share of the device takes of each capacity. Raises CapacityError."""
    return {name: _checked(name, asked.get(name) if asked else None, capacity[name], gates) for name in capacity}


def _checked(name: str, asked: int | None, offered: DeviceCapacity, gates: FeatureGates) -> int:
    try:
        consumed = _consumed(asked, offered, gates)
        if consumed < 0 and gates.release.checks_capacity:
            raise CapacityError("capacity value is negative")
    except CapacityError as problem:
        raise CapacityError(f'capacity "{name}": {problem}') from None
    return consumed


def _consumed(asked: int | None, offered: DeviceCapacity, gates: FeatureGates) -> int:
    policy = offered.request_policy
    if asked is None:
        default = policy.default if policy is not None else None
        return parse_quantity(offered.value if default is None else default)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(asked, policy.valid_range, policy.valid_range.min, gates)
    values = [parse_quantity(value) for value in policy.valid_values]
    return next((value for value in values if asked <= value), asked)


def _rounded_up(asked: int, bounds: CapacityRequestPolicyRange, least: RawQuantity, gates: FeatureGates) -> int:
    if asked < parse_quantity(least):
        return parse_quantity(least)
    if bounds.step is None:
        return asked
    unit = _unit(bounds, gates)
    start, step = _in_units(parse_quantity(least), unit), _in_units(parse_quantity(bounds.step), unit)
    wanted = _in_units(asked, unit)
    rounded = start + step * -(-(wanted - start) // step)
    if gates.release.checks_capacity:
        _check_range(asked, wanted, rounded, unit)
    return rounded * unit


def _unit(bounds: CapacityRequestPolicyRange, gates: FeatureGates) -> int:
    """What ranges are counted in: whole ones, or thousandths where the gate allows it and nothing is lost."""
    if not gates.dra_fractional_capacity_range or bounds.step is None:
        return NANO_PER_UNIT
    amounts = [parse_quantity(raw) for raw in (bounds.min, bounds.max, bounds.step) if raw is not None]
    fits = all(amount % NANO_PER_MILLI == 0 and abs(amount) <= INT64_MAX * NANO_PER_MILLI for amount in amounts)
    return NANO_PER_MILLI if fits and amounts[-1] >= NANO_PER_MILLI else NANO_PER_UNIT


def _in_units(nano: int, unit: int) -> int:
    return -(-nano // unit)


def _check_range(asked: int, wanted: int, rounded: int, unit: int) -> None:
    """Raises CapacityError for what 64 bits do not hold, and for what thousandths do not."""
    problem = ""
    if unit == NANO_PER_MILLI and (asked % unit or wanted > INT64_MAX):
        problem = f"request {_shown(asked)} is not a representable milli value"
    elif wanted > INT64_MAX:
        problem = f"request {_shown(asked)} exceeds MaxInt64"
    elif rounded > INT64_MAX:
        limit = "the milli-value range" if unit == NANO_PER_MILLI else "MaxInt64"
        problem = f"rounding request {_shown(asked)} up to the next step passes {limit}"
    if problem:
        raise CapacityError(f"capacity request cannot be represented in the device's range arithmetic: {problem}")


def _shown(nano: int) -> str:
    """Without suffixes for large amounts, which upstream writes."""
    return str(nano // NANO_PER_UNIT) if nano % NANO_PER_UNIT == 0 else f"{nano}n"


def _violates(consumed: int, policy: CapacityRequestPolicy | None, gates: FeatureGates) -> bool:
    if policy is None or (policy.default is not None and consumed == parse_quantity(policy.default)):
        return False
    bounds = policy.valid_range
    if bounds is not None:
        if bounds.max is not None and consumed > parse_quantity(bounds.max):
            return True
        if bounds.step is None:
            return False
        unit = _unit(bounds, gates)
        if unit == NANO_PER_MILLI and consumed % unit:
            return True
        start = _in_units(parse_quantity(bounds.min), unit) if bounds.min is not None else 0
        return (_in_units(consumed, unit) - start) % _in_units(parse_quantity(bounds.step), unit) != 0
    if policy.valid_values:
        return all(consumed != parse_quantity(value) for value in policy.valid_values)
    return False
