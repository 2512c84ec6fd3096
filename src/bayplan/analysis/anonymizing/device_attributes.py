"""The attributes of devices that constraints compare, with other values; all others, serial numbers included, go.

Constraints ask only whether values are equal, so each distinct value becomes a number, text such as `v7` or a version.
Selectors do not need attributes any more: see `verdicts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.model.resource_claims import Device, DeviceAttribute, DeviceConstraint, ResourceSlice


class AttributeValues:
    """What is compared in a cluster, and the numbers of all its values."""

    def __init__(self) -> None:
        self._compared: set[str] = set()
        self._numbers: dict[Any, int] = {}

    def note_constraint(self, constraint: DeviceConstraint) -> None:
        self._compared |= {name for name in (constraint.match_attribute, constraint.distinct_attribute) if name}

    def learn(self, resource_slice: ResourceSlice) -> None:
        """Numbers the values of a slice; all constraints must have been noted."""
        for device in resource_slice.spec.devices:
            for _, attribute in self._kept(resource_slice.spec.driver, device):
                for value in _values(attribute):
                    self._numbers.setdefault(value, len(self._numbers) + 1)

    def attributes(self, driver: str, device: Device) -> dict[str, DeviceAttribute]:
        """Those that are compared, under their old names."""
        return {name: self._new(attribute) for name, attribute in self._kept(driver, device)}

    def _kept(self, driver: str, device: Device) -> Iterator[tuple[str, DeviceAttribute]]:
        for name, attribute in device.attributes.items():
            if name in self._compared or f"{driver}/{name}" in self._compared:
                yield name, attribute

    def _new(self, old: DeviceAttribute) -> DeviceAttribute:
        def number(value: Any) -> int:
            return self._numbers[value]

        def text(value: Any) -> str:
            return f"v{number(value)}"

        def version(value: Any) -> str:
            return f"0.0.{number(value)}"

        changes: dict[str, Any] = {"bool_value": old.bool_value, "bool_values": old.bool_values}
        for kind, new in (("int", number), ("string", text), ("version", version)):
            single, several = getattr(old, f"{kind}_value"), getattr(old, f"{kind}_values")
            changes[f"{kind}_value"] = None if single is None else new(single)
            changes[f"{kind}_values"] = None if several is None else [new(value) for value in several]
        return DeviceAttribute(**changes)


def _values(attribute: DeviceAttribute) -> Iterator[Any]:
    for single in (attribute.int_value, attribute.string_value, attribute.version_value):
        if single is not None:
            yield single
    for several in (attribute.int_values, attribute.string_values, attribute.version_values):
        yield from several or ()
