"""NodeVolumeLimits against its rules, one at a time."""

from __future__ import annotations

import re

import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import Ready
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.core.plugins.node_volume_limits import EXCEEDED, NodeVolumeLimits
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.storage import (
    CSIPersistentVolumeSource,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureFileVolumeSource,
    GCEPersistentDiskVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from bayplan.testing.builders import claim, csi_node, node, pod, storage_class, volume
from bayplan.testing.pods import PodBuilder

DRIVER = "disk.example.com"


def bound_disk(name: str, *, driver: str = DRIVER, handle: str | None = None) -> list[Object]:
    """A claim and the CSI volume it is bound to."""
    source = CSIPersistentVolumeSource(driver=driver, volume_handle=name if handle is None else handle)
    return [claim(name).bound(f"pv-{name}").obj(), volume(f"pv-{name}").set(csi=source).obj()]


def attachment(name: str, node_name: str, volume_name: str | None, attacher: str = DRIVER) -> VolumeAttachment:
    source = VolumeAttachmentSource(persistent_volume_name=volume_name)
    return VolumeAttachment(
        metadata=ObjectMeta(name=name),
        spec=VolumeAttachmentSpec(attacher=attacher, node_name=node_name, source=source),
    )


def limited(count: int | None, *drivers: str) -> Object:
    built = csi_node("n")
    for driver in drivers or (DRIVER,):
        built.driver(driver, count=count)
    return built.obj()


def aws(volume_id: str) -> Volume:
    return Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=volume_id))


USER = pod("u").claim("a").node("n").obj()
POD = pod("p").claim("b").obj()


@pytest.mark.parametrize(
    ("objects", "passes"),
    [
        pytest.param([limited(2), *bound_disk("a"), *bound_disk("b"), USER], True, id="room-for-one"),
        pytest.param([limited(1), *bound_disk("a"), *bound_disk("b"), USER], False, id="full"),
        pytest.param([limited(0), *bound_disk("b")], False, id="takes-none"),
        pytest.param([limited(None), *bound_disk("a"), *bound_disk("b"), USER], True, id="no-limit"),
        pytest.param([*bound_disk("a"), *bound_disk("b"), USER], True, id="no-csi-node"),
        pytest.param([limited(1, "other"), *bound_disk("a"), *bound_disk("b"), USER], True, id="other-driver"),
        pytest.param(
            [limited(1), *bound_disk("a", handle="same"), *bound_disk("b", handle="same"), USER], True, id="shared-disk"
        ),
        pytest.param([limited(1), *bound_disk("a", driver="x"), *bound_disk("b"), USER], True, id="drivers-apart"),
        pytest.param([limited(1), *bound_disk("b"), USER], True, id="claims-of-others-may-be-missing"),
        pytest.param([limited(0), *bound_disk("b", handle="")], True, id="no-handle-no-count"),
        pytest.param(
            [limited(1), *bound_disk("a"), *bound_disk("b"), attachment("x", "n", "pv-a")], False, id="attached-counts"
        ),
        pytest.param(
            [limited(2), *bound_disk("a"), *bound_disk("b"), USER, attachment("x", "n", "pv-a")],
            True,
            id="attached-and-used-once",
        ),
        pytest.param(
            [limited(1), *bound_disk("b"), attachment("x", "n", "pv-b")], False, id="own-attachment-counts-twice"
        ),
        pytest.param(
            [limited(1), *bound_disk("a"), *bound_disk("b"), attachment("x", "m", "pv-a")], True, id="other-node"
        ),
        pytest.param(
            [
                limited(1),
                *bound_disk("b"),
                attachment("x", "n", "pv-gone"),
                attachment("y", "n", None),
                attachment("z", "n", "pv-b", attacher=""),
            ],
            True,
            id="attachments-without-a-disk",
        ),
    ],
)
def test_counting(objects: list[Object], passes: bool) -> None:
    """A node passes while its attached volumes and the pod's new ones stay within the driver's limit."""
    status = verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(node("n").obj(), *objects), POD)["n"]
    assert status.ok == passes
    if not passes:
        assert (status.code, status.reasons) == (Code.UNSCHEDULABLE, (EXCEEDED,))


@pytest.mark.parametrize(
    ("provisioner", "limited_driver", "passes"),
    [
        pytest.param(DRIVER, DRIVER, False, id="csi"),
        pytest.param("kubernetes.io/aws-ebs", "ebs.csi.aws.com", False, id="migrated"),
        pytest.param("kubernetes.io/vsphere-volume", "kubernetes.io/vsphere-volume", True, id="not-migrated"),
    ],
)
def test_unbound_claims_count_for_the_provisioner(provisioner: str, limited_driver: str, passes: bool) -> None:
    """A claim to be provisioned counts for the driver of its class."""
    cache = cache_of(
        node("n").obj(),
        limited(1, limited_driver),
        storage_class("fast", provisioner=provisioner).obj(),
        claim("a").storage_class("fast").obj(),
        claim("b").storage_class("fast").obj(),
        USER,
    )
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, POD)["n"].ok == passes
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").claim("a").obj())["n"].ok


def test_claim_of_a_vanished_volume_counts_by_its_class() -> None:
    """A claim bound to a volume that is gone is counted for its class."""
    cache = cache_of(
        node("n").obj(),
        limited(0),
        storage_class("fast", provisioner=DRIVER).obj(),
        claim("b").storage_class("fast").bound("gone").obj(),
        claim("c").bound("gone").obj(),
    )
    assert not verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, POD)["n"].ok
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").claim("c").obj())["n"].ok


def test_inline_disks_count_for_the_migrated_driver() -> None:
    """Old disks, inline or as volumes, share the limit of the driver that took over."""
    in_tree = volume("pv").set(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws:///vol-1"))
    cache = cache_of(
        node("n").obj(),
        limited(1, "ebs.csi.aws.com"),
        in_tree.obj(),
        claim("a").bound("pv").obj(),
        USER,
    )
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").volume(aws("vol-1")).obj())["n"].ok
    assert not verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").volume(aws("vol-2")).obj())["n"].ok
    gce = Volume(name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d"))
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").volume(gce).obj())["n"].ok


def test_untranslatable_inline_disk_ends_the_attempt_where_csi_runs() -> None:
    """A disk id that makes no sense is an error, but only on nodes with a CSINode."""
    broken = pod("p").volume(aws("aws://bad")).obj()
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(node("m").obj()), broken)["m"].ok
    with pytest.raises(CycleError, match=r"converting volume\(v\) from inline to csi"):
        verdicts(
            NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(node("m").obj(), node("n").obj(), limited(None)), broken
        )


def nameless_claim() -> Volume:
    return Volume(name="v", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=""))


@pytest.mark.parametrize(
    ("running", "message"),
    [
        pytest.param(pod("u").volume(aws("aws://bad")), "converting volume(v) from inline to csi", id="inline-disk"),
        pytest.param(pod("u").volume(nameless_claim()), "PersistentVolumeClaim had no name", id="nameless-claim"),
        pytest.param(pod("u").ephemeral("tmp"), "PVC default/u-tmp was not created for pod", id="claim-of-another"),
    ],
)
@pytest.mark.parametrize("driver", [DRIVER, "another.example.com"])
def test_a_running_pod_whose_volumes_cannot_be_counted_ends_the_attempt(
    running: PodBuilder, message: str, driver: str
) -> None:
    """Wherever the node has a limit for any driver, however far from it."""
    objects = [node("n").obj(), node("m").obj(), *bound_disk("b"), claim("u-tmp").obj(), running.node("n").obj()]
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(*objects, limited(None, driver)), POD)["n"].ok
    with pytest.raises(CycleError, match=re.escape(message)):
        verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(*objects, limited(9, driver)), POD)
    cache = cache_of(*objects, limited(9, driver))
    _, view, outcome = prepared(NodeVolumeLimits(gates=DEFAULT_GATES), cache, POD)
    assert NodeVolumeLimits(gates=DEFAULT_GATES).filter(outcome.state, view, row_array([1])).tolist() == [0], (
        "the other node is not hurt"
    )


def test_missing_claim() -> None:
    """A claim that does not exist fails every node, with the text of the lookup."""
    status = verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(node("n").obj()), POD)["n"]
    reason = 'looking up PVC default/b: persistentvolumeclaim "b" not found'
    assert (status.code, status.reasons) == (Code.UNRESOLVABLE, (reason,))


def test_ephemeral_volumes() -> None:
    """An ephemeral volume counts through the claim named after pod and volume, which the pod must own."""
    owner = OwnerReference(kind="Pod", name="p", uid="p-uid", controller=True)
    owned = claim("p-tmp").bound("pv-b").obj()
    owned.metadata.owner_references = [owner]
    cache = cache_of(node("n").obj(), limited(0), *bound_disk("b"), owned)
    user = pod("p").uid("p-uid").ephemeral("tmp").obj()
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, user)["n"].reasons == (EXCEEDED,)
    with pytest.raises(CycleError, match=r"PVC default/p-tmp was not created for pod default/p \(pod is not owner\)"):
        verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").uid("another").ephemeral("tmp").obj())


@pytest.mark.parametrize(
    "waiting",
    [
        pytest.param(pod("p").obj(), id="no-volumes"),
        pytest.param(pod("p").volume(Volume(name="config")).obj(), id="config-map"),
    ],
)
def test_nothing_to_do(waiting: object) -> None:
    """Pods without attachable volumes skip the plugin."""
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache_of(node("n").obj()), waiting) == {}  # type: ignore[arg-type]


def test_azure_file_is_not_counted() -> None:
    """A share is not attached, so it is within every limit."""
    share = Volume(name="v", azure_file=AzureFileVolumeSource())
    cache = cache_of(node("n").obj(), limited(0, "file.csi.azure.com"), *bound_disk("b"))
    assert verdicts(NodeVolumeLimits(gates=DEFAULT_GATES), cache, pod("p").claim("b").volume(share).obj())["n"].ok


def test_what_if() -> None:
    """Pods that leave make room in their node's world, come back, and arrive; other states stay as they are."""
    cache = cache_of(node("n").obj(), limited(1), *bound_disk("a"), *bound_disk("b"), *bound_disk("c"), USER)
    cache.add(pod("later").claim("c").nominated("n").obj())
    plugin = NodeVolumeLimits(gates=DEFAULT_GATES)
    _, view, outcome = prepared(plugin, cache, POD)
    assert isinstance(outcome, Ready)
    user, later = (row_array([view.pods.rows_by_key[f"default/{name}"]]) for name in ("u", "later"))
    here = row_array([0])

    first = plugin.fork(outcome.state, view)
    plugin.shift(first, view, user, here, -1)
    assert plugin.filter(first, view, ALL_ROWS).tolist() == [0]
    assert plugin.filter(outcome.state, view, ALL_ROWS).tolist() == [1]
    second = plugin.fork(first, view)
    plugin.shift(second, view, later, here, +1)
    assert plugin.filter(second, view, here).tolist() == [1]
    plugin.shift(first, view, user, here, +1)
    assert plugin.filter(first, view, ALL_ROWS).tolist() == [1]
    assert plugin.filter(outcome.state, view, ALL_ROWS).tolist() == [1]
