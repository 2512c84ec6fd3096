"""Rows of volumes, claims, storage classes and CSI drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.admission.defaults import DEFAULT_CLASS_ANNOTATIONS
from bayplan.apiserver.tables.ages import age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, boolean, integer, wide
from bayplan.apiserver.tables.wording import NONE, UNSET, quantity_text
from bayplan.model.well_known import BETA_STORAGE_CLASS

_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _volume_cells(volume: Document, now: int) -> Cells:
    spec, status = volume.get("spec") or {}, volume.get("status") or {}
    claim = spec.get("claimRef")
    return [
        volume["metadata"].get("name", ""),
        quantity_text(spec.get("capacity"), "storage"),
        _access_modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
        _class_name(volume),
        _or_unset(spec, "volumeAttributesClassName"),
        status.get("reason", ""),
        age(volume, now),
        _or_unset(spec, "volumeMode"),
    ]


def _claim_cells(claim: Document, now: int) -> Cells:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    volume = spec.get("volumeName", "")
    return [
        claim["metadata"].get("name", ""),
        _phase(claim),
        volume,
        quantity_text(status.get("capacity"), "storage") if volume else "",
        _access_modes(status) if volume else "",
        _class_name(claim),
        _or_unset(spec, "volumeAttributesClassName"),
        age(claim, now),
        _or_unset(spec, "volumeMode"),
    ]


def _phase(document: Document) -> str:
    if document["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str((document.get("status") or {}).get("phase", ""))


def _access_modes(part: Mapping[str, Any]) -> str:
    modes = part.get("accessModes") or ()
    return ",".join(short for mode, short in _SHORT_MODES.items() if mode in modes)


def _class_name(document: Document) -> str:
    annotations = document["metadata"].get("annotations") or {}
    if BETA_STORAGE_CLASS in annotations:
        return str(annotations[BETA_STORAGE_CLASS])
    return str((document.get("spec") or {}).get("storageClassName") or "")


def _or_unset(part: Mapping[str, Any], field: str) -> str:
    return UNSET if part.get(field) is None else str(part[field])


def _storage_class_cells(storage_class: Document, now: int) -> Cells:
    metadata = storage_class["metadata"]
    annotations = metadata.get("annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in DEFAULT_CLASS_ANNOTATIONS)
    return [
        f"{metadata.get('name', '')} (default)" if is_default else metadata.get("name", ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy") or "Delete",
        storage_class.get("volumeBindingMode") or "Immediate",
        bool(storage_class.get("allowVolumeExpansion")),
        age(storage_class, now),
    ]


def _attributes_class_cells(attributes_class: Document, now: int) -> Cells:
    name = attributes_class["metadata"].get("name", "")
    return [name, attributes_class.get("driverName", ""), age(attributes_class, now)]


def _attachment_cells(attachment: Document, now: int) -> Cells:
    spec, status = attachment.get("spec") or {}, attachment.get("status") or {}
    return [
        attachment["metadata"].get("name", ""),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        status.get("attached", False),
        age(attachment, now),
    ]


def _csi_node_cells(csi_node: Document, now: int) -> Cells:
    drivers = (csi_node.get("spec") or {}).get("drivers") or ()
    return [csi_node["metadata"].get("name", ""), len(drivers), age(csi_node, now)]


def _csi_driver_cells(driver: Document, now: int) -> Cells:
    spec = driver.get("spec") or {}
    requests = spec.get("tokenRequests")
    return [
        driver["metadata"].get("name", ""),
        spec.get("attachRequired") is not False,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if requests is None else ",".join(request.get("audience", "") for request in requests),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(driver, now),
    ]


PERSISTENT_VOLUMES = Printer(
    (
        NAME,
        Column("Capacity", "Size of the volume."),
        Column("Access Modes", "How nodes may mount the volume."),
        Column("Reclaim Policy", "What becomes of the volume once its claim is gone."),
        Column("Status", "State of the volume."),
        Column("Claim", "Claim that the volume is bound to."),
        Column("StorageClass", "Storage class of the volume."),
        Column("VolumeAttributesClass", "Class of the volume's attributes."),
        Column("Reason", "Why the volume is in its state."),
        AGE,
        wide("VolumeMode", "Whether the volume is a file system or a block device."),
    ),
    _volume_cells,
)
PERSISTENT_VOLUME_CLAIMS = Printer(
    (
        NAME,
        Column("Status", "State of the claim."),
        Column("Volume", "Volume that the claim is bound to."),
        Column("Capacity", "Size of the bound volume."),
        Column("Access Modes", "How nodes may mount the bound volume."),
        Column("StorageClass", "Storage class that is asked for."),
        Column("VolumeAttributesClass", "Class of attributes that is asked for."),
        AGE,
        wide("VolumeMode", "Whether a file system or a block device is asked for."),
    ),
    _claim_cells,
)
STORAGE_CLASSES = Printer(
    (
        NAME,
        Column("Provisioner", "Who makes volumes of the class."),
        Column("ReclaimPolicy", "What becomes of a volume once its claim is gone."),
        Column("VolumeBindingMode", "When claims are bound."),
        Column("AllowVolumeExpansion", "Whether claims may grow."),
        AGE,
    ),
    _storage_class_cells,
)
VOLUME_ATTRIBUTES_CLASSES = Printer(
    (NAME, Column("DriverName", "Driver that the class is for."), AGE), _attributes_class_cells
)
VOLUME_ATTACHMENTS = Printer(
    (
        NAME,
        Column("Attacher", "Driver that attaches the volume.", format="name"),
        Column("PV", "Volume that is attached."),
        Column("Node", "Node that the volume is attached to."),
        boolean("Attached", "Whether the volume is attached."),
        AGE,
    ),
    _attachment_cells,
)
CSI_NODES = Printer((NAME, integer("Drivers", "How many drivers the node has."), AGE), _csi_node_cells)
CSI_DRIVERS = Printer(
    (
        NAME,
        boolean("AttachRequired", "Whether volumes have to be attached first."),
        boolean("PodInfoOnMount", "Whether the driver is told about the pod."),
        boolean("StorageCapacity", "Whether the driver publishes how much space there is."),
        Column("TokenRequests", "Audiences of the tokens that the driver gets."),
        boolean("RequiresRepublish", "Whether volumes are published again and again."),
        Column("Modes", "Kinds of volumes that the driver serves."),
        AGE,
    ),
    _csi_driver_cells,
)
