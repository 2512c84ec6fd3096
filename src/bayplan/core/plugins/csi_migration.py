"""Disks of volume plugins whose work a CSI driver has taken over.

Takes volumes written for the old plugins; gives the driver and the handle the driver knows the disk by, and the
node affinity in the driver's own topology labels. Disks of vSphere and Azure File could be translated too, but
the scheduler does not, so they are only known by the names of their plugins. Nothing else of a volume is translated.
Upstream: csi-translation-lib/translate.go, and its plugins (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.storage import CSINode, PersistentVolume, PersistentVolumeSpec
from bayplan.model.volumes import AzureDiskVolumeSource, Volume
from bayplan.model.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE

AWS_EBS = "kubernetes.io/aws-ebs"
GCE_PD = "kubernetes.io/gce-pd"
AZURE_DISK = "kubernetes.io/azure-disk"
CINDER = "kubernetes.io/cinder"
PORTWORX = "kubernetes.io/portworx-volume"

DRIVERS = {
    AWS_EBS: "ebs.csi.aws.com",
    GCE_PD: "pd.csi.storage.gke.io",
    AZURE_DISK: "disk.csi.azure.com",
    CINDER: "cinder.csi.openstack.org",
    PORTWORX: "pxd.portworx.com",
}
#: Known to the translation, but not switched on in the scheduler.
UNTRANSLATED_PLUGINS = frozenset({"kubernetes.io/vsphere-volume", "kubernetes.io/azure-file"})

MIGRATED_PLUGINS_ANNOTATION = "storage.alpha.kubernetes.io/migrated-plugins"

#: The label that stands for a zone in the driver's topology; the other drivers leave the affinity as it is.
ZONE_LABELS = {
    AWS_EBS: "topology.ebs.csi.aws.com/zone",
    GCE_PD: "topology.gke.io/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
}
ZONE_SEPARATOR = "__"

_UNSPECIFIED = "UNSPECIFIED"
_AWS_SCHEME = "aws://"
_AWS_VOLUME = re.compile("vol-[^/]*")


class TranslationError(ValueError):
    """A disk that the driver could not be told about."""


class Disk(NamedTuple):
    """A disk as its CSI driver knows it."""

    driver: str
    handle: str


def inline_disk(volume: Volume) -> Disk | None:
    """A pod's own disk as the driver knows it; None for other volumes. Raises TranslationError."""
    return _migrated_disk(volume, {})


def volume_plugin(volume: PersistentVolume) -> str | None:
    """The migrated plugin of a persistent volume."""
    written = _written_disk(volume.spec)
    return written[0] if written is not None else None


def volume_disk(volume: PersistentVolume) -> Disk | None:
    """A persistent volume as its driver, or the one that took over, knows it. Raises TranslationError."""
    csi = volume.spec.csi
    if csi is not None:
        return Disk(csi.driver, csi.volume_handle)
    return _migrated_disk(volume.spec, volume.metadata.labels)


def _written_disk(source: Volume | PersistentVolumeSpec) -> tuple[str, str] | None:
    """The migrated plugin and the disk's name, as written for that plugin."""
    if source.aws_elastic_block_store is not None:
        return AWS_EBS, source.aws_elastic_block_store.volume_id
    if source.gce_persistent_disk is not None:
        return GCE_PD, source.gce_persistent_disk.pd_name
    if source.azure_disk is not None:
        return AZURE_DISK, source.azure_disk.disk_uri
    if source.cinder is not None:
        return CINDER, source.cinder.volume_id
    return (PORTWORX, source.portworx_volume.volume_id) if source.portworx_volume is not None else None


def _migrated_disk(source: Volume | PersistentVolumeSpec, labels: Mapping[str, str]) -> Disk | None:
    written = _written_disk(source)
    if written is None:
        return None
    plugin, name = written
    if plugin == AWS_EBS:
        name = aws_handle(name)
    elif plugin == GCE_PD:
        name = _gce_handle(labels, name)
    elif source.azure_disk is not None:
        name = _azure_handle(source.azure_disk)
    return Disk(DRIVERS[plugin], name)


def is_migrated_on(csi_node: CSINode, plugin: str) -> bool:
    """Whether the kubelet of a node says that it leaves the plugin's disks to the driver."""
    return plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION, "").split(",")


def required_terms(volume: PersistentVolume) -> list[NodeSelectorTerm] | None:
    """The node affinity of a volume as written; None when it can be reached from anywhere."""
    affinity = volume.spec.node_affinity
    return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else None


def translated_terms(volume: PersistentVolume) -> list[NodeSelectorTerm] | None:
    """The node affinity of a migrated volume in its driver's labels. Raises TranslationError."""
    volume_disk(volume)  # Upstream translates all or nothing: a bad handle leaves no affinity either.
    plugin = volume_plugin(volume)
    terms = required_terms(volume)
    zone_label = ZONE_LABELS.get(plugin) if plugin is not None else None
    if zone_label is None:
        return terms
    labels = volume.metadata.labels
    zone, region = _topology_labels(terms or (), labels)
    translated = terms
    if terms is not None and _values(terms, zone):
        translated = _renamed(terms, zone, zone_label)
    elif zone in labels:
        translated = _with_zones(terms, zone_label, labels[zone].split(ZONE_SEPARATOR))
    if translated is not None and region == BETA_REGION and _values(translated, BETA_REGION):
        translated = _renamed(translated, BETA_REGION, REGION)
    return translated


def aws_handle(volume_id: str) -> str:
    """The volume's id at AWS, from `vol-x`, `aws:///vol-x` or `aws://zone/vol-x`. Raises TranslationError."""
    if not volume_id.startswith(_AWS_SCHEME):
        return volume_id
    location = volume_id.removeprefix(_AWS_SCHEME).partition("#")[0].partition("?")[0]
    handle = location.partition("/")[2].strip("/")
    if not _AWS_VOLUME.fullmatch(handle):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return handle


def _azure_handle(disk: AzureDiskVolumeSource) -> str:
    if disk.kind is not None and disk.kind.lower() != "managed":
        raise TranslationError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _gce_handle(labels: Mapping[str, str], disk_name: str) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_SEPARATOR)
    place = f"regions/{_gce_region(zones)}" if len(zones) > 1 else f"zones/{zones[0] or _UNSPECIFIED}"
    return f"projects/{_UNSPECIFIED}/{place}/disks/{disk_name}"


def _gce_region(zones: Sequence[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add(f"{parts[0]}-{parts[1]}")
    if len(regions) != 1:
        listed = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{listed}]"
        )
    return regions.pop()


def _topology_labels(terms: Iterable[NodeSelectorTerm], labels: dict[str, str]) -> tuple[str, str]:
    """The names the volume uses for zone and region: affinity before labels, present names before old ones."""
    named = {requirement.key for term in terms for requirement in term.match_expressions}
    for known in (named, labels):
        if ZONE in known:
            return ZONE, REGION
        if BETA_ZONE in known:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _values(terms: Iterable[NodeSelectorTerm], key: str) -> set[str]:
    return {
        value
        for term in terms
        for requirement in term.match_expressions
        if requirement.key == key
        for value in requirement.values
    }


def _renamed(terms: Iterable[NodeSelectorTerm], old: str, new: str) -> list[NodeSelectorTerm]:
    return [
        NodeSelectorTerm(
            match_expressions=[
                NodeSelectorRequirement(
                    key=new if item.key == old else item.key, operator=item.operator, values=item.values
                )
                for item in term.match_expressions
            ],
            match_fields=term.match_fields,
        )
        for term in terms
    ]


def _with_zones(terms: list[NodeSelectorTerm] | None, key: str, zones: Iterable[str]) -> list[NodeSelectorTerm] | None:
    """Every term narrowed to the zones; a volume without terms gets one."""
    values = sorted({stripped for zone in zones if (stripped := zone.strip())})
    if not values:
        return terms
    in_zones = NodeSelectorRequirement(key=key, operator="In", values=values)
    return [
        NodeSelectorTerm(match_expressions=[*term.match_expressions, in_zones], match_fields=term.match_fields)
        for term in terms or [NodeSelectorTerm()]
    ]
