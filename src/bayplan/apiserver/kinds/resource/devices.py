"""DeviceClass, ResourceSlice and, from v1.37 on, DeviceTaintRule."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.devices import (
    check_device_class,
    check_slice,
    check_slice_update,
    check_taint_rule,
)
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_ONLY, SelectableFields, fields
from bayplan.apiserver.tables.devices import DEVICE_CLASSES, DEVICE_TAINT_RULES, RESOURCE_SLICES
from bayplan.model.timestamps import format_time


def _time_taints(resource_slice: Document, now: int) -> None:
    for device in resource_slice["spec"].get("devices", ()):
        for taint in device.get("taints", ()):
            taint.setdefault("timeAdded", format_time(now))


def _keep_times(new: Document, old: Document) -> None:
    """Taints that were there before have been there since then."""
    known = {
        (device["name"], taint["key"], taint.get("value"), taint["effect"]): taint.get("timeAdded")
        for device in old["spec"].get("devices", ())
        for taint in device.get("taints", ())
    }
    for device in new["spec"].get("devices", ()):
        for taint in device.get("taints", ()):
            since = known.get((device["name"], taint["key"], taint.get("value"), taint["effect"]))
            if since is not None:
                taint.setdefault("timeAdded", since)


def _time_rule(rule: Document, now: int) -> None:
    rule["spec"]["taint"].setdefault("timeAdded", format_time(now))


def _keep_time_of_rule(new: Document, old: Document) -> None:
    """A taint that is changed has been there since then, which whoever writes it leaves to the server."""
    before, after = old["spec"]["taint"], new["spec"]["taint"]
    if before.get("timeAdded") and all(before.get(part) == after.get(part) for part in ("key", "value", "effect")):
        after.setdefault("timeAdded", before["timeAdded"])


DEVICE_TAINT_RULE = Kind(
    "resource.k8s.io/v1",
    "DeviceTaintRule",
    on_create=_time_rule,
    on_update=_keep_time_of_rule,
    check=check_taint_rule,
    watched=("spec",),
    printer=DEVICE_TAINT_RULES,
)
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
    on_create=_time_taints,
    on_update=_keep_times,
    check=check_slice,
    check_update=check_slice_update,
    watched=("spec",),
    printer=RESOURCE_SLICES,
    selectable=SelectableFields(
        {**NAME_ONLY, **fields("spec.nodeName", "spec.driver")},
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}",
    ),
)
