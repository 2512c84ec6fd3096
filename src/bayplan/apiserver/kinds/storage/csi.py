"""CSIDriver, CSINode, CSIStorageCapacity and VolumeAttachment."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.storage import default_csi_driver
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.storage import (
    check_csi_driver,
    check_csi_driver_update,
    check_csi_node,
    check_csi_node_update,
    check_storage_capacity,
    check_storage_capacity_update,
    check_volume_attachment,
    check_volume_attachment_update,
    warn_of_csi_driver,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.storage import CSI_DRIVERS, CSI_NODES, VOLUME_ATTACHMENTS


def _check_status(new: Document, old: Document, faults: Faults) -> None:
    """As a write to the attachment itself."""
    check_volume_attachment(new, faults)
    check_volume_attachment_update(new, old, faults)


CSI_DRIVER = Kind(
    "storage.k8s.io/v1",
    "CSIDriver",
    defaults=default_csi_driver,
    check=check_csi_driver,
    immutable=check_csi_driver_update,
    warn=warn_of_csi_driver,
    watched=("spec",),
    counted_at_creation=False,
    update_needs_version=True,
    printer=CSI_DRIVERS,
)
CSI_NODE = Kind(
    "storage.k8s.io/v1",
    "CSINode",
    check=check_csi_node,
    immutable=check_csi_node_update,
    steps=(ChangeCheck.NEW, ChangeCheck.IMMUTABLE),
    update_needs_version=True,
    printer=CSI_NODES,
)
CSI_STORAGE_CAPACITY = Kind(
    "storage.k8s.io/v1",
    "CSIStorageCapacity",
    check=check_storage_capacity,
    immutable=check_storage_capacity_update,
    steps=(ChangeCheck.NEW, ChangeCheck.METADATA, ChangeCheck.IMMUTABLE),
    update_needs_version=True,
)
VOLUME_ATTACHMENT = Kind(
    "storage.k8s.io/v1",
    "VolumeAttachment",
    check=check_volume_attachment,
    immutable=check_volume_attachment_update,
    steps=(ChangeCheck.NEW, ChangeCheck.IMMUTABLE),
    subresources={"status": _check_status},
    update_needs_version=True,
    printer=VOLUME_ATTACHMENTS,
)
