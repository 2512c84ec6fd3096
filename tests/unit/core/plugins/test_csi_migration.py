"""Translation of old disks into what CSI drivers know. Cases follow csi-translation-lib of v1.36."""

from __future__ import annotations

import pytest

from bayplan.core.plugins.csi_migration import (
    TranslationError,
    aws_handle,
    inline_disk,
    is_migrated_on,
    translated_terms,
    volume_disk,
    volume_plugin,
)
from bayplan.model.pod import NodeSelectorTerm
from bayplan.model.storage import CSIPersistentVolumeSource
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    Volume,
    VsphereVirtualDiskVolumeSource,
)
from bayplan.model.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE
from bayplan.testing.builders import csi_node, node_term, volume

AWS = {"aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="vol-1")}
GCE = {"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="disk")}
AZURE = {"azure_disk": AzureDiskVolumeSource(disk_uri="/subscriptions/d")}
CINDER = {"cinder": CinderVolumeSource(volume_id="c1")}
PORTWORX = {"portworx_volume": PortworxVolumeSource(volume_id="p1")}

DISKS = [
    pytest.param(AWS, ("ebs.csi.aws.com", "vol-1"), id="aws"),
    pytest.param(GCE, ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"), id="gce"),
    pytest.param(AZURE, ("disk.csi.azure.com", "/subscriptions/d"), id="azure"),
    pytest.param(CINDER, ("cinder.csi.openstack.org", "c1"), id="cinder"),
    pytest.param(PORTWORX, ("pxd.portworx.com", "p1"), id="portworx"),
    pytest.param({"azure_file": AzureFileVolumeSource()}, None, id="azure-file"),
    pytest.param({"vsphere_volume": VsphereVirtualDiskVolumeSource()}, None, id="vsphere"),
]


@pytest.mark.parametrize(("source", "disk"), DISKS)
def test_disks_of_drivers(source: dict[str, object], disk: tuple[str, str] | None) -> None:
    """A disk has the same driver and handle inline and as a volume; some are not translated."""
    assert inline_disk(Volume(name="v", **source)) == disk  # type: ignore[arg-type]
    assert volume_disk(volume("pv").set(**source).obj()) == disk
    assert (volume_plugin(volume("pv").set(**source).obj()) is None) == (disk is None)


def test_csi_volume_is_its_own_disk() -> None:
    """A CSI volume needs no translation."""
    made = volume("pv").set(csi=CSIPersistentVolumeSource(driver="d", volume_handle="h")).obj()
    assert volume_disk(made) == ("d", "h")
    assert volume_plugin(made) is None


@pytest.mark.parametrize(
    ("given", "handle"),
    [
        pytest.param("vol-1", "vol-1", id="bare"),
        pytest.param("anything", "anything", id="bare-is-not-checked"),
        pytest.param("aws:///vol-1", "vol-1", id="no-zone"),
        pytest.param("aws://us-east-1a/vol-1", "vol-1", id="zone"),
        pytest.param("aws://us-east-1a/vol-1/", "vol-1", id="trailing-slash"),
    ],
)
def test_aws_ids(given: str, handle: str) -> None:
    """The id at AWS is taken out of every form it is written in."""
    assert aws_handle(given) == handle


@pytest.mark.parametrize("given", ["aws://vol-1", "aws:///disk-1", "aws://z/a/vol-1"])
def test_aws_ids_that_are_none(given: str) -> None:
    """An id in URL form must end in a volume id."""
    with pytest.raises(TranslationError, match="Invalid format for AWS volume"):
        aws_handle(given)


@pytest.mark.parametrize("kind", ["Shared", "Dedicated", ""])
def test_azure_disks_of_other_kinds_cannot_be_translated(kind: str) -> None:
    """The driver knows managed disks alone; how that is written does not matter, and none said is as good."""
    odd = AzureDiskVolumeSource(disk_uri="/d", kind=kind)
    with pytest.raises(TranslationError, match=rf"^kind\({kind}\) is not supported in csi migration$"):
        inline_disk(Volume(name="v", azure_disk=odd))
    with pytest.raises(TranslationError):
        volume_disk(volume("pv").set(azure_disk=odd).obj())
    managed = AzureDiskVolumeSource(disk_uri="/d", kind="managed")
    assert inline_disk(Volume(name="v", azure_disk=managed)) == ("disk.csi.azure.com", "/d")


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({ZONE: "us-a-1"}, "projects/UNSPECIFIED/zones/us-a-1/disks/disk", id="zonal"),
        pytest.param(
            {BETA_ZONE: "us-b-1", ZONE: "us-a-1"}, "projects/UNSPECIFIED/zones/us-b-1/disks/disk", id="old-first"
        ),
        pytest.param({ZONE: "us-a-1__us-a-2"}, "projects/UNSPECIFIED/regions/us-a/disks/disk", id="regional"),
    ],
)
def test_gce_handles(labels: dict[str, str], handle: str) -> None:
    """The zones of a volume are part of its handle."""
    disk = volume_disk(volume("pv").set(**GCE).labels(labels).obj())
    assert disk is not None
    assert disk.handle == handle


@pytest.mark.parametrize(
    ("zones", "problem"),
    [
        pytest.param("us-a-1__east", "expected: {locale}-{region}-{zone}, got: east", id="format"),
        pytest.param("us-a-1__us-b-1", r"got: map\[us-a:{} us-b:{}\]", id="two-regions"),
    ],
)
def test_gce_zones_without_a_region(zones: str, problem: str) -> None:
    """Zones that have no region in common have no handle."""
    with pytest.raises(TranslationError, match=problem):
        volume_disk(volume("pv").set(**GCE).labels({ZONE: zones}).obj())


@pytest.mark.parametrize(
    ("source", "labels", "terms", "expected"),
    [
        pytest.param(AWS, {}, None, None, id="unrestricted"),
        pytest.param(AWS, {}, [f"{ZONE}=a"], ["topology.ebs.csi.aws.com/zone=a"], id="aws-zone"),
        pytest.param(GCE, {}, [f"{ZONE}=a", "x=y"], ["topology.gke.io/zone=a", "x=y"], id="gce-zone"),
        pytest.param(CINDER, {}, [f"{BETA_ZONE}=a"], ["topology.cinder.csi.openstack.org/zone=a"], id="old-zone"),
        pytest.param(AZURE, {ZONE: "a"}, [f"{ZONE}=a"], [f"{ZONE}=a"], id="azure-stays"),
        pytest.param(AWS, {ZONE: "b__a"}, None, ["topology.ebs.csi.aws.com/zone in (a,b)"], id="from-labels"),
        pytest.param(AWS, {ZONE: "a"}, ["x=y"], ["x=y,topology.ebs.csi.aws.com/zone=a"], id="labels-added"),
        pytest.param(AWS, {ZONE: "b"}, [f"{ZONE}=a"], ["topology.ebs.csi.aws.com/zone=a"], id="affinity-first"),
        pytest.param(AWS, {ZONE: "__"}, ["x=y"], ["x=y"], id="no-valid-zone"),
        pytest.param(
            AWS,
            {},
            [f"{BETA_ZONE}=a,{BETA_REGION}=r"],
            [f"topology.ebs.csi.aws.com/zone=a,{REGION}=r"],
            id="old-region",
        ),
    ],
)
def test_translated_affinity(
    source: dict[str, object], labels: dict[str, str], terms: list[str] | None, expected: list[str] | None
) -> None:
    """The affinity speaks of the driver's zone label; zones come from the affinity, else from the labels."""
    built = volume("pv").set(**source).labels(labels)
    if terms is not None:
        built.node_affinity(*terms)
    before = built.obj()
    made = built.obj()
    want: list[NodeSelectorTerm] | None = None if expected is None else [node_term(text) for text in expected]
    assert translated_terms(made) == want
    assert made == before


def test_untranslatable_handle_has_no_affinity() -> None:
    """A volume is translated as a whole or not at all."""
    source = AWSElasticBlockStoreVolumeSource(volume_id="aws://bad")
    with pytest.raises(TranslationError):
        translated_terms(volume("pv").set(aws_elastic_block_store=source).obj())


def test_migrated_plugins_annotation() -> None:
    """A kubelet lists the plugins it has handed over."""
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    listed = csi_node("n").annotations({key: "kubernetes.io/aws-ebs,kubernetes.io/cinder"}).obj()
    assert is_migrated_on(listed, "kubernetes.io/cinder")
    assert not is_migrated_on(listed, "kubernetes.io/gce-pd")
    assert not is_migrated_on(csi_node("n").obj(), "kubernetes.io/cinder")
