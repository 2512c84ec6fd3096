"""Volumes of a pod, and the sources through which they reach storage.

Only sources that restrict a pod to nodes are kept: claims, disks that one node at a time may write, and disks
with a limit for each node. The in-tree disks also appear on a PersistentVolume. Config maps, secrets and
empty directories go anywhere; such a volume is kept by its name alone.
"""

import msgspec

from bayplan.model.meta import LabelSelector, ObjectMeta, ObjectPart, RawQuantity


class PersistentVolumeClaimVolumeSource(ObjectPart, kw_only=True):
    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(ObjectPart, kw_only=True):
    requests: dict[str, RawQuantity] = {}
    limits: dict[str, RawQuantity] = {}


class PersistentVolumeClaimSpec(ObjectPart, kw_only=True):
    """Of a claim, of a claim template of a stateful set, and of a generic ephemeral volume."""

    access_modes: list[str] = []
    resources: VolumeResourceRequirements = msgspec.field(default_factory=VolumeResourceRequirements)
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str = ""
    volume_attributes_class_name: str | None = None
    selector: LabelSelector | None = None


class PersistentVolumeClaimTemplate(ObjectPart, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)


class EphemeralVolumeSource(ObjectPart, kw_only=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class GCEPersistentDiskVolumeSource(ObjectPart, kw_only=True):
    pd_name: str = msgspec.field(default="", name="pdName")
    read_only: bool = False


class _DiskByID(ObjectPart, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(_DiskByID, kw_only=True):
    """Of AWS."""


class RBDVolumeSource(ObjectPart, kw_only=True):
    monitors: list[str] = []
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSIVolumeSource(ObjectPart, kw_only=True):
    iqn: str = ""
    read_only: bool = False


class AzureDiskVolumeSource(ObjectPart, kw_only=True):
    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None
    read_only: bool = False


class AzureFileVolumeSource(ObjectPart, kw_only=True):
    read_only: bool = False


class CinderVolumeSource(_DiskByID, kw_only=True):
    """Of OpenStack."""


class PortworxVolumeSource(_DiskByID, kw_only=True):
    """Of Portworx."""


class VsphereVirtualDiskVolumeSource(ObjectPart, kw_only=True):
    """Only that it is one is of interest."""


class CSIVolumeSource(ObjectPart, kw_only=True):
    """An inline CSI volume of a pod."""

    driver: str = ""
    read_only: bool = False


class ImageVolumeSource(ObjectPart, kw_only=True):
    reference: str = ""


class EmptyDirVolumeSource(ObjectPart, kw_only=True):
    medium: str = ""


class HostPathVolumeSource(ObjectPart, kw_only=True):
    """A directory of the node; which one does not matter here."""


class Volume(ObjectPart, kw_only=True):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
    # Only autoscalers look at these.
    empty_dir: EmptyDirVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None


def has_source(volume: Volume) -> bool:
    """Whether it is of a kind that scheduling looks at; of others (secrets, empty directories) only names are read."""
    return volume != Volume(name=volume.name, empty_dir=volume.empty_dir, host_path=volume.host_path)


def is_local(volume: Volume) -> bool:
    """Whether what is in it is lost with the node; a directory in memory does not count."""
    in_directory = volume.empty_dir is not None and volume.empty_dir.medium != "Memory"
    return in_directory or volume.host_path is not None
