"""Random clusters in which everything that can stand in a pod's way occurs, and pods that come into them.

Drawn from tiny sets, so that things meet: resources, the number of pods, host ports, (anti-)affinity, topology spread,
taints, budgets, priorities, start times known and unknown, nominated and terminating pods, CSI volumes with limits,
a ReadWriteOncePod claim, inline disks, two namespaces, pods of another scheduler that may have to stay. Some
pods came and left again, which stirs the order on nodes.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from hypothesis import strategies as st
from tests.support.caches import cache_of

from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import CSIPersistentVolumeSource
from bayplan.model.volumes import GCEPersistentDiskVolumeSource, Volume
from bayplan.testing.builders import budget, claim, csi_node, node, pod, volume
from bayplan.testing.pods import PodBuilder

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DRIVER = "csi.example.com"
SHARED_CLAIMS = ("c0", "c1", "c2")
EXCLUSIVE_CLAIM = "only"
PRIORITY = 100  # of the pod that wants a place


@dataclass
class World:
    """A cluster as plain objects, and the pod that wants a place."""

    nodes: list[Node]
    pods: list[Pod]  # that run, in the order in which they came; with those that left again
    departed: list[str]  # keys of pods that left, in order
    nominated: list[Pod]
    budgets: list[PodDisruptionBudget]
    others: list[Object]
    wanting: Pod
    own_schedulers: frozenset[str] | None = None  # whose pods may be victims

    def cache(self) -> Cache:
        things = (*self.nodes, *self.others, *self.budgets, *self.pods, *self.nominated)
        cache = cache_of(*things, own_schedulers=self.own_schedulers)
        for key in self.departed:
            cache.remove_pod(key)
        return cache

    def running(self) -> list[Pod]:
        return [one for one in self.pods if key_of(one) not in self.departed]

    def pods_on(self, name: str) -> list[Pod]:
        """In the node's order: whoever leaves, the last takes the place."""
        listed = [one for one in self.pods if one.spec.node_name == name]
        for key in self.departed:
            place = next((i for i, one in enumerate(listed) if key_of(one) == key), None)
            if place is not None:
                last = listed.pop()
                if place < len(listed):
                    listed[place] = last
        return listed


def key_of(one: Pod) -> str:
    return f"{one.metadata.namespace}/{one.metadata.name}"


def placed(one: Pod, node_name: str) -> Pod:
    copied = deepcopy(one)
    copied.spec.node_name = node_name
    copied.status.nominated_node_name = ""
    return copied


def often(draw: st.DrawFn, one_in: int) -> bool:
    """True one time in so many; shrinks to False."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


# Parts of pods.


def _add_disk(draw: st.DrawFn, built: PodBuilder) -> None:
    read_only = draw(st.booleans())
    built.volume(Volume(name="d", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d", read_only=read_only)))


def _add_terms(draw: st.DrawFn, built: PodBuilder) -> None:
    key = draw(st.sampled_from([HOST, ZONE]))
    app = draw(st.sampled_from(["app=x", "app=y", "app"]))
    namespaces = draw(st.sampled_from([["default"], ["default", "other"]]))
    built.pod_anti_affinity(key, app, namespaces=namespaces)


def _add_labels(draw: st.DrawFn, built: PodBuilder) -> None:
    app = draw(st.sampled_from([None, "x", "y"]))
    if app:
        built.labels(app=app)
    if draw(st.booleans()):
        built.labels(tier="s")


def _resident(draw: st.DrawFn, name: str) -> PodBuilder:
    """What a pod that runs and one that is nominated have in common."""
    built = pod(name, "other" if often(draw, 4) else "default")
    built.cpu(draw(st.sampled_from(["0", "500m", "500m", "1", "2"])))
    built.priority(draw(st.sampled_from([0, None, 0, 0, 10, 10, 10, -5, 50, 50, PRIORITY, 200])))
    _add_labels(draw, built)
    if often(draw, 3):
        _add_terms(draw, built)
    if often(draw, 4):
        _add_disk(draw, built)
    if built.obj().metadata.namespace == "default" and draw(st.booleans()):
        built.claim(draw(st.sampled_from(SHARED_CLAIMS)))
    return built


@st.composite
def running_pods(draw: st.DrawFn, node_names: list[str]) -> list[Pod]:
    """Ports are held by one pod of a node at most, and the exclusive claim by one at most."""
    taken: set[tuple[str, int, str]] = set()
    claim_taken = False
    pods: list[Pod] = []
    for number in range(draw(st.integers(4, 12))):
        built = _resident(draw, f"p{number}")
        where = draw(st.sampled_from(node_names))
        built.running(where, since=draw(st.sampled_from([None, 100, 100, 200])))
        port = (where, draw(st.sampled_from([80, 80, 81])), draw(st.sampled_from(["", "", "10.0.0.1"])))
        if often(draw, 3) and port not in taken:
            taken.add(port)
            built.port(port[1], ip=port[2])
        if not claim_taken and built.obj().metadata.namespace == "default" and often(draw, 4):
            claim_taken = True
            built.claim(EXCLUSIVE_CLAIM)
        if often(draw, 4):
            built.scheduler(draw(st.sampled_from(["somebody-else", ""])))
        made = built.obj()
        if often(draw, 5):
            made = built.terminating().obj()
            made.metadata.labels.pop("tier", None)
        pods.append(made)
    return pods


@st.composite
def nominated_pods(draw: st.DrawFn, node_names: list[str]) -> list[Pod]:
    pods = []
    for number in range(draw(st.sampled_from([0, 0, 1, 2]))):
        built = _resident(draw, f"w{number}").nominated(draw(st.sampled_from(node_names)))
        built.priority(draw(st.sampled_from([50, PRIORITY, 200])))
        if draw(st.booleans()):
            built.port(80)
        if built.obj().metadata.namespace == "default" and often(draw, 6):
            built.claim(EXCLUSIVE_CLAIM)
        pods.append(built.obj())
    return pods


@st.composite
def wanting_pods(draw: st.DrawFn, always: tuple[str, ...] = ()) -> Pod:
    """One to three kinds of demands, so that each gets its chance to decide, and those asked for always."""
    built = pod("wanting").priority(PRIORITY)
    _add_labels(draw, built)
    kinds = ["cpu", "port", "affinity", "anti-affinity", "spread", "volume", "exclusive", "disk"]
    asks = {*always, *draw(st.lists(st.sampled_from(kinds), unique=True, min_size=1, max_size=3))}
    if "cpu" in asks:
        built.cpu(draw(st.sampled_from(["1", "2", "3"])))
    if "port" in asks:
        built.port(80, ip=draw(st.sampled_from(["", "10.0.0.1"])))
    if "affinity" in asks:
        built.pod_affinity(draw(st.sampled_from([HOST, ZONE])), draw(st.sampled_from(["app=x", "app"])))
    if "anti-affinity" in asks:
        _add_terms(draw, built)
    if "spread" in asks:
        built.spread(
            draw(st.sampled_from([ZONE, HOST])),
            "tier=s",
            max_skew=draw(st.integers(1, 2)),
            min_domains=draw(st.sampled_from([None, 2])),
            node_taints_policy=draw(st.sampled_from([None, "Honor"])),
        )
    if "volume" in asks:
        built.claim(draw(st.sampled_from(SHARED_CLAIMS)))
    if "exclusive" in asks:
        built.claim(EXCLUSIVE_CLAIM)
    if "disk" in asks:
        _add_disk(draw, built)
    return built.obj()


# Clusters.


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        built = node(f"n{number}").capacity(cpu=draw(st.sampled_from(["4", "3", "2"])))
        if often(draw, 4):
            built.capacity(pods=draw(st.integers(1, 4)))
        zone = draw(st.sampled_from(["a", "b", None]))
        if zone:
            built.zone(zone)
        if often(draw, 12):
            built.taint("gpu")
        made.append(built.obj())
    return made


@st.composite
def budgets(draw: st.DrawFn) -> list[PodDisruptionBudget]:
    made = []
    for number in range(draw(st.sampled_from([0, 1, 1, 2]))):
        built = budget(f"pdb{number}")
        selecting = draw(st.sampled_from([{"app": "x"}, {"app": "y"}, {"tier": "s"}, {}, None]))
        if selecting is not None:
            built.selects(selecting)
        disrupted = draw(st.sampled_from([[], ["p0"], ["p1", "p3"]]))
        made.append(built.allows(draw(st.integers(0, 2)), disrupted=disrupted).obj())
    return made


def storage() -> list[Object]:
    """Claims, each bound to a volume of the driver."""
    things: list[Object] = []
    for name in (*SHARED_CLAIMS, EXCLUSIVE_CLAIM):
        mode = "ReadWriteOncePod" if name == EXCLUSIVE_CLAIM else "ReadWriteMany"
        bound = claim(name).modes(mode).bound(f"pv-{name}")
        source = CSIPersistentVolumeSource(driver=DRIVER, volume_handle=name)
        things += [bound.obj(), volume(f"pv-{name}").modes(mode).set(csi=source).bound_to(bound).obj()]
    return things


@st.composite
def worlds(draw: st.DrawFn, always: tuple[str, ...] = ()) -> World:
    """`always` names demands that the pod has in any case."""
    made = draw(nodes())
    names = [one.metadata.name for one in made]
    limits = [
        csi_node(name).driver(DRIVER, count=draw(st.integers(1, 3))).obj() for name in names if draw(st.booleans())
    ]
    pods = draw(running_pods(names))
    departed = draw(st.lists(st.sampled_from([key_of(one) for one in pods]), unique=True, max_size=2))
    return World(
        nodes=made,
        pods=pods,
        departed=departed,
        nominated=draw(nominated_pods(names)),
        budgets=draw(budgets()),
        others=[*storage(), *limits],
        wanting=draw(wanting_pods(always)),
        own_schedulers=draw(st.sampled_from([None, frozenset({"default-scheduler", "mine"})])),
    )


@st.composite
def crowds(draw: st.DrawFn) -> World:
    """Nodes whose pods would all have to go, alike enough for every criterion to be needed."""
    names = [f"n{number}" for number in range(draw(st.integers(2, 5)))]
    pods = []
    for name in names:
        for number in range(draw(st.integers(1, 2))):
            built = pod(f"{name}-{number}").cpu("100m").priority(draw(st.sampled_from([0, 0, 10, -(1 << 31)])))
            built.running(name, since=draw(st.sampled_from([None, 100, 200])))
            pods.append(built.labels(app="x").obj() if often(draw, 4) else built.obj())
    guard = budget("pdb").selects(app="x").allows(draw(st.integers(0, 1)))
    wanting = pod("wanting").cpu("4").priority(PRIORITY)
    return World([node(name).obj() for name in names], pods, [], [], [guard.obj()], [], wanting.obj())
