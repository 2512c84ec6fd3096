"""Random small clusters in which anything may come, change and go; for wake-ups that must never be missed.

As `wakeup_worlds`, but nothing is left out because kube-scheduler sleeps through it. Objects change as an API server
lets them: a volume stays the same disk, and a pod keeps its volumes and terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st
from tests.oracle.wakeup_worlds import CHANGES, COMES, GOES, STAYS, ZONE, Change, World, future, nodes, running
from tests.support.devices import DRIVER, asks, asks_first_of, claim_of, device, device_class, held, slice_of

from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.model.meta import LabelSelector, ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceTaint, ResourceClaim
from bayplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSIPersistentVolumeSource,
    CSIStorageCapacity,
    PersistentVolume,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from bayplan.model.volumes import GCEPersistentDiskVolumeSource, Volume
from bayplan.testing.builders import (
    ClaimBuilder,
    NodeBuilder,
    claim,
    csi_node,
    namespace,
    pod,
    replica_set,
    service,
    stateful_set,
    storage_class,
    volume,
)
from bayplan.testing.pods import PodBuilder

ANYTHING = (STAYS, CHANGES, COMES, GOES)
#: For what must mostly be there if anything else is to be found out.
MOSTLY_STAYS = (*(STAYS,) * 6, CHANGES, COMES, GOES)
EXTENDED = "example.com/gpu"


def some(draw: st.DrawFn, *choices: Any) -> Any:
    return draw(st.sampled_from(choices))


def labeled(draw: st.DrawFn, on: NodeBuilder, **values: Sequence[str]) -> NodeBuilder:
    """With one of these values for each label, or without the label."""
    for key, possible in values.items():
        value = some(draw, *possible, "")
        if value:
            on.label(key, value)
    return on


@st.composite
def pools(draw: st.DrawFn) -> World:
    """NodeAffinity, under a profile that adds a term of its own: `pool`."""

    def dress(on: NodeBuilder) -> NodeBuilder:
        return labeled(draw, on, pool=["1"], disk=["ssd", "hdd"])

    waiting = pod("p")
    if some(draw, True, False):
        waiting.node_affinity(some(draw, "disk in (ssd)", "disk notin (hdd)", "disk > 1"))
    return World(waiting.obj(), waiting.obj(), nodes(draw, dress, *ANYTHING))


@st.composite
def rooms(draw: st.DrawFn) -> World:
    """NodeResourcesFit, under a profile that ignores example.com/x."""
    amount = st.integers(0, 3)

    def dress_node(on: NodeBuilder) -> NodeBuilder:
        given = {"example.com/x": draw(amount)} if some(draw, True, False) else {}
        return on.capacity(given, cpu=draw(amount), memory=draw(amount), pods=draw(amount))

    def dress_pod(made: PodBuilder) -> PodBuilder:
        return made.request(cpu=draw(amount), memory=draw(amount))

    def dress_waiting() -> PodBuilder:
        made = dress_pod(pod("p"))
        return made.request({"example.com/x": draw(amount)}) if ignores else made

    ignores = some(draw, True, False)
    things = nodes(draw, dress_node, *ANYTHING) + running(draw, dress_pod, *ANYTHING)
    return World(dress_waiting().obj(), dress_waiting().obj(), things)


@st.composite
def ports(draw: st.DrawFn) -> World:
    """NodePorts."""

    def dress(made: PodBuilder) -> PodBuilder:
        return made.port(some(draw, 80, 81), ip=some(draw, "", "10.0.0.1"), protocol=some(draw, "TCP", "UDP"))

    waiting = dress(dress(pod("p"))).obj()
    things = nodes(draw, lambda on: on, STAYS, COMES, GOES) + running(draw, dress, STAYS, COMES, GOES)
    return World(waiting, waiting, things)


def _gce_disk(name: str, *, read_only: bool = False) -> Volume:
    return Volume(name=name, gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only))


@st.composite
def disks(draw: st.DrawFn) -> World:
    """VolumeRestrictions."""

    def dress(made: PodBuilder) -> PodBuilder:
        if some(draw, True, False):
            return made.volume(_gce_disk(some(draw, "d", "d", "e"), read_only=some(draw, False, False, True)))
        return made.claim(some(draw, "c0", "c0", "c1"))

    things = nodes(draw, lambda on: on, STAYS, COMES, GOES)
    for number in range(draw(st.integers(1, 3))):
        other = dress(pod(f"q{number}", some(draw, "default", "other")).node(some(draw, "n0", "n0", "n1"))).obj()
        things.append(future(draw, other, other, STAYS, COMES, GOES))
    for name in ("c0", "c1"):
        given = claim(name).modes(some(draw, "ReadWriteOncePod", "ReadWriteOncePod", "ReadWriteOnce")).obj()
        things.append(future(draw, given, given, *MOSTLY_STAYS))
    waiting = dress(pod("p")).obj()
    return World(waiting, waiting, things)


# ---------------------------------------------------------------- other pods


def _terminating_in_the_end(draw: st.DrawFn, change: Change) -> Change:
    """The same pods, of which some begin to terminate; none ever ceases to."""
    old, new = change
    if isinstance(new, Pod) and some(draw, False, False, True):
        new = deepcopy(new)
        new.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
        old = deepcopy(new) if old is not None and some(draw, False, False, True) else old
    return old, new


@st.composite
def spreads(draw: st.DrawFn) -> World:
    """PodTopologySpread, by constraints of the pod's own."""

    def dress_node(on: NodeBuilder) -> NodeBuilder:
        on.label("zone", some(draw, "x", "x", "y"))
        labeled(draw, on, rack=["1", "1", "2"], disk=["ssd", "ssd"])
        return on.taint("t") if some(draw, True, False, False) else on

    def dress_pod(made: PodBuilder) -> PodBuilder:
        return made.labels(app=some(draw, "a", "a", "a", "b"), version=some(draw, "1", "1", "2"))

    waiting = dress_pod(pod("p"))
    for key in some(draw, ("zone",), ("zone", "rack")):
        waiting.spread(
            key,
            some(draw, "app = a", "app = a", "app", "app = b"),
            node_taints_policy=some(draw, None, "Honor"),
            node_affinity_policy=some(draw, None, None, "Ignore"),
            min_domains=some(draw, 3, 2, None),
            match_label_keys=some(draw, (), ("version",)),
        )
    if some(draw, True, False):
        waiting.node_selector(disk="ssd")
    now, later = waiting.obj(), dress_pod(waiting)
    later = later.tolerates("t") if some(draw, True, False) else later
    others = [_terminating_in_the_end(draw, change) for change in running(draw, dress_pod, *ANYTHING)]
    return World(now, later.obj(), nodes(draw, dress_node, STAYS, *ANYTHING) + others)


@st.composite
def default_spreads(draw: st.DrawFn) -> World:
    """PodTopologySpread, by a profile that spreads hard over zones whatever services and controllers select."""

    def dress_pod(made: PodBuilder) -> PodBuilder:
        return made.labels(app=some(draw, "a", "a", "b"), tier="x")

    things = nodes(draw, lambda on: labeled(draw, on, zone=["x", "x", "y"]), *ANYTHING)
    things += running(draw, dress_pod, *ANYTHING)
    chosen = service("s", **some(draw, {"app": "a"}, {"tier": "x"}, {"app": "z"})).obj()
    rechosen = service("s", **some(draw, {"app": "a"}, {"tier": "x"}, {"app": "z"})).obj()
    things.append(future(draw, chosen, rechosen, *ANYTHING))
    owner = some(draw, replica_set, stateful_set)("o").selects(app=some(draw, "a", "b")).obj()
    things.append(future(draw, owner, owner, STAYS, COMES, GOES))
    waiting = pod("p").labels(app="a", tier="x").owner(owner).obj()
    return World(waiting, waiting, things)


def _with_terms(draw: st.DrawFn, add: Callable[..., PodBuilder], count: int) -> None:
    """Pod (anti-)affinity terms, for pods of namespaces that are named or selected."""
    for _ in range(count):
        selecting = some(draw, {"app": "a"}, {"app": "a"}, "app", {"tier": "t"})
        where = some(draw, {}, {}, {"namespace_selector": {}}, {"namespace_selector": {"team": "x"}})
        add(some(draw, "zone", "zone", "rack"), selecting, **where)


@st.composite
def company(draw: st.DrawFn) -> World:
    """InterPodAffinity: the waiting pod wants to be near others, or apart, or others want to be apart from it."""

    def dress_node(on: NodeBuilder) -> NodeBuilder:
        return labeled(draw, on, zone=["x", "x", "y"], rack=["1", "1"])

    def labels(made: PodBuilder) -> PodBuilder:
        made.labels(app=some(draw, "a", "a", "b"))
        return made.labels(tier="t") if some(draw, True, False) else made

    near, apart, kept_away = some(draw, (1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 2, 0), (0, 0, 1), (0, 0, 2), (1, 1, 1))
    things = nodes(draw, dress_node, STAYS, *ANYTHING)
    for number in range(draw(st.integers(1, 3))):
        made = pod(f"q{number}", some(draw, "default", "default", "other")).node(some(draw, "n0", "n0", "n1"))
        _with_terms(draw, made.pod_anti_affinity, kept_away)
        things.append(future(draw, labels(made).obj(), labels(made).obj(), STAYS, *ANYTHING))
    for name in ("default", "other"):
        now, later = (namespace(name).labels(team=some(draw, "x", "y")).obj() for _ in range(2))
        things.append(future(draw, now, later, *ANYTHING))
    waiting = labels(pod("p"))
    _with_terms(draw, waiting.pod_affinity, near)
    _with_terms(draw, waiting.pod_anti_affinity, apart)
    return World(waiting.obj(), labels(waiting).obj(), things)


# ---------------------------------------------------------------- storage


def _attachment(draw: st.DrawFn, number: int) -> VolumeAttachment:
    source = VolumeAttachmentSource(persistent_volume_name=f"v{number}")
    spec = VolumeAttachmentSpec(attacher="x", node_name=some(draw, "n0", "n1"), source=source)
    return VolumeAttachment(metadata=ObjectMeta(name=f"a{number}"), spec=spec)


def _disk_volume(draw: st.DrawFn, number: int) -> PersistentVolume:
    made = volume(f"v{number}")
    if some(draw, True, True, False):
        return made.set(csi=CSIPersistentVolumeSource(driver="x", volume_handle=some(draw, f"h{number}", "h"))).obj()
    return made.obj()


def _needed_driver(draw: st.DrawFn) -> CSIDriver:
    """One that nodes must have, if the gate VolumeLimitScaling is on."""
    spec = CSIDriverSpec(prevent_pod_scheduling_if_missing=some(draw, True, False))
    return CSIDriver(metadata=ObjectMeta(name="x"), spec=spec)


@st.composite
def attachments(draw: st.DrawFn) -> World:
    """NodeVolumeLimits."""

    def dress(made: PodBuilder) -> PodBuilder:
        made.claim(some(draw, "c0", "c1", "c2"))
        return made.volume(_gce_disk(some(draw, "d", "e"))) if some(draw, False, False, True) else made

    things = nodes(draw, lambda on: on, STAYS, STAYS, COMES, GOES) + running(draw, dress, STAYS, COMES, GOES)
    for name in ("n0", "n1", "n2"):
        limits = (some(draw, None, 0, 1, 1, 2), some(draw, None, 1, 2))
        limited, less_limited = (
            csi_node(name).driver(some(draw, "x", "x", "y"), count=limit).driver("pd.csi.storage.gke.io", count=1).obj()
            for limit in limits
        )
        things.append(future(draw, limited, less_limited, *MOSTLY_STAYS))
    needed, less_needed = (_needed_driver(draw) for _ in range(2))
    things.append(future(draw, needed, less_needed, *ANYTHING))
    made = storage_class("made", mode="WaitForFirstConsumer", provisioner="x").obj()
    things.append(future(draw, made, made, STAYS, STAYS, COMES, GOES))
    for number in range(3):
        unbound = claim(f"c{number}").storage_class("made")
        now = unbound.obj() if some(draw, True, False) else unbound.bound(f"v{number}").obj()
        later = claim(f"c{number}").storage_class("made").bound(f"v{some(draw, 0, 1, 2)}").obj()
        things.append(future(draw, now, later if not now.spec.volume_name else now, *MOSTLY_STAYS))
        disk, attached = _disk_volume(draw, number), _attachment(draw, number)
        things.append(future(draw, disk, disk, STAYS, STAYS, COMES, GOES))
        things.append(future(draw, attached, attached, COMES, GOES))
    waiting = pod("p").ephemeral("s").obj() if some(draw, True, False, False) else dress(pod("p")).obj()
    generated = claim("p-s").storage_class("made").owner(waiting)
    things.append(future(draw, generated.obj(), generated.bound(some(draw, "v0", "v1")).obj(), *MOSTLY_STAYS))
    return World(waiting, waiting, things)


def _kubelet(draw: st.DrawFn, name: str) -> CSINode:
    made = csi_node(name).obj()
    if some(draw, True, False):
        made.metadata.annotations[MIGRATED_PLUGINS_ANNOTATION] = "kubernetes.io/gce-pd"
    return made


def _space(draw: st.DrawFn, name: str) -> CSIStorageCapacity:
    where = LabelSelector(match_labels={ZONE: some(draw, "a", "b")}) if some(draw, True, False) else LabelSelector()
    meta = ObjectMeta(name=name, namespace="default")
    size = some(draw, None, 1, 2, 3)
    return CSIStorageCapacity(metadata=meta, node_topology=where, storage_class_name="made", capacity=size)


def _teller(draw: st.DrawFn) -> CSIDriver:
    spec = CSIDriverSpec(storage_capacity=some(draw, True, True, False))
    return CSIDriver(metadata=ObjectMeta(name="disk.example.com"), spec=spec)


def _local_volume(draw: st.DrawFn, name: str, wanted: ClaimBuilder) -> tuple[PersistentVolume, PersistentVolume]:
    """Before and after: its size, its phase and whom it is kept for may change."""
    held_volume = volume(name).storage_class("late").node_affinity(f"{ZONE} in ({some(draw, 'a', 'b')})")
    if some(draw, False, False, True):
        held_volume.set(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name))
    made = []
    for _ in range(2):
        one = held_volume.storage(some(draw, 1, 2, 3)).obj()
        if some(draw, False, False, True):
            one = held_volume.bound_to(wanted).obj()
        one.status.phase = some(draw, "Available", "Available", "Released")
        made.append(one)
    return made[0], made[1]


@st.composite
def bindings(draw: st.DrawFn) -> World:
    """VolumeBinding, and VolumeZone."""
    things = nodes(draw, lambda on: on.zone(some(draw, "a", "a", "b")), STAYS, STAYS, CHANGES, COMES, GOES)
    for name in ("n0", "n1"):
        things.append(future(draw, _kubelet(draw, name), _kubelet(draw, name), *ANYTHING))
    late = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj()
    things.append(future(draw, late, late, *MOSTLY_STAYS))
    made = storage_class("made", mode="WaitForFirstConsumer", provisioner="disk.example.com").obj()
    things.append(future(draw, made, made, *MOSTLY_STAYS))
    things.append(future(draw, _teller(draw), _teller(draw), *ANYTHING))
    for name in ("s", "t"):
        things.append(future(draw, _space(draw, name), _space(draw, name), *ANYTHING))
    waiting = pod("p")
    for name in some(draw, ("c0",), ("c0", "c1")):
        waiting.claim(name)
        wanted = claim(name).storage_class(some(draw, "late", "made")).storage(some(draw, 1, 2))
        things.append(future(draw, *_local_volume(draw, f"v-{name}", wanted), *ANYTHING))
        unbound = wanted.obj()
        things.append(future(draw, unbound, wanted.bound(f"v-{name}").obj(), *MOSTLY_STAYS, CHANGES, CHANGES))
    things.append(future(draw, *_local_volume(draw, "w", claim("other")), *ANYTHING))
    return World(waiting.obj(), waiting.obj(), things)


@st.composite
def zones(draw: st.DrawFn) -> World:
    """VolumeZone."""
    things = nodes(draw, lambda on: labeled(draw, on, **{ZONE: ["a", "b", "c"]}), *ANYTHING)
    now, later = (volume("v").labels({ZONE: some(draw, "a", "b__c")}).obj() for _ in range(2))
    things.append(future(draw, now, later, *ANYTHING))
    mode = some(draw, "WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate")
    waits = storage_class("late", mode=mode).obj()
    things.append(future(draw, waits, waits, *MOSTLY_STAYS))
    bound, unbound = claim("c").storage_class("late").bound("v").obj(), claim("c").storage_class("late").obj()
    things.append(future(draw, some(draw, bound, bound, unbound), bound, *MOSTLY_STAYS))
    waiting = pod("p").claim("c").obj()
    return World(waiting, waiting, things)


# ---------------------------------------------------------------- devices


def _slices(draw: st.DrawFn, name: str) -> list[Change]:
    """The pool of a node, in one slice or two; not all of a pool need be there."""
    count = some(draw, 1, 1, 2)
    made = []
    for number in range(count):
        versions = []
        for _ in range(2):
            devices = [
                device(f"d{number}{place}", model=some(draw, "a", "b"), taints=_taints(draw))
                for place in range(draw(st.integers(0, 2)))
            ]
            made_slice = slice_of(name, *devices, name=f"{name}-{number}")
            made_slice.spec.pool.resource_slice_count = some(draw, count, count, 1)
            versions.append(made_slice)
        made.append(future(draw, versions[0], versions[1], *ANYTHING))
    return made


def _taints(draw: st.DrawFn) -> list[DeviceTaint]:
    return [DeviceTaint(key="bad", effect="NoSchedule")] if some(draw, False, False, False, True) else []


def _other_claim(draw: st.DrawFn, number: int) -> ResourceClaim:
    made = claim_of(f"other{number}", asks("r"))
    return (
        held(made, some(draw, "n0", "n1"), some(draw, "d00", "d01", "d10")) if some(draw, True, True, False) else made
    )


def _own_claim(draw: st.DrawFn, name: str) -> tuple[ResourceClaim, ResourceClaim]:
    model_a = f'device.attributes["{DRIVER}"].model == "a"'
    requests = some(
        draw,
        [asks("r")],
        [asks("r", count=2)],
        [asks("r", model_a)],
        [asks("r", mode="All")],
        [asks_first_of("r", asks("a", model_a, of="other"), asks("any"))],
    )
    versions = []
    for _ in range(2):
        made = claim_of(name, *requests)
        versions.append(held(made, some(draw, "n0", "n1"), "d00") if some(draw, False, False, True) else made)
    return versions[0], versions[1]


@st.composite
def devices(draw: st.DrawFn) -> World:
    """DynamicResources."""
    things: list[Change] = nodes(draw, lambda on: labeled(draw, on, zone=["x"]), *ANYTHING)
    for name in ("n0", "n1"):
        things += _slices(draw, name)
    for name in ("gpu", "other"):
        now, later = (
            device_class(name, *some(draw, [], ["device.driver == 'z'"]), extended=some(draw, None, EXTENDED))
            for _ in range(2)
        )
        things.append(future(draw, now, later, *MOSTLY_STAYS))
    things += [future(draw, _other_claim(draw, n), _other_claim(draw, n), *ANYTHING) for n in range(2)]
    waiting: Pod
    if some(draw, True, True, False):
        waiting = pod("p").resource_claim("one", "mine").obj()
        things.append(future(draw, *_own_claim(draw, "mine"), *MOSTLY_STAYS))
    else:
        waiting = pod("p").request({EXTENDED: some(draw, 1, 2)}).obj()
    return World(waiting, waiting, things)
