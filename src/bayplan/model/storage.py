"""Storage: volumes, claims, classes, and what each node and driver can attach.

See `meta` for the conventions; the disk sources are those of `volumes`. `local` and `hostPath` sources are
left out: such a volume restricts pods through its node affinity, which is kept.
"""

import msgspec

from bayplan.model.meta import (
    Condition,
    Int32,
    LabelSelector,
    ObjectPart,
    ObjectReference,
    RawQuantity,
    TopLevel,
)
from bayplan.model.pod import NodeSelector
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    PersistentVolumeClaimSpec,
    PortworxVolumeSource,
    RBDVolumeSource,
    VsphereVirtualDiskVolumeSource,
)


class VolumeNodeAffinity(ObjectPart, kw_only=True):
    required: NodeSelector | None = None


class CSIPersistentVolumeSource(ObjectPart, kw_only=True):
    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False


class PersistentVolumeSpec(ObjectPart, kw_only=True):
    capacity: dict[str, RawQuantity] = {}
    access_modes: list[str] = []
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    persistent_volume_reclaim_policy: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(ObjectPart, kw_only=True):
    phase: str = ""


class PersistentVolume(TopLevel, kw_only=True):
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


class PersistentVolumeClaimStatus(ObjectPart, kw_only=True):
    phase: str = ""
    access_modes: list[str] = []
    capacity: dict[str, RawQuantity] = {}
    conditions: list[Condition] = []
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(TopLevel, kw_only=True):
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)


class TopologySelectorLabelRequirement(ObjectPart, kw_only=True):
    key: str = ""
    values: list[str] = []


class TopologySelectorTerm(ObjectPart, kw_only=True):
    match_label_expressions: list[TopologySelectorLabelRequirement] = []


class StorageClass(TopLevel, kw_only=True):
    """Its fields are at the top level, without a spec."""

    provisioner: str = ""
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologySelectorTerm] = []


class VolumeNodeResources(ObjectPart, kw_only=True):
    count: Int32 | None = None


class CSINodeDriver(ObjectPart, kw_only=True):
    name: str = ""
    topology_keys: list[str] = []
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(ObjectPart, kw_only=True):
    drivers: list[CSINodeDriver] = []


class CSINode(TopLevel, kw_only=True):
    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(ObjectPart, kw_only=True):
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(TopLevel, kw_only=True):
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(TopLevel, kw_only=True):
    """Its fields are at the top level, without a spec."""

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: RawQuantity | None = None
    maximum_volume_size: RawQuantity | None = None


class VolumeAttachmentSource(ObjectPart, kw_only=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(ObjectPart, kw_only=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = msgspec.field(default_factory=VolumeAttachmentSource)


class VolumeAttachment(TopLevel, kw_only=True):
    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)
