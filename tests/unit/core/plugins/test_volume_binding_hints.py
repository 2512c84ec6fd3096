"""What helps a pod whose claims cannot be bound anywhere."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.core.plugins.volume_binding import VolumeBinding
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta, RawQuantity
from bayplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSIStorageCapacity,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
)
from bayplan.model.volumes import CSIVolumeSource, Volume
from bayplan.testing.builders import claim, csi_node, node, pod, storage_class, volume

POD = pod("p").claim("data").ephemeral("scratch").volume(Volume(name="i", csi=CSIVolumeSource(driver="mine"))).obj()


def in_zones(*zones: str) -> StorageClass:
    made = storage_class("fast").obj()
    wanted = TopologySelectorLabelRequirement(key="zone", values=list(zones))
    made.allowed_topologies = [TopologySelectorTerm(match_label_expressions=[wanted])]
    return made


def driver(name: str, tells_capacity: bool | None) -> CSIDriver:
    return CSIDriver(metadata=ObjectMeta(name=name), spec=CSIDriverSpec(storage_capacity=tells_capacity))


def capacity(total: RawQuantity | None, largest: RawQuantity | None = None) -> CSIStorageCapacity:
    return CSIStorageCapacity(metadata=ObjectMeta(name="c"), capacity=total, maximum_volume_size=largest)


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, storage_class("any").obj(), True, id="class-added"),
        pytest.param(in_zones("a"), in_zones("a", "b"), True, id="class-allows-other-zones"),
        pytest.param(in_zones("a"), in_zones("a"), False, id="class-the-same"),
        pytest.param(None, claim("data").obj(), True, id="own-claim-added"),
        pytest.param(claim("data").obj(), claim("data").bound("pv").obj(), True, id="own-claim-bound"),
        pytest.param(None, claim("p-scratch").obj(), True, id="ephemeral-claim-added"),
        pytest.param(None, claim("data", "b").obj(), False, id="claim-of-another-namespace"),
        pytest.param(claim("logs").obj(), claim("logs").bound("pv").obj(), False, id="other-claim-bound"),
        pytest.param(None, volume("pv").obj(), True, id="volume-added"),
        pytest.param(volume("pv").obj(), volume("pv").labels(a="1").obj(), True, id="volume-updated"),
        pytest.param(volume("pv").obj(), None, False, id="volume-gone"),
        pytest.param(None, node("n").obj(), True, id="node-added"),
        pytest.param(node("n").obj(), node("n").label("a").obj(), True, id="node-labels"),
        pytest.param(node("n").obj(), node("n").capacity(cpu="9").obj(), False, id="node-allocatable"),
        pytest.param(pod("q").claim("data").node("n").obj(), None, False, id="pod-gone"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(VolumeBinding(gates=DEFAULT_GATES), POD, old, new) == worth_it


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, csi_node("n").obj(), True, id="node-added"),
        pytest.param(
            csi_node("n").obj(),
            csi_node("n").annotations({MIGRATED_PLUGINS_ANNOTATION: "kubernetes.io/gce-pd"}).obj(),
            True,
            id="node-migrates",
        ),
        pytest.param(csi_node("n").obj(), csi_node("n").driver("d", count=1).obj(), False, id="node-has-a-limit"),
        pytest.param(driver("mine", True), driver("mine", False), True, id="capacity-off"),
        pytest.param(driver("mine", True), driver("mine", None), True, id="capacity-unset"),
        pytest.param(driver("mine", False), driver("mine", True), False, id="capacity-on"),
        pytest.param(driver("mine", None), driver("mine", False), False, id="capacity-was-off"),
        # The driver may be the one of a claim's class, but upstream looks at inline volumes: a wake-up is missed.
        pytest.param(driver("theirs", True), driver("theirs", False), False, id="capacity-off-elsewhere"),
        pytest.param(None, driver("mine", False), False, id="driver-added"),
        pytest.param(None, capacity("1Gi"), True, id="capacity-added"),
        pytest.param(capacity("1Gi"), capacity("2Gi"), True, id="capacity-grew"),
        pytest.param(capacity("2Gi"), capacity("1Gi"), False, id="capacity-shrank"),
        pytest.param(capacity(None), capacity("1"), True, id="capacity-told"),
        pytest.param(capacity("1Gi"), capacity(None), False, id="capacity-no-longer-told"),
        pytest.param(capacity("1Gi", "1Gi"), capacity("2Gi", "1Gi"), False, id="largest-volume-stays"),
        pytest.param(capacity("2Gi", "1Gi"), capacity("2Gi", "1025Mi"), True, id="largest-volume-grew"),
        pytest.param(capacity("1Gi"), None, False, id="capacity-gone"),
    ],
)
def test_csi_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(VolumeBinding(gates=DEFAULT_GATES), POD, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    changed = ActionType.ADD | ActionType.UPDATE
    assert registered(VolumeBinding(gates=DEFAULT_GATES)) == {
        EventResource.STORAGE_CLASS: changed,
        EventResource.PERSISTENT_VOLUME_CLAIM: changed,
        EventResource.PERSISTENT_VOLUME: changed,
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
        EventResource.CSI_NODE: changed,
        EventResource.CSI_DRIVER: ActionType.UPDATE,
        EventResource.CSI_STORAGE_CAPACITY: changed,
    }
