"""What kube-scheduler v1.36 sleeps through: changes after which a rejected pod fits, and which wake nobody.

We behave the same, unless the configuration says `wakeups: complete`. Each case shows that the pod was rejected
everywhere, fits after the change, and is not woken by the plugin that rejected it, until nothing may be missed. Without
that such a pod waits for another event or for the periodic flush. `test_complete_wakeups` looks for more of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracle.wakeup_worlds import ZONE, Change, fits, is_rejected
from tests.support.devices import asks, claim_of, device, device_class, held, slice_of

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.args import NodeAffinityArgs, NodeResourcesFitArgs, PodTopologySpreadArgs
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.core.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.core.plugins.node_affinity import NodeAffinity
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread
from bayplan.core.plugins.volume_binding import VolumeBinding
from bayplan.core.plugins.volume_restrictions import VolumeRestrictions
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import NodeSelector, Pod, TopologySpreadConstraint
from bayplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSIPersistentVolumeSource,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from bayplan.model.volumes import GCEPersistentDiskVolumeSource, Volume
from bayplan.testing.builders import (
    claim,
    csi_node,
    namespace,
    node,
    node_term,
    pod,
    service,
    storage_class,
    volume,
)
from bayplan.testing.plugin_wakeups import is_same_pod, is_woken

IN_POOL = NodeAffinitySpec(required=NodeSelector(node_selector_terms=[node_term("pool")]))
DISK = Volume(name="d", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d"))

NODES_AND_ROOM = [
    pytest.param(
        NodeAffinity(NodeAffinityArgs(added_affinity=IN_POOL)),
        pod("p").obj(),
        [],
        (node("n").obj(), node("n").label("pool").obj()),
        id="a node begins to match addedAffinity, the pod's own demands being met before",
    ),
    pytest.param(
        NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=frozenset({"example.com/x"})), gates=DEFAULT_GATES),
        pod("p").cpu(1).request({"example.com/x": 1}).obj(),
        [node("n").capacity(cpu=0).obj()],
        (None, node("m").obj()),
        id="a new node lacks a resource that the profile ignores",
    ),
]

# ---------------------------------------------------------------- volumes

LATE = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj()
MADE = storage_class("made", mode="WaitForFirstConsumer", provisioner="disk.example.com").obj()
KEPT_FOR = claim("c").storage_class("late")
EPHEMERAL = pod("p").ephemeral("s").obj()


def driver(*, tells_capacity: bool) -> CSIDriver:
    return CSIDriver(metadata=ObjectMeta(name="disk.example.com"), spec=CSIDriverSpec(storage_capacity=tells_capacity))


def attached_volume(number: int, *, bound: bool = True) -> list[Object]:
    source = CSIPersistentVolumeSource(driver="disk.example.com", volume_handle=f"h{number}")
    held = volume(f"v{number}").set(csi=source).obj()
    return [held, claim(f"c{number}").bound(f"v{number}").obj()] if bound else [held]


def limit(count: int | None) -> Object:
    return csi_node("n").driver("disk.example.com", count=count).obj()


# A node that has one volume attached, and a claim of a second one.
USED_NODE: list[Object] = [
    node("n").obj(), pod("q").claim("c0").node("n").obj(), *attached_volume(0), *attached_volume(1)
]  # fmt: skip

IN_ZONE_A = volume("v").set(gce_persistent_disk=DISK.gce_persistent_disk).node_affinity(f"{ZONE} in (a)").obj()
LEAVES_DISKS_TO_CSI = csi_node("n").annotations({MIGRATED_PLUGINS_ANNOTATION: "kubernetes.io/gce-pd"}).obj()

VOLUMES = [
    pytest.param(
        VolumeRestrictions(),
        pod("p").volume(DISK).obj(),
        [node("n").obj()],
        (pod("q", "other").volume(DISK).node("n").obj(), None),
        id="a disk is freed in another namespace",
    ),
    pytest.param(
        VolumeRestrictions(),
        pod("p").claim("c").obj(),
        [node("n").obj(), claim("c").modes("ReadWriteOncePod").obj(), pod("q").claim("c").node("m").obj()],
        (node("m").obj(), None),
        id="a node goes before the pod on it that uses the claim",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c1").obj(),
        [*USED_NODE, limit(1)],
        (None, node("m").obj()),
        id="a new node has no limits",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c1").obj(),
        USED_NODE,
        (limit(1), limit(None)),
        id="a limit is lifted",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c1").obj(),
        USED_NODE,
        (limit(1), None),
        id="a CSINode goes",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c1").obj(),
        [*USED_NODE, limit(1)],
        (None, pod("r").claim("c1").node("n").obj()),
        id="a pod comes by which the volume is attached already",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c2").obj(),
        [*USED_NODE, limit(1), MADE],
        (claim("c2").storage_class("made").obj(), claim("c2").storage_class("made").bound("v0").obj()),
        id="a claim is bound to a volume that is attached already",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        EPHEMERAL,
        [
            node("n").obj(),
            limit(1),
            MADE,
            *attached_volume(0),
            claim("p-s").storage_class("made").owner(EPHEMERAL).obj(),
        ],
        (
            VolumeAttachment(
                metadata=ObjectMeta(name="a"),
                spec=VolumeAttachmentSpec(
                    attacher="disk.example.com",
                    node_name="n",
                    source=VolumeAttachmentSource(persistent_volume_name="v0"),
                ),
            ),
            None,
        ),
        id="a volume is detached and the pod has ephemeral ones only",
    ),
    pytest.param(
        VolumeBinding(gates=DEFAULT_GATES),
        pod("p").claim("c").obj(),
        [node("n").obj(), MADE, claim("c").storage_class("made").obj()],
        (driver(tells_capacity=True), driver(tells_capacity=False)),
        id="the driver of a claim's class no longer tells its capacity",
    ),
    pytest.param(
        VolumeBinding(gates=DEFAULT_GATES),
        pod("p").claim("c").obj(),
        [node("n").obj(), MADE, claim("c").storage_class("made").obj()],
        (driver(tells_capacity=True), None),
        id="the driver of a claim's class goes",
    ),
    pytest.param(
        VolumeBinding(gates=DEFAULT_GATES),
        pod("p").claim("c").obj(),
        [node("n").obj(), LATE, KEPT_FOR.obj(), volume("w").storage_class("late").obj()],
        (volume("v").storage_class("late").node_affinity(f"{ZONE} in (a)").bound_to(KEPT_FOR).obj(), None),
        id="a volume out of reach that was kept for the claim goes",
    ),
    pytest.param(
        VolumeBinding(gates=DEFAULT_GATES),
        pod("p").claim("c").obj(),
        [node("n").zone("a").obj(), claim("c").bound("v").obj(), IN_ZONE_A],
        (LEAVES_DISKS_TO_CSI, None),
        id="a CSINode goes that left the disk of a volume to CSI",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c1").obj(),
        [*[obj for obj in USED_NODE if obj.metadata.name != "c0"], limit(1)],
        (attached_volume(0)[1], None),
        id="the claim of a running pod goes",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c1").obj(),
        [*[obj for obj in USED_NODE if obj.metadata.name != "v0"], limit(1)],
        (attached_volume(0)[0], None),
        id="the volume of a running pod's claim goes",
    ),
    pytest.param(
        NodeVolumeLimits(gates=DEFAULT_GATES),
        pod("p").claim("c2").obj(),
        [*USED_NODE, limit(1), claim("c2").storage_class("made").obj()],
        (MADE, None),
        id="the class of a claim goes, and with it the driver it counts for",
    ),
]

# ---------------------------------------------------------------- other pods

IN_X, IN_Y = node("n").labels(zone="x").obj(), node("m").labels(zone="y").obj()
HOSTILE = pod("q").pod_anti_affinity("zone", {"app": "p"}).node("n").obj()
ZONED = pod("p").labels(app="a").spread("zone", {"app": "a"}, min_domains=2)
TWO_TERMS = pod("p").labels(app="a").pod_affinity("zone", {"app": "a"}).pod_affinity("rack", {"app": "a"}).obj()

OVER_TWO_ZONES = TopologySpreadConstraint(
    max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule", min_domains=2
)

OTHER_PODS = [
    pytest.param(
        PodTopologySpread(gates=DEFAULT_GATES),
        ZONED.obj(),
        [IN_X],
        (pod("q").labels(app="a").node("n").obj(), pod("q").labels(app="a").node("n").terminating().obj()),
        id="a pod begins to terminate and no longer counts",
    ),
    pytest.param(
        PodTopologySpread(gates=DEFAULT_GATES),
        ZONED.node_selector(disk="ssd").obj(),
        [pod("q").labels(app="a").node("n").obj()],
        (node("n").labels(zone="x", disk="ssd").obj(), node("n").labels(zone="x").obj()),
        id="a node no longer matches the pod's selector and its pods no longer count",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").pod_anti_affinity("zone", {"app": "a"}).pod_anti_affinity("zone", {"tier": "b"}).obj(),
        [IN_X],
        (pod("q").labels(app="a").node("n").obj(), None),
        id="a pod goes that met one of two anti-affinity terms",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").labels(app="p").obj(),
        [IN_X],
        (
            pod("q").pod_anti_affinity("zone", {"app": "p"}).pod_anti_affinity("zone", {"app": "z"}).node("n").obj(),
            None,
        ),
        id="a pod goes of whose two anti-affinity terms one meant this pod",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").labels(app="p").obj(),
        [IN_X, HOSTILE],
        (None, IN_Y),
        id="a node comes that no pod keeps this one away from",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").labels(app="p").obj(),
        [HOSTILE],
        (IN_X, node("n").obj()),
        id="a node leaves the domain that a pod keeps this one away from",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").pod_anti_affinity("zone", {"app": "a"}).obj(),
        [IN_X, pod("q").labels(app="a").node("m").obj()],
        (node("m").labels(zone="x").obj(), None),
        id="a node goes before the pod on it that is to be kept away from",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").pod_affinity("zone", {"app": "a"}, namespace_selector={"team": "b"}).obj(),
        [IN_X, namespace("b").labels(team="b").obj()],
        (None, pod("q", "b").labels(app="a").node("n").obj()),
        id="a wanted pod comes to a namespace that is selected by a label",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        TWO_TERMS,
        [IN_X, node("m").labels(zone="y", rack="1").obj()],
        (pod("q").labels(app="a").node("n").obj(), None),
        id="the only pod of a group goes and this one may be the first",
    ),
    pytest.param(
        InterPodAffinity(gates=DEFAULT_GATES),
        pod("p").pod_affinity("zone", {"app": "a"}, namespace_selector={"team": "b"}).obj(),
        [IN_X, pod("q", "b").labels(app="a").node("n").obj()],
        (namespace("b").obj(), namespace("b").labels(team="b").obj()),
        id="a namespace with a wanted pod gets the label that selects it",
    ),
    pytest.param(
        PodTopologySpread(gates=DEFAULT_GATES),
        pod("p").labels(app="b", v="1").spread("zone", {"app": "a"}, min_domains=2, match_label_keys=["v"]).obj(),
        [IN_X, pod("q").labels(app="a", v="1").node("n").obj(), pod("r").labels(app="a", v="1").node("n").obj()],
        (
            pod("p").labels(app="b", v="1").spread("zone", {"app": "a"}, min_domains=2, match_label_keys=["v"]).obj(),
            pod("p").labels(app="b", v="2").spread("zone", {"app": "a"}, min_domains=2, match_label_keys=["v"]).obj(),
        ),
        id="the pod gets another value of a label by which it is counted with others",
    ),
    pytest.param(
        PodTopologySpread(
            PodTopologySpreadArgs(default_constraints=(OVER_TWO_ZONES,), defaulting_type="List"), gates=DEFAULT_GATES
        ),
        pod("p").labels(app="a").obj(),
        [IN_X, pod("q").labels(app="a").node("n").obj()],
        (service("s", app="a").obj(), None),
        id="the service goes by which default constraints select pods",
    ),
]

# ---------------------------------------------------------------- devices

WANTS_GPU = pod("p").resource_claim("gpu", "mine").obj()
ONE_GPU: list[Object] = [
    node("n").obj(), device_class(), slice_of("n", device("d0")), claim_of("mine", asks("r"))
]  # fmt: skip
EXTENDED = "example.com/gpu"

DEVICES = [
    pytest.param(
        DynamicResources(gates=DEFAULT_GATES),
        WANTS_GPU,
        ONE_GPU,
        (held(claim_of("other", asks("r")), "n", "d0"), None),
        id="a claim goes that was never deallocated",
    ),
    pytest.param(
        DynamicResources(gates=DEFAULT_GATES),
        WANTS_GPU,
        ONE_GPU[:2] + ONE_GPU[3:] + [slice_of("n", device("d0"), name="one")],
        (slice_of("n", device("d0"), name="two"), None),
        id="a slice goes that made its pool invalid",
    ),
    pytest.param(
        DynamicResources(gates=DEFAULT_GATES),
        pod("p").request({EXTENDED: 1}).obj(),
        [node("n").obj(), slice_of("n", device("d0")), device_class("b", extended=EXTENDED)],
        (device_class("a", "false", extended=EXTENDED), None),
        id="a class goes that stood for an extended resource, and another stands for it",
    ),
]


@pytest.mark.parametrize(("plugin", "waiting", "others", "change"), [*NODES_AND_ROOM, *VOLUMES, *OTHER_PODS, *DEVICES])
def test_is_slept_through(plugin: Any, waiting: Pod, others: list[Object], change: Change) -> None:
    """Rejected before, fitting after, and woken only where nothing may be missed."""
    old, new = change
    is_its_own = isinstance(new, Pod) and is_same_pod(waiting, new)
    before = [*others, *([] if old is None or is_its_own else [old])]
    after = [*others, *([] if new is None or is_its_own else [new])]
    assert is_rejected(plugin, waiting, before)
    assert fits(plugin, new if isinstance(new, Pod) and is_its_own else waiting, after)
    assert not is_woken(plugin, waiting, old, new, after)
    assert is_woken(plugin, waiting, old, new, after, Wakeups.COMPLETE)
