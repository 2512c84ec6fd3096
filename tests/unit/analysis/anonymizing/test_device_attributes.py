"""Attributes that constraints compare keep their differences, and no others are left."""

from __future__ import annotations

from bayplan.analysis.anonymizing.device_attributes import AttributeValues
from bayplan.model.resource_claims import (
    Device,
    DeviceAttribute,
    DeviceConstraint,
    ResourceSlice,
    ResourceSliceSpec,
)


def kept(*devices: Device, constraint: DeviceConstraint) -> list[dict[str, DeviceAttribute]]:
    values = AttributeValues()
    values.note_constraint(constraint)
    values.learn(ResourceSlice(spec=ResourceSliceSpec(driver="gpu.acme.com", devices=list(devices))))
    return [values.attributes("gpu.acme.com", device) for device in devices]


def a_device(**attributes: DeviceAttribute) -> Device:
    return Device(attributes=attributes)


def test_only_what_is_compared_is_kept() -> None:
    device = a_device(numa=DeviceAttribute(int_value=4711), serial=DeviceAttribute(string_value="SN-1"))
    assert kept(device, constraint=DeviceConstraint(match_attribute="gpu.acme.com/numa")) == [
        {"numa": DeviceAttribute(int_value=1)}
    ]
    assert kept(device, constraint=DeviceConstraint(distinct_attribute="serial")) == [
        {"serial": DeviceAttribute(string_value="v1")}
    ]
    assert kept(device, constraint=DeviceConstraint()) == [{}]


def test_equal_values_stay_equal_and_types_stay_as_they_are() -> None:
    found = kept(
        a_device(x=DeviceAttribute(string_value="SN-1")),
        a_device(x=DeviceAttribute(version_value="4.7.11")),
        a_device(x=DeviceAttribute(string_value="SN-1")),
        a_device(x=DeviceAttribute(bool_value=False)),
        a_device(x=DeviceAttribute(string_values=["SN-1", "SN-2"], int_values=[7])),
        constraint=DeviceConstraint(match_attribute="x"),
    )
    assert [attributes["x"] for attributes in found] == [
        DeviceAttribute(string_value="v1"),
        DeviceAttribute(version_value="0.0.2"),
        DeviceAttribute(string_value="v1"),
        DeviceAttribute(bool_value=False),
        DeviceAttribute(string_values=["v1", "v4"], int_values=[3]),
    ]
