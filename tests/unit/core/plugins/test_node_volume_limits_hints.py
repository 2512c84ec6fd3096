"""What helps a pod whose volumes are too many everywhere."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.storage import CSINode, VolumeAttachment, VolumeAttachmentSpec
from bayplan.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureFileVolumeSource,
    Volume,
    VsphereVirtualDiskVolumeSource,
)
from bayplan.testing.builders import claim, csi_node, node, pod

EBS = Volume(name="e", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"))
BROKEN_EBS = Volume(name="e", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws://?"))
VSPHERE = Volume(name="v", vsphere_volume=VsphereVirtualDiskVolumeSource())
AZURE_FILE = Volume(name="f", azure_file=AzureFileVolumeSource())
WITH_CLAIM = pod("p").claim("data").obj()
WITH_EPHEMERAL = pod("p").ephemeral("scratch").obj()


def limits(**counts: int | None) -> CSINode:
    made = csi_node("n")
    for driver, count in counts.items():
        made.driver(driver, count=count)
    return made.obj()


def attachment(attacher: str) -> VolumeAttachment:
    return VolumeAttachment(metadata=ObjectMeta(name="a"), spec=VolumeAttachmentSpec(attacher=attacher, node_name="n"))


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, limits(a=1), True, id="new"),
        pytest.param(limits(a=1), limits(a=2), True, id="limit-rose"),
        pytest.param(limits(a=2), limits(a=1), False, id="limit-fell"),
        pytest.param(limits(a=2, b=1), limits(a=1, b=2), True, id="one-limit-rose"),
        pytest.param(limits(a=1), limits(a=1, b=1), True, id="new-driver"),
        pytest.param(limits(a=1), limits(a=1, b=None), False, id="new-driver-without-limit"),
        pytest.param(limits(a=None), limits(a=1), True, id="limit-appears"),
        # Without a limit everything may be attached, but upstream takes it for 0: here wake-ups are missed.
        pytest.param(limits(a=1), limits(a=None), False, id="limit-gone"),
        pytest.param(limits(a=1), limits(), False, id="driver-gone"),
        pytest.param(limits(a=1), None, False, id="gone"),
    ],
)
def test_csi_node_changes(old: CSINode | None, new: CSINode | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodeVolumeLimits(gates=DEFAULT_GATES), WITH_CLAIM, old, new) == worth_it


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(pod("q").claim("x").node("n").obj(), None, True, id="pod-with-claim-gone"),
        pytest.param(pod("q").claim("x").nominated("n").obj(), None, True, id="nominated-gone"),
        pytest.param(pod("q").claim("x").obj(), None, False, id="it-had-no-place"),
        pytest.param(pod("q").ephemeral("x").node("n").obj(), None, True, id="pod-with-ephemeral-gone"),
        pytest.param(pod("q").volume(EBS).node("n").obj(), None, True, id="pod-with-disk-gone"),
        pytest.param(pod("q").volume(VSPHERE).node("n").obj(), None, True, id="pod-with-vsphere-disk-gone"),
        pytest.param(pod("q").volume(Volume(name="tmp")).node("n").obj(), None, False, id="pod-with-other-volume-gone"),
        pytest.param(pod("q").node("n").obj(), None, False, id="pod-without-volumes-gone"),
        pytest.param(None, claim("data").obj(), True, id="own-claim-added"),
        pytest.param(None, claim("logs").obj(), False, id="other-claim-added"),
        pytest.param(claim("data").obj(), claim("data").bound("pv").obj(), False, id="own-claim-updated"),
        # A node without a CSINode has no limits, but upstream does not register for nodes.
        pytest.param(None, node("n").obj(), False, id="new-node"),
    ],
)
def test_pods_claims_and_nodes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodeVolumeLimits(gates=DEFAULT_GATES), WITH_CLAIM, old, new) == worth_it


def test_an_ephemeral_claim_is_its_own() -> None:
    """By the name it is given."""
    assert is_worth_it(NodeVolumeLimits(gates=DEFAULT_GATES), WITH_EPHEMERAL, None, claim("p-scratch").obj())


@pytest.mark.parametrize(
    ("waiting", "attacher", "worth_it"),
    [
        pytest.param(WITH_CLAIM, "any", True, id="claim"),
        pytest.param(WITH_EPHEMERAL, "any", False, id="ephemeral-is-not-looked-at"),
        pytest.param(pod("p").volume(EBS).obj(), "ebs.csi.aws.com", True, id="own-disk"),
        pytest.param(pod("p").volume(EBS).obj(), "pd.csi.storage.gke.io", False, id="own-disk-of-another-driver"),
        pytest.param(pod("p").volume(BROKEN_EBS).obj(), "pd.csi.storage.gke.io", True, id="own-disk-with-a-fault"),
        pytest.param(pod("p").volume(VSPHERE).obj(), "csi.vsphere.vmware.com", True, id="own-vsphere-disk"),
        pytest.param(pod("p").volume(AZURE_FILE).obj(), "file.csi.azure.com", True, id="own-azure-file"),
        pytest.param(pod("p").volume(Volume(name="tmp")).obj(), "", False, id="other-volume"),
    ],
)
def test_attachments(waiting: Pod, attacher: str, worth_it: bool) -> None:
    """A detached volume makes room for a claim of any driver, for an own disk only by its driver."""
    assert is_worth_it(NodeVolumeLimits(gates=DEFAULT_GATES), waiting, attachment(attacher), None) == worth_it
    assert not is_worth_it(NodeVolumeLimits(gates=DEFAULT_GATES), waiting, None, attachment(attacher))


def test_registers() -> None:
    """As upstream."""
    assert registered(NodeVolumeLimits(gates=DEFAULT_GATES)) == {
        EventResource.CSI_NODE: ActionType.ADD | ActionType.UPDATE,
        EventResource.POD: ActionType.DELETE,
        EventResource.PERSISTENT_VOLUME_CLAIM: ActionType.ADD,
        EventResource.VOLUME_ATTACHMENT: ActionType.DELETE,
    }
