"""Random small clusters in which one plugin is likely to reject a pod everywhere, each with changes that may come.

A world is a waiting pod and things with a past and a future: an object before and after, None where it is not there.
Worlds hold no change that kube-scheduler is known to sleep through; `test_known_missed_wakeups` lists those by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st
from tests.support.caches import cache_of, verdicts

from bayplan.core.framework.verdict import CycleError
from bayplan.model.fingerprint import fingerprint
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector, ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSIPersistentVolumeSource,
    CSIStorageCapacity,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from bayplan.model.volumes import GCEPersistentDiskVolumeSource, Volume
from bayplan.testing.builders import NodeBuilder, claim, csi_node, node, pod, storage_class, volume
from bayplan.testing.pods import PodBuilder

Change: TypeAlias = tuple[Object | None, Object | None]

ZONE = "topology.kubernetes.io/zone"
NODE_NAMES = ("n0", "n1", "n2")
# Most pods share a node or two, so that there is somebody in the way everywhere.
CROWDED = ("n0", "n0", "n0", "n1", "n2")
STAYS, CHANGES, COMES, GOES = "stays", "changes", "comes", "goes"
# For things without which there is nothing else to find out.
RARELY_COMES = (STAYS,) * 7 + (COMES,)


@dataclass
class World:
    """A waiting pod, itself with a future, and things around it."""

    waiting: Pod
    waiting_later: Pod
    things: list[Change] = field(default_factory=list)

    def __repr__(self) -> str:
        things = [" -> ".join(map(shown, change)) for change in self.things]
        return "\n".join([shown(self.waiting), shown(self.waiting_later), *things])

    def objects(self, changed: int | None = None) -> list[Object]:
        """All that is there, after the thing at this position has changed."""
        present = (new if position == changed else old for position, (old, new) in enumerate(self.things))
        return [thing for thing in present if thing is not None]


def shown(thing: Object | None) -> str:
    """The object as JSON, without what is default."""
    return "nothing" if thing is None else fingerprint(thing).decode()


def is_rejected(plugin: Any, waiting: Pod, objects: list[Object]) -> bool:
    """On every node, of which there is one; without nodes it is not the plugin that rejects a pod."""
    if not any(isinstance(thing, Node) for thing in objects):
        return False
    said = verdicts(plugin, cache_of(*objects), waiting)
    return bool(said) and not any(status.ok for status in said.values())


def fits(plugin: Any, waiting: Pod, objects: list[Object]) -> bool:
    return any(isinstance(thing, Node) for thing in objects) and not is_rejected(plugin, waiting, objects)


def begins_to_fit(plugin: Any, before: tuple[Pod, list[Object]], after: tuple[Pod, list[Object]]) -> bool:
    """Whether the plugin rejected the pod on some node and then lets it through on one where it could not go before.

    Other plugins may have rejected it elsewhere, so that this is what must wake it.
    """
    try:
        closed_before, open_before = _closed_and_open(plugin, *before)
        _, open_after = _closed_and_open(plugin, *after)
    except CycleError:
        return False  # an attempt that ends in an error parks nobody, and places nobody
    return bool(closed_before) and not open_after <= open_before


def _closed_and_open(plugin: Any, waiting: Pod, objects: list[Object]) -> tuple[set[str], set[str]]:
    """Nodes that the plugin keeps the pod from, and the others."""
    cache = cache_of(*objects)
    names = {thing.metadata.name for thing in objects if isinstance(thing, Node)}
    if hasattr(plugin, "pre_enqueue") and not plugin.pre_enqueue(cache.info(waiting)).ok:
        return names, set()
    said = verdicts(plugin, cache, waiting)
    if "*" in said:
        return names, set()
    closed = {name for name, status in said.items() if not status.ok}
    return closed, names - closed


def future(draw: st.DrawFn, now: Object, later: Object, *fates: str) -> Change:
    """What becomes of an object."""
    changes: dict[str, Change] = {
        STAYS: (now, now),
        CHANGES: (now, later),
        COMES: (None, now),
        GOES: (now, None),
    }
    return changes[draw(st.sampled_from(fates))]


def nodes(draw: st.DrawFn, dress: Callable[[NodeBuilder], NodeBuilder], *fates: str) -> list[Change]:
    """One to three nodes; `dress` is called for each as it is and as it will be."""
    made = []
    for name in NODE_NAMES[: draw(st.sampled_from([1, 1, 2, 3]))]:
        now, later = (dress(node(name)).obj() for _ in range(2))
        made.append(future(draw, now, later, *fates))
    return made


def running(draw: st.DrawFn, dress: Callable[[PodBuilder], PodBuilder], *fates: str) -> list[Change]:
    """Pods on nodes. What `dress` does not draw is the same before and after."""
    made = []
    for number in range(draw(st.integers(1, 4))):
        on = draw(st.sampled_from(CROWDED))
        now, later = (dress(pod(f"q{number}").node(on)).obj() for _ in range(2))
        made.append(future(draw, now, later, *fates))
    return made


def unchanging(waiting: PodBuilder, things: list[Change]) -> World:
    return World(waiting.obj(), waiting.obj(), things)


# ---------------------------------------------------------------- nodes alone


@st.composite
def cordons(draw: st.DrawFn) -> World:
    """NodeUnschedulable."""

    def dress(on: NodeBuilder) -> NodeBuilder:
        return on.unschedulable() if draw(st.integers(0, 3)) else on

    later = pod("p").tolerates(draw(st.sampled_from(["node.kubernetes.io/unschedulable", "other"])))
    return World(pod("p").obj(), later.obj(), nodes(draw, dress, CHANGES, COMES))


@st.composite
def names(draw: st.DrawFn) -> World:
    """NodeName."""
    return unchanging(pod("p").node(draw(st.sampled_from(NODE_NAMES))), nodes(draw, lambda on: on, STAYS, COMES, GOES))


@st.composite
def taints(draw: st.DrawFn) -> World:
    """TaintToleration."""
    key = st.sampled_from(["a", "b"])

    def dress(on: NodeBuilder) -> NodeBuilder:
        for _ in range(draw(st.integers(0, 3))):
            on.taint(draw(key), draw(st.sampled_from(["", "1"])), draw(st.sampled_from(["NoSchedule", "NoExecute"])))
        return on

    waiting = pod("p").tolerates(draw(key), draw(st.sampled_from([None, "1"])))
    now = waiting.obj()
    return World(now, waiting.tolerates(draw(key)).obj(), nodes(draw, dress, CHANGES, CHANGES, COMES, GOES))


@st.composite
def node_labels(draw: st.DrawFn) -> World:
    """NodeAffinity."""

    def dress(on: NodeBuilder) -> NodeBuilder:
        return on.labels(disk=draw(st.sampled_from(["ssd", "hdd"])), rack=draw(st.sampled_from(["1", "5", "9"])))

    waiting = pod("p")
    if draw(st.booleans()):
        waiting.node_selector(disk="ssd")
    terms = ("disk in (ssd)", "rack > 5", "rack notin (1, 9)", "disk, rack < 4")
    waiting.node_affinity(*draw(st.lists(st.sampled_from(terms), min_size=1, max_size=2)))
    return unchanging(waiting, nodes(draw, dress, CHANGES, CHANGES, COMES, GOES))


@st.composite
def features(draw: st.DrawFn) -> World:
    """NodeDeclaredFeatures."""
    needed = "UserNamespacesHostNetworkSupport"

    def dress(on: NodeBuilder) -> NodeBuilder:
        return on.declares(*draw(st.lists(st.sampled_from(["x", needed]), max_size=2)))

    waiting = pod("p").host_network().obj()
    waiting.spec.host_users = False
    later = pod("p").host_network().labels(a="1").obj()
    later.spec.host_users = draw(st.sampled_from([False, None]))
    return World(waiting, later, nodes(draw, dress, CHANGES, COMES, GOES))


# ---------------------------------------------------------------- nodes and the pods on them


@st.composite
def ports(draw: st.DrawFn) -> World:
    """NodePorts."""
    number = st.sampled_from([80, 80, 80, 81])
    address = st.sampled_from(["", "", "10.0.0.1", "10.0.0.2"])

    def dress(made: PodBuilder) -> PodBuilder:
        return made.port(draw(number), ip=draw(address))

    waiting = pod("p").port(draw(number), ip=draw(address)).port(80)
    return unchanging(
        waiting, nodes(draw, lambda on: on, STAYS, COMES) + running(draw, dress, STAYS, GOES, GOES, COMES)
    )


@st.composite
def rooms(draw: st.DrawFn) -> World:
    """NodeResourcesFit."""
    device = "example.com/device"

    def dress_node(on: NodeBuilder) -> NodeBuilder:
        given = {device: draw(st.integers(0, 2))} if draw(st.booleans()) else {}
        return on.capacity(
            given, cpu=draw(st.integers(1, 4)), memory=draw(st.integers(1, 4)), pods=draw(st.integers(1, 4))
        )

    def dress_pod(made: PodBuilder) -> PodBuilder:
        return made.request(cpu=draw(st.integers(0, 3)), memory=draw(st.integers(0, 3)))

    waiting = dress_pod(pod("p"))
    if draw(st.booleans()):
        waiting.request({device: draw(st.integers(0, 2))})
    things = nodes(draw, dress_node, STAYS, CHANGES, COMES) + running(draw, dress_pod, CHANGES, GOES, COMES)
    return World(waiting.obj(), dress_pod(pod("p")).obj(), things)


@st.composite
def disks(draw: st.DrawFn) -> World:
    """VolumeRestrictions."""

    def disk() -> Volume:
        name, read_only = draw(st.sampled_from(["d", "d", "e"])), draw(st.sampled_from([False, False, True]))
        return Volume(name=name, gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only))

    def dress(made: PodBuilder) -> PodBuilder:
        return made.volume(disk()) if draw(st.booleans()) else made.claim(draw(st.sampled_from(["c0", "c0", "c1"])))

    things = nodes(draw, lambda on: on, STAYS, COMES) + running(draw, dress, STAYS, GOES, GOES, COMES)
    for name in ("c0", "c1"):
        mode = draw(st.sampled_from(["ReadWriteOncePod", "ReadWriteOncePod", "ReadWriteOnce"]))
        given = claim(name).modes(mode).obj()
        things.append(future(draw, given, given, *RARELY_COMES))
    return unchanging(dress(pod("p")), things)


@st.composite
def spreads(draw: st.DrawFn) -> World:
    """PodTopologySpread."""
    apps = st.sampled_from(["a", "b", "c"])

    def dress_node(on: NodeBuilder) -> NodeBuilder:
        for key in ("zone", "rack"):
            value = draw(st.sampled_from(["x", "y", "y", ""]))
            if value:
                on.label(key, value)
        return on.taint("t") if draw(st.booleans()) else on

    def dress_pod(made: PodBuilder) -> PodBuilder:
        return made.labels(app=draw(apps))

    selector = st.sampled_from(["app", "app", "app in (a, b)", "app notin (a)", "app = a"])
    waiting = dress_pod(pod("p"))
    for key in draw(st.sampled_from([("zone",), ("zone", "rack")])):
        policy, domains = draw(st.sampled_from([None, "Honor"])), draw(st.sampled_from([None, 2, 3, 3]))
        waiting.spread(key, draw(selector), node_taints_policy=policy, min_domains=domains)
    now = waiting.obj()
    later = dress_pod(waiting)
    if draw(st.booleans()):
        later.tolerates("t")
    things = nodes(draw, dress_node, STAYS, CHANGES, COMES, GOES) + running(draw, dress_pod, CHANGES, GOES, COMES)
    return World(now, later.obj(), things)


def _dress_zone(draw: st.DrawFn) -> Callable[[NodeBuilder], NodeBuilder]:
    def dress(on: NodeBuilder) -> NodeBuilder:
        value = draw(st.sampled_from(["x", "y", ""]))
        return on.label("zone", value) if value else on

    return dress


@st.composite
def attractions(draw: st.DrawFn) -> World:
    """InterPodAffinity: the waiting pod wants to be near others."""
    app = st.sampled_from(["a", "b"])
    waiting = pod("p").labels(app=draw(app)).pod_affinity("zone", {"app": draw(app)})
    now = waiting.obj()
    things = nodes(draw, _dress_zone(draw), STAYS, CHANGES, COMES, GOES)
    things += running(draw, lambda made: made.labels(app=draw(app)), CHANGES, COMES, GOES)
    return World(now, waiting.labels(app=draw(app)).obj(), things)


@st.composite
def aversions(draw: st.DrawFn) -> World:
    """InterPodAffinity: the waiting pod wants to be apart from others."""
    app = st.sampled_from(["a", "b"])
    selecting = st.sampled_from(["app = a", "app", "app notin (b)"])
    waiting = pod("p").pod_anti_affinity("zone", draw(selecting), namespace_selector={})
    things = nodes(draw, _dress_zone(draw), STAYS, CHANGES, COMES)
    return unchanging(waiting, things + running(draw, lambda made: made.labels(app=draw(app)), CHANGES, COMES, GOES))


@st.composite
def hostilities(draw: st.DrawFn) -> World:
    """InterPodAffinity: others want to be apart from the waiting pod."""

    def dress(made: PodBuilder) -> PodBuilder:
        return made.pod_anti_affinity("zone", {"app": draw(st.sampled_from(["a", "a", "a", "b"]))})

    things = nodes(draw, lambda on: on.label("zone", draw(st.sampled_from(["x", "x", "y"]))), STAYS)
    things += running(draw, dress, STAYS, COMES, GOES, GOES)
    later = pod("p").labels(app=draw(st.sampled_from(["a", "b", "c"]))).obj()
    return World(pod("p").labels(app="a").obj(), later, things)


# ---------------------------------------------------------------- storage


@st.composite
def attachments(draw: st.DrawFn) -> World:
    """NodeVolumeLimits."""
    claim_names = ("c0", "c1", "c2", "c3")

    def dress(made: PodBuilder) -> PodBuilder:
        return made.claim(draw(st.sampled_from(claim_names)))

    things = nodes(draw, lambda on: on, STAYS) + running(draw, dress, STAYS, GOES)
    for name in NODE_NAMES:
        now, later = (csi_node(name).driver("x", count=draw(st.integers(0, 2))).obj() for _ in range(2))
        things.append(future(draw, now, later, STAYS, CHANGES))
    for number, name in enumerate(claim_names):
        bound = claim(name).bound(f"v{number}").obj()
        things.append(future(draw, bound, bound, *RARELY_COMES))
        source = CSIPersistentVolumeSource(driver="x", volume_handle=f"h{number}")
        held = volume(f"v{number}").set(csi=source).obj()
        things.append((held, held))
        on = VolumeAttachmentSpec(
            attacher="x",
            node_name=draw(st.sampled_from(NODE_NAMES)),
            source=VolumeAttachmentSource(persistent_volume_name=f"v{number}"),
        )
        attached = VolumeAttachment(metadata=ObjectMeta(name=f"a{number}"), spec=on)
        things.append(future(draw, attached, attached, COMES, GOES))
    return unchanging(dress(pod("p")), things)


@st.composite
def zones(draw: st.DrawFn) -> World:
    """VolumeZone."""
    zone = st.sampled_from(["a", "b", "c"])
    things = nodes(draw, lambda on: on.zone(draw(zone)), STAYS, CHANGES, COMES)
    held = [volume("v").labels({ZONE: draw(st.sampled_from(["a", "b__c"]))}).obj() for _ in range(2)]
    things.append(future(draw, held[0], held[1], CHANGES, *RARELY_COMES))
    waits = storage_class("late", mode="WaitForFirstConsumer").obj()
    things.append(future(draw, waits, waits, *RARELY_COMES))
    bound, unbound = claim("c").storage_class("late").bound("v").obj(), claim("c").storage_class("late").obj()
    claimed = draw(st.sampled_from([bound, bound, bound, unbound]))
    things.append(future(draw, claimed, bound, CHANGES, *RARELY_COMES))
    return unchanging(pod("p").claim("c"), things)


def _class_in_zone(draw: st.DrawFn) -> StorageClass:
    made = storage_class("made", mode="WaitForFirstConsumer", provisioner="disk.example.com").obj()
    allowed = TopologySelectorLabelRequirement(key=ZONE, values=[draw(st.sampled_from(["a", "b"]))])
    made.allowed_topologies = [TopologySelectorTerm(match_label_expressions=[allowed])]
    return made


def _capacity(name: str, size: int) -> CSIStorageCapacity:
    everywhere = LabelSelector()
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="default"),
        node_topology=everywhere,
        storage_class_name="made",
        capacity=size,
    )


@st.composite
def bindings(draw: st.DrawFn) -> World:
    """VolumeBinding."""
    zone, size = st.sampled_from(["a", "a", "b"]), st.integers(1, 3)
    things = nodes(draw, lambda on: on.zone(draw(zone)), STAYS, CHANGES, COMES)
    late = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj()
    things.append(future(draw, late, late, *RARELY_COMES))
    things.append(future(draw, _class_in_zone(draw), _class_in_zone(draw), STAYS, CHANGES, CHANGES, COMES))
    driver = CSIDriver(metadata=ObjectMeta(name="disk.example.com"), spec=CSIDriverSpec(storage_capacity=True))
    things.append((driver, driver))
    things.append(future(draw, _capacity("s", draw(size)), _capacity("s", draw(size)), STAYS, CHANGES, CHANGES, COMES))
    for name in ("v0", "v1"):
        held = volume(name).storage_class("late").node_affinity(f"{ZONE} in ({draw(zone)})")
        now, later = (held.storage(draw(size)).obj() for _ in range(2))
        now.status.phase = draw(st.sampled_from(["Available", "Available", "Released"]))
        things.append(future(draw, now, later, STAYS, CHANGES, COMES))
    waiting = pod("p")
    for name in draw(st.sampled_from([("c0",), ("c0", "c1")])):
        waiting.claim(name)
        wanted = claim(name).storage_class(draw(st.sampled_from(["late", "made"]))).storage(draw(size))
        unbound = wanted.obj()
        things.append(future(draw, unbound, wanted.bound("v0").obj(), CHANGES, CHANGES, *RARELY_COMES))
    return unchanging(waiting, things)
