"""A change that lets a rejected pod fit wakes it: the plugin that rejected it has registered for the change.

Each plugin is asked alone, about random small clusters and one change at a time. Where kube-scheduler itself sleeps
through a change, so do we; those cases are listed at the end, each with a cluster that shows it.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle import wakeup_worlds as worlds
from tests.oracle.wakeup_worlds import ZONE, World
from tests.requeueing import is_worth_it
from tests.support import cache_of, verdicts

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.framework.args import NodeAffinityArgs, NodeResourcesFitArgs
from bayplan.core.framework.requeue import RequeuePlugin
from bayplan.core.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.core.plugins.node_affinity import NodeAffinity
from bayplan.core.plugins.node_declared_features import NodeDeclaredFeatures
from bayplan.core.plugins.node_name import NodeName
from bayplan.core.plugins.node_ports import NodePorts
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.plugins.node_unschedulable import NodeUnschedulable
from bayplan.core.plugins.node_volume_limits import NodeVolumeLimits
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread
from bayplan.core.plugins.taint_toleration import TaintToleration
from bayplan.core.plugins.volume_binding import VolumeBinding
from bayplan.core.plugins.volume_restrictions import VolumeRestrictions
from bayplan.core.plugins.volume_zone import VolumeZone
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import NodeAffinity as NodeAffinitySpec
from bayplan.model.pod import NodeSelector, Pod
from bayplan.model.storage import CSIDriver, CSIDriverSpec, CSIPersistentVolumeSource
from bayplan.model.volumes import GCEPersistentDiskVolumeSource, Volume
from bayplan.testing.builders import claim, csi_node, node, node_term, pod, storage_class, volume

CASES = [
    pytest.param(NodeUnschedulable(), worlds.cordons(), id="cordons"),
    pytest.param(NodeName(), worlds.names(), id="names"),
    pytest.param(TaintToleration(), worlds.taints(), id="taints"),
    pytest.param(NodeAffinity(), worlds.node_labels(), id="node-labels"),
    pytest.param(NodeDeclaredFeatures(), worlds.features(), id="features"),
    pytest.param(NodePorts(), worlds.ports(), id="ports"),
    pytest.param(NodeResourcesFit(), worlds.rooms(), id="rooms"),
    pytest.param(VolumeRestrictions(), worlds.disks(), id="disks"),
    pytest.param(PodTopologySpread(), worlds.spreads(), id="spreads"),
    pytest.param(InterPodAffinity(), worlds.attractions(), id="attractions"),
    pytest.param(InterPodAffinity(), worlds.aversions(), id="aversions"),
    pytest.param(InterPodAffinity(), worlds.hostilities(), id="hostilities"),
    pytest.param(NodeVolumeLimits(), worlds.attachments(), id="attachments"),
    pytest.param(VolumeZone(), worlds.zones(), id="zones"),
    pytest.param(VolumeBinding(), worlds.bindings(), id="bindings"),
]

#: In so many of the changes looked at the pod must have begun to fit, or the property says nothing.
TURNS_AT_LEAST = 5


def is_rejected(plugin: Any, waiting: Pod, objects: list[Object]) -> bool:
    """On every node, of which there is one; without nodes it is not the plugin that rejects a pod."""
    if not any(isinstance(thing, Node) for thing in objects):
        return False
    said = verdicts(plugin, cache_of(*objects), waiting)
    return bool(said) and not any(status.ok for status in said.values())


def fits(plugin: Any, waiting: Pod, objects: list[Object]) -> bool:
    return any(isinstance(thing, Node) for thing in objects) and not is_rejected(plugin, waiting, objects)


def turns(plugin: Any, world: World) -> int:
    """Check every change of the world; in how many the pod began to fit."""
    if not is_rejected(plugin, world.waiting, world.objects()):
        return 0
    count = 0
    if fits(plugin, world.waiting_later, world.objects()):
        count += 1
        assert is_worth_it(plugin, world.waiting, world.waiting, world.waiting_later)
    for position, (old, new) in enumerate(world.things):
        if old != new and fits(plugin, world.waiting, world.objects(changed=position)):
            count += 1
            assert is_worth_it(plugin, world.waiting, old, new), (old, new)
    return count


@pytest.mark.parametrize(("plugin", "drawn"), CASES)
def test_a_change_that_helps_wakes_the_pod(plugin: Any, drawn: st.SearchStrategy[World]) -> None:
    """One change, one plugin, all nodes."""
    count = 0

    @settings(max_examples=150, database=None)
    @given(drawn)
    def holds(world: World) -> None:
        nonlocal count
        count += turns(plugin, world)

    holds()
    assert count >= TURNS_AT_LEAST


def test_every_plugin_that_can_reject_says_what_helps() -> None:
    """In the default profile none is left to be woken by everything."""
    (profile,) = build_profiles(load_configuration(None)).values()
    rejecting = {plugin.name: plugin for plugin in (*profile.pre_enqueue, *profile.pre_filter, *profile.filter)}
    assert len(rejecting) == 15
    for plugin in rejecting.values():
        assert isinstance(plugin, RequeuePlugin)
        assert plugin.registrations()


# ---------------------------------------------------------------- what kube-scheduler v1.36 sleeps through

DISK = Volume(name="d", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d"))
IN_POOL = NodeAffinitySpec(required=NodeSelector(node_selector_terms=[node_term("pool")]))
LATE = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj()
MADE = storage_class("made", mode="WaitForFirstConsumer", provisioner="disk.example.com").obj()
WANTED = claim("c").storage_class("late")
EMPTY_CLASSES: list[Object] = [LATE, MADE, claim("c").storage_class("made").obj()]


def driver(tells_capacity: bool) -> CSIDriver:
    return CSIDriver(
        metadata=ObjectMeta(name="disk.example.com"), spec=CSIDriverSpec(storage_capacity=tells_capacity)
    )


def full_node(count: int | None = 1) -> list[Object]:
    """A node that may attach one volume, and has; the second one has nowhere to go."""
    things: list[Object] = [node("n").obj(), pod("q").claim("c0").node("n").obj()]
    for number in range(2):
        source = CSIPersistentVolumeSource(driver="x", volume_handle=f"h{number}")
        things += [volume(f"v{number}").set(csi=source).obj(), claim(f"c{number}").bound(f"v{number}").obj()]
    return things if count is None else [*things, csi_node("n").driver("x", count=count).obj()]


SLEPT_THROUGH = [
    pytest.param(
        NodeAffinity(NodeAffinityArgs(added_affinity=IN_POOL)),
        pod("p").obj(),
        [],
        (node("n").obj(), node("n").label("pool").obj()),
        id="a node begins to match addedAffinity alone",
    ),
    pytest.param(
        NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=("example.com/x",))),
        pod("p").cpu(1).request({"example.com/x": 1}).obj(),
        [node("n").capacity(cpu=0).obj()],
        (None, node("m").obj()),
        id="a new node lacks an ignored resource",
    ),
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
        [
            node("n").obj(),
            claim("c").modes("ReadWriteOncePod").obj(),
            pod("q").claim("c").node("m").obj(),
        ],
        (node("m").obj(), None),
        id="the node of a claim's user goes before its pods",
    ),
    pytest.param(
        NodeVolumeLimits(),
        pod("p").claim("c1").obj(),
        full_node(),
        (None, node("m").obj()),
        id="a new node has no limits",
    ),
    pytest.param(
        NodeVolumeLimits(),
        pod("p").claim("c1").obj(),
        full_node(None),
        (csi_node("n").driver("x", count=1).obj(), csi_node("n").driver("x").obj()),
        id="a limit goes",
    ),
    pytest.param(
        NodeVolumeLimits(),
        pod("p").claim("c1").obj(),
        full_node(None),
        (csi_node("n").driver("x", count=1).obj(), None),
        id="a CSINode goes",
    ),
    pytest.param(
        NodeVolumeLimits(),
        pod("p").claim("c1").obj(),
        full_node(),
        (None, pod("r").claim("c1").node("n").obj()),
        id="a pod comes that has the volume attached",
    ),
    pytest.param(
        NodeVolumeLimits(),
        pod("p").claim("c1").obj(),
        [thing for thing in full_node() if thing.metadata.name != "c1"],
        (claim("c1").bound("v1").obj(), claim("c1").bound("v0").obj()),
        id="a claim is bound to another volume",
    ),
    pytest.param(
        VolumeBinding(),
        pod("p").claim("c").obj(),
        [node("n").obj(), *EMPTY_CLASSES],
        (driver(True), driver(False)),
        id="the driver of a claim's class no longer tells its capacity",
    ),
    pytest.param(
        VolumeBinding(),
        pod("p").claim("c").obj(),
        [node("n").obj(), *EMPTY_CLASSES],
        (driver(True), None),
        id="the driver of a claim's class goes",
    ),
    pytest.param(
        VolumeBinding(),
        pod("p").claim("c").obj(),
        [node("n").obj(), LATE, WANTED.obj(), volume("w").storage_class("late").obj()],
        (volume("v").storage_class("late").node_affinity(f"{ZONE} in (a)").bound_to(WANTED).obj(), None),
        id="a volume kept for the claim goes and another is free",
    ),
    pytest.param(
        PodTopologySpread(),
        pod("p").labels(app="a").spread("zone", {"app": "a"}).obj(),
        [
            node("n").labels(zone="x").obj(),
            node("m").labels(zone="y").taint("t").obj(),
            pod("q1").labels(app="a").node("n").obj(),
            pod("q2").labels(app="a").node("m").obj(),
            pod("q3").labels(app="a").node("m").obj(),
        ],
        None,
        id="placeholder",
    ),
]
