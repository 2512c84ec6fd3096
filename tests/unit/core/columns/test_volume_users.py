"""The index of claim users follows pods as they come and go."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of

from bayplan.core.columns.volume_users import attachable_count
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    RBDVolumeSource,
    Volume,
    VsphereVirtualDiskVolumeSource,
)
from bayplan.testing.builders import node, pod


def test_claim_users_are_found_by_namespace_and_name() -> None:
    """Every node with a pod that names the claim is found, and no other."""
    cache = cache_of(
        node("a").obj(),
        node("b").obj(),
        node("c").obj(),
        pod("p1").claim("data").node("a").obj(),
        pod("p2").claim("data").claim("data").node("b").obj(),
        pod("p3", "other").claim("data").node("c").obj(),
        pod("p4").claim("else").node("c").obj(),
    )
    rows = cache.nodes.rows_by_name
    users = cache.pods.volume_users
    assert set(users.rows_using("default", "data")) == {rows["a"], rows["b"]}
    assert users.attachable == {rows["a"]: 1, rows["b"]: 2, rows["c"]: 2}


def test_the_last_user_leaves_no_trace() -> None:
    """When the last pod is gone nobody uses the claim."""
    cache = cache_of(node("a").obj(), pod("p1").claim("data").node("a").obj(), pod("p2").claim("data").node("a").obj())
    users = cache.pods.volume_users
    cache.remove_pod("default/p1")
    assert len(users.rows_using("default", "data")) == 1
    cache.remove_pod("default/p2")
    assert not users.rows_using("default", "data")
    assert not users.attachable


def test_nominated_pods_use_nothing() -> None:
    """A nominated pod takes no claim until it runs."""
    cache = cache_of(node("a").obj(), pod("p").claim("data").nominated("a").obj())
    assert not cache.pods.volume_users.rows_using("default", "data")


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(Volume(name="v"), 0, id="config-map"),
        pytest.param(Volume(name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource()), 1, id="gce"),
        pytest.param(Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource()), 1, id="aws"),
        pytest.param(Volume(name="v", azure_disk=AzureDiskVolumeSource()), 1, id="azure-disk"),
        pytest.param(Volume(name="v", cinder=CinderVolumeSource()), 1, id="cinder"),
        pytest.param(Volume(name="v", portworx_volume=PortworxVolumeSource()), 1, id="portworx"),
        pytest.param(Volume(name="v", rbd=RBDVolumeSource()), 0, id="rbd"),
        pytest.param(Volume(name="v", azure_file=AzureFileVolumeSource()), 0, id="azure-file"),
        pytest.param(Volume(name="v", vsphere_volume=VsphereVirtualDiskVolumeSource()), 0, id="vsphere"),
    ],
)
def test_attachable_volumes(volume: Volume, expected: int) -> None:
    """Claims and disks with a driver count as attachable, nothing else does."""
    spec = pod("p").volume(volume).claim("data").ephemeral("scratch").obj().spec
    assert attachable_count(spec) == expected + 2
