"""DeviceClass and ResourceSlice."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.devices import check_device_class, check_slice
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_ONLY, SelectableFields, fields
from bayplan.apiserver.tables.devices import DEVICE_CLASSES, RESOURCE_SLICES

DEVICE_CLASS = Kind(
    "resource.k8s.io/v1",
    "DeviceClass",
    check=check_device_class,
    watched=("spec",),
    printer=DEVICE_CLASSES,
)
RESOURCE_SLICE = Kind(
    "resource.k8s.io/v1",
    "ResourceSlice",
    check=check_slice,
    watched=("spec",),
    printer=RESOURCE_SLICES,
    selectable=SelectableFields(
        {**NAME_ONLY, **fields("spec.nodeName", "spec.driver")},
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}",
    ),
)
