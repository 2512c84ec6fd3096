"""Constraints between the devices of one claim: all share an attribute's value, or all differ in it.

A constraint is told of every device as it is taken and given back, and refuses those that do not fit. Up to v1.36
upstream remembers, for "all differ", one value for each request rather than for each device.
Upstream: structured/internal/incubating/constraint.go (v1.36).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

from bayplan.core.columns.devices import DeviceEntry
from bayplan.core.plugins.dynamic_resources.requests import RequestPlan
from bayplan.core.release import Release
from bayplan.model.resource_claims import DeviceAttribute, DeviceConstraint

Value: TypeAlias = tuple[str, object]


class Constraint(ABC):
    """What one attribute has to be like on all devices of some requests."""

    def __init__(self, requests: frozenset[str], attribute: str) -> None:
        self._requests = requests
        self._attribute = attribute
        self._count = 0

    def add(self, request: RequestPlan, entry: DeviceEntry) -> bool:
        """Take the device in, or refuse it; the first one is always welcome if it has the attribute."""
        if not self._concerns(request):
            return True
        attribute = attribute_of(entry, self._attribute)
        if attribute is None:
            return False
        value = _value(attribute)
        if self._count and not self._accepts(value):
            return False
        self._remember(request, value)
        self._count += 1
        return True

    def remove(self, request: RequestPlan) -> None:
        """The device taken in last goes out again."""
        if self._concerns(request):
            self._forget(request)
            self._count -= 1

    def _concerns(self, request: RequestPlan) -> bool:
        requests = self._requests
        return not requests or request.base_name in requests or request.full_name in requests

    @abstractmethod
    def _accepts(self, value: Value | None) -> bool:
        """Whether a further device may have this value; None is one of a type that cannot be compared."""

    @abstractmethod
    def _remember(self, request: RequestPlan, value: Value | None) -> None:
        """A device with the value was taken in."""

    @abstractmethod
    def _forget(self, request: RequestPlan) -> None:
        """The last device of the request went out."""


class MatchAttribute(Constraint):
    """All devices have the same value; the first one sets it."""

    def __init__(self, requests: frozenset[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._value: Value | None = None

    def _accepts(self, value: Value | None) -> bool:
        return value is not None and value == self._value

    def _remember(self, request: RequestPlan, value: Value | None) -> None:  # noqa: ARG002
        self._value = value

    def _forget(self, request: RequestPlan) -> None:
        pass  # the next device is compared with one that is still there, or sets the value itself


class DistinctAttribute(Constraint):
    """No two devices have the same value."""

    def __init__(self, requests: frozenset[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, Value | None] = {}

    def _accepts(self, value: Value | None) -> bool:
        return not self._values or (value is not None and value not in self._values.values())

    def _remember(self, request: RequestPlan, value: Value | None) -> None:
        self._values[request.base_name] = value

    def _forget(self, request: RequestPlan) -> None:
        self._values.pop(request.base_name, None)


class DistinctDevices(Constraint):
    """No two devices have the same value, nor those of one request (since v1.37)."""

    def __init__(self, requests: frozenset[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: list[Value | None] = []

    def _accepts(self, value: Value | None) -> bool:
        return value is not None and value not in self._values

    def _remember(self, request: RequestPlan, value: Value | None) -> None:  # noqa: ARG002
        self._values.append(value)

    def _forget(self, request: RequestPlan) -> None:  # noqa: ARG002
        self._values.pop()


def constraint_of(written: DeviceConstraint, release: Release, *, knows_distinct: bool = True) -> Constraint | None:
    """None for a constraint of an unknown type."""
    requests = frozenset(written.requests)
    if written.match_attribute is not None:
        return MatchAttribute(requests, written.match_attribute)
    if written.distinct_attribute is not None and knows_distinct:
        distinct = DistinctDevices if release.devices_of_a_request_differ else DistinctAttribute
        return distinct(requests, written.distinct_attribute)
    return None


def attribute_of(entry: DeviceEntry, name: str) -> DeviceAttribute | None:
    """By its full name or, for attributes of the device's own driver, by the part after the slash."""
    attributes = entry.device.attributes
    if name in attributes:
        return attributes[name]
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == entry.id.driver else None


def _value(attribute: DeviceAttribute) -> Value | None:
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    return None if attribute.version_value is None else ("version", attribute.version_value)
