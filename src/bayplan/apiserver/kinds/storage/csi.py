"""CSIDriver, CSINode, CSIStorageCapacity and VolumeAttachment."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.storage import default_csi_driver
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.storage import CSI_DRIVERS, CSI_NODES, VOLUME_ATTACHMENTS

CSI_DRIVER = Kind(
    "storage.k8s.io/v1",
    "CSIDriver",
    defaults=default_csi_driver,
    watched=("spec",),
    counted_at_creation=False,
    update_needs_version=True,
    printer=CSI_DRIVERS,
)
CSI_NODE = Kind("storage.k8s.io/v1", "CSINode", update_needs_version=True, printer=CSI_NODES)
CSI_STORAGE_CAPACITY = Kind("storage.k8s.io/v1", "CSIStorageCapacity", update_needs_version=True)
VOLUME_ATTACHMENT = Kind("storage.k8s.io/v1", "VolumeAttachment", update_needs_version=True, printer=VOLUME_ATTACHMENTS)
