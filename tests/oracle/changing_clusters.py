"""A small cluster to which things happen, as plain objects and in a cache at the same time.

A step is a kind and three small numbers, read against whatever is there when its turn comes, so that any sequence of
steps means something and shrinks well (`changing_sequences` draws them). The cluster can be built anew at any time:
`rebuilt` gives a cache that never saw anything go or change. Two pods never hold the same port of one node, as ports
are a set (see `columns.ports`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field

from tests.oracle.changing_objects import (
    CLAIMS,
    DRIVER,
    FAMILIES,
    MAKERS,
    NODE_NAMES,
    ZONE,
    Pattern,
    bound_claim,
    volume_of,
)

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns.ports import clash
from bayplan.core.columns.shapes import Port, host_ports
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.testing.builders import budget, csi_node, namespace, node, pod, service

HOST, DISK = "kubernetes.io/hostname", "disk"
IMAGE = "registry.example.com/app:1"
MEBIBYTE = 1 << 20
#: Some nodes have them, some pods ask for them, and no object that is there at the start names them.
RESOURCES = tuple(f"example.com/r{number}" for number in range(4))
PRIORITIES = (0, 10, 100, 200, 200)
ZONES = ("a", "b", "c", "d", None)
DISKS = ("ssd", "hdd", None)
UNSEEN_NAMES = ("gone-0", "gone-1")  # nodes that pods name before anybody has seen them
STARTED = (None, 100, 100, 200, 300)
AUTOSCALER = "ToBeDeletedByClusterAutoscaler"  # its value is the time
TAINTS = (
    (),
    (Taint(key="soft", value="", effect="PreferNoSchedule"),),
    (
        Taint(key="soft", value="", effect="PreferNoSchedule"),
        Taint(key="other", value="", effect="PreferNoSchedule"),
    ),
    (Taint(key="hard", value="", effect="NoSchedule"),),
)

Step = tuple[str, int, int, int]

#: What pods can be like. Pods of one pattern and namespace are of one shape, whatever their priority.
PATTERNS: tuple[Pattern, ...] = (
    lambda p: p.cpu("500m").memory("256Mi"),
    lambda p: p.cpu("2").memory("1Gi").labels(app="x"),
    lambda p: p.cpu("3").labels(app="x", tier="s"),
    lambda p: p.labels(app="y"),
    lambda p: p.cpu("1").image(IMAGE).labels(app="z"),
    lambda p: p.cpu("500m").port(80),
    lambda p: p.cpu("500m").port(80, ip="10.0.0.1").labels(app="y"),
    lambda p: p.cpu("500m").labels(tier="s").spread(ZONE, "tier=s"),
    lambda p: p.cpu("1").labels(tier="s").spread(HOST, "tier=s", node_taints_policy="Honor"),
    lambda p: p.cpu("500m").labels(app="x").spread(ZONE, "app=x", when="ScheduleAnyway"),
    lambda p: p.labels(app="x").spread(HOST, "app=x", when="ScheduleAnyway").spread(ZONE, "app=x", max_skew=2),
    lambda p: p.cpu("500m").labels(app="x").pod_affinity(ZONE, "app=x"),
    lambda p: p.cpu("500m").labels(app="y").pod_anti_affinity(HOST, "app=y"),
    lambda p: p.cpu("500m").pod_anti_affinity(ZONE, "tier=s", namespaces=["default", "other"]),
    lambda p: (
        p.cpu("500m").labels(app="z").pod_affinity(ZONE, "app=x", weight=3).pod_anti_affinity(HOST, "app", weight=2)
    ),
    lambda p: p.cpu("1").node_affinity("disk in (ssd)"),
    lambda p: p.cpu("1").node_affinity("disk in (ssd)", weight=5).node_affinity("disk", weight=2),
    lambda p: p.cpu("1").node_selector({DISK: "hdd"}),
    lambda p: p.cpu("500m").tolerates("soft"),
    lambda p: p.cpu("1").tolerates("hard"),
    lambda p: p.cpu("2").never_preempts(),
    lambda p: p.cpu("500m").claim("c0"),
    lambda p: p.cpu("500m").claim("c1").labels(app="x"),
    lambda p: p.request({"cpu": "1", "example.com/gpu": 1}),
    lambda p: p.cpu("64"),
    lambda p: p.cpu("2"),  # the one that never preempts, but for that
    lambda p: p.cpu("2").node_affinity("metadata.name=n0"),  # as a DaemonSet's pod
    lambda p: p.cpu("64").node_affinity("metadata.name=n1"),
    lambda p: p.cpu("1").node_affinity("metadata.name=n0, metadata.name=n1"),  # no node has two names
    lambda p: p.cpu("2").node("n2"),  # of the same shape as one above, which names no node
    # Those that take much and look at other pods.
    lambda p: p.cpu("3").labels(app="x", tier="s").spread(ZONE, "tier=s", max_skew=2),
    lambda p: p.cpu("2").labels(app="y").pod_anti_affinity(HOST, "app=y").spread(ZONE, "app=y", min_domains=2),
    lambda p: p.cpu("3").labels(app="z").pod_affinity(ZONE, "app=x").pod_anti_affinity(ZONE, "app=z"),
    lambda p: p.cpu("2").labels(app="z").spread(HOST, "app=z", node_taints_policy="Honor").spread(ZONE, "app in (x,z)"),
    lambda p: p.cpu("1").labels(app="y").pod_anti_affinity(HOST, "app", namespace_selector="team=t"),
    # Those that name resources that nobody named before.
    lambda p: p.cpu("500m").request({RESOURCES[0]: 0}),
    lambda p: p.request({RESOURCES[1]: 1}),
    lambda p: p.cpu("500m").request({RESOURCES[1]: 0, RESOURCES[2]: 1}),
    *(pattern for family in FAMILIES for pattern in family.patterns),
)


@dataclass
class Changing:
    """The cluster: objects by name, and the cache that saw every change."""

    cache: Cache = field(default_factory=lambda: Cache(DEFAULT_GATES))
    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)  # bound ones, by key
    orders: dict[str, list[str]] = field(default_factory=dict)  # keys of the pods on each node, as upstream lists them
    nominated: dict[str, Pod] = field(default_factory=dict)  # by key, in order of nomination
    others: dict[tuple[str, str], Object] = field(default_factory=dict)  # by kind and name
    pods_made: int = 0

    def __post_init__(self) -> None:
        for number, name in enumerate(NODE_NAMES[:4]):
            self.put_node(node(name).capacity(cpu="4").zone(ZONES[number % 2] or "").label(DISK, "ssd").obj())
        for name, zone in zip(CLAIMS, ("a", "b", "c"), strict=True):
            self.put(bound_claim(name).obj())
            self.put(volume_of(name, zone))
        self.put(namespace("other").obj())
        for number, name in enumerate(NODE_NAMES[:4]):
            for pattern in (1, 0, 7)[: 1 + number]:
                self.run(self.new_pod(pattern, 0), name, STARTED[number])

    # What can be done.

    def new_pod(self, pattern: int, priority: int) -> Pod:
        self.pods_made += 1
        space = "other" if pattern % 3 == 0 and priority % 2 else "default"
        built = pod(f"p{self.pods_made}", space).priority(PRIORITIES[priority % len(PRIORITIES)])
        return PATTERNS[pattern % len(PATTERNS)](built).obj()

    def run(self, made: Pod, node_name: str, started: int | None = None, *, assumed: bool = False) -> None:
        """The pod is on the node from now on; it may have been assumed there before it was seen."""
        key = key_of(made)
        if key in self.nominated:
            self.drop(key)
        bound = deepcopy(made)
        bound.spec.node_name, bound.status.nominated_node_name = node_name, ""
        if started is not None:
            bound.status.start_time = f"2026-01-01T00:00:{started // 10:02}Z"
        self.pods[key] = bound
        self.orders.setdefault(node_name, []).append(key)
        if assumed:
            self.cache.add_pod(made, node_name)
            self.cache.update_pod(bound, made)
        else:
            self.cache.add_pod(bound)

    def change(self, changed: Pod) -> None:
        """The pod comes last among those of its node, as if it had left and come back."""
        key = key_of(changed)
        old = self.pods[key]
        self._take_out(key)
        self.pods[key] = changed
        self.orders[changed.spec.node_name].append(key)
        self.cache.update_pod(changed, old)

    def _take_out(self, key: str) -> None:
        """The last one of its node takes its place."""
        order = self.orders[self.pods[key].spec.node_name]
        order[order.index(key)] = order[-1]
        order.pop()

    def nominate(self, made: Pod, node_name: str) -> None:
        waiting = deepcopy(made)
        waiting.status.nominated_node_name = node_name
        self.nominated[key_of(made)] = waiting
        self.cache.nominate(waiting, node_name)

    def drop(self, key: str) -> None:
        self.cache.remove_pod(key)
        if key in self.pods:
            self._take_out(key)
        self.pods.pop(key, None)
        self.nominated.pop(key, None)

    def put_node(self, made: Node) -> None:
        self.nodes[made.metadata.name] = made
        self.cache.add_node(made)

    def put(self, thing: Object) -> None:
        self.others[type(thing).__name__, object_key(thing)] = thing
        self.cache.add(thing)

    def remove(self, thing: Object) -> None:
        del self.others[type(thing).__name__, object_key(thing)]
        self.cache.objects.remove(thing)

    def port_is_free(self, made: Pod, node_name: str) -> bool:
        held = [port for one in self.pods.values() if one.spec.node_name == node_name for port in host_ports(one.spec)]
        return not any(clash(wanted, port) for wanted in host_ports(made.spec) for port in held)

    # The same cluster without a past.

    def rebuilt(self) -> Cache:
        """A cache of what is there now; pods come in the order in which each node lists them."""
        cache = Cache(self.cache.gates, self.cache.pods.own_schedulers)
        for made in self.nodes.values():
            cache.add_node(made)
        for thing in self.others.values():
            cache.add(thing)
        for keys in self.orders.values():
            for key in keys:
                cache.add_pod(self.pods[key])
        for waiting in self.nominated.values():
            cache.nominate(waiting, waiting.status.nominated_node_name)
        return cache


def key_of(one: Pod) -> str:
    return f"{one.metadata.namespace}/{one.metadata.name}"


# Steps other than decisions.


def take_step(world: Changing, step: Step) -> None:
    kind, first, second, third = step
    CHANGES[kind](world, first, second, third)


def _run_pod(world: Changing, first: int, second: int, third: int) -> None:
    """Somebody else put a pod on a node, or on one that nobody knows."""
    made = world.new_pod(first, second)
    if (first + second) % 3 == 0:
        made.spec.scheduler_name = "somebody-else"
    name = (*NODE_NAMES, *UNSEEN_NAMES)[third % (len(NODE_NAMES) + len(UNSEEN_NAMES))]
    if world.port_is_free(made, name):
        world.run(made, name, STARTED[(first + third) % len(STARTED)])


def _remove_pod(world: Changing, first: int, second: int, third: int) -> None:
    keys = [*world.pods, *world.nominated]
    if keys:
        world.drop(keys[first % len(keys)])


def _change_pod(world: Changing, first: int, second: int, third: int) -> None:
    """A pod starts, gets another priority, or begins to leave."""
    if not world.pods:
        return
    known = list(world.pods.values())[first % len(world.pods)]
    # What has not changed is shared, as by objects that a watch brings.
    match second % 3:
        case 0:
            leaving = replace(known.metadata, deletion_timestamp="2026-01-01T01:00:00Z")
            world.change(replace(known, metadata=leaving))
        case 1:
            started = replace(known.status, start_time=f"2026-01-01T00:01:{third:02}Z")
            world.change(replace(known, status=started))
        case 2:
            other = replace(known.spec, priority=PRIORITIES[third % len(PRIORITIES)])
            world.change(replace(known, spec=other))


def _nominate_pod(world: Changing, first: int, second: int, third: int) -> None:
    world.nominate(world.new_pod(first, second), NODE_NAMES[third % len(NODE_NAMES)])


def _change_node(world: Changing, first: int, second: int, third: int) -> None:
    """A node comes, or one that is there changes in one respect."""
    name = NODE_NAMES[first % len(NODE_NAMES)]
    known = world.nodes.get(name)
    changed = deepcopy(known) if known else node(name).zone("a").obj()
    match second % 8:
        case 0:
            _set_label(changed, ZONE, ZONES[third % len(ZONES)])
        case 1:
            _set_label(changed, DISK, DISKS[third % len(DISKS)])
        case 2:
            changed.spec.taints = list(TAINTS[third % len(TAINTS)])
        case 3:
            changed.spec.unschedulable = bool(third % 2)
        case 4:
            changed.status.allocatable["cpu"] = ("2", "3", "4", "6", "0")[third % 5]
            changed.status.allocatable["example.com/gpu"] = third % 2
        case 5:
            changed.status.allocatable["pods"] = (2, 3, 110)[third % 3]
            changed.status.images = node(name).image(IMAGE, size_bytes=700 * MEBIBYTE).obj().status.images[: third % 2]
        case 6:
            changed.status.allocatable[RESOURCES[third % len(RESOURCES)]] = third % 3
        case 7:
            changed.spec.taints = [Taint(key=AUTOSCALER, value=str(1_700_000_000 + third), effect="NoSchedule")]
    world.put_node(changed)


def _set_label(changed: Node, key: str, value: str | None) -> None:
    changed.metadata.labels.pop(key, None)
    if value is not None:
        changed.metadata.labels[key] = value


def _touch_node(world: Changing, first: int, second: int, third: int) -> None:
    """The same object once more, as every heartbeat brings it."""
    if world.nodes:
        world.put_node(deepcopy(list(world.nodes.values())[first % len(world.nodes)]))


def _remove_node(world: Changing, first: int, second: int, third: int) -> None:
    if world.nodes:
        name = list(world.nodes)[first % len(world.nodes)]
        del world.nodes[name]
        world.cache.remove_node(name)


def _put_budget(world: Changing, first: int, second: int, third: int) -> None:
    selecting = ({"app": "x"}, {"app": "y"}, {"tier": "s"})[second % 3]
    world.put(budget(f"pdb{first % 2}").selects(selecting).allows(third % 3).obj())


def _put_service(world: Changing, first: int, second: int, third: int) -> None:
    world.put(service(f"s{first % 2}", app=("x", "y", "z")[second % 3]).obj())


def _label_namespace(world: Changing, first: int, second: int, third: int) -> None:
    world.put(namespace("other").labels(team="tu"[third % 2]).obj())


def _mention(world: Changing, first: int, second: int, third: int) -> None:
    """A pod that waits behind a gate is looked at, and no more."""
    made = pod(f"gated-{first}").request({RESOURCES[third % len(RESOURCES)]: second % 2}).gate("example.com/wait")
    world.cache.info(made.obj())


def _put_object(world: Changing, first: int, second: int, third: int) -> None:
    """An object of any kind that plugins look up comes, or is replaced."""
    world.put(list(MAKERS.values())[first % len(MAKERS)](second, third))


def _furnish(world: Changing, first: int, second: int, third: int) -> None:
    """What a family of objects starts with."""
    for thing in FAMILIES[first % len(FAMILIES)].at_start:
        world.put(deepcopy(thing))


def _remove_object(world: Changing, first: int, second: int, third: int) -> None:
    if world.others:
        world.remove(list(world.others.values())[first % len(world.others)])


def _limit_volumes(world: Changing, first: int, second: int, third: int) -> None:
    world.put(csi_node(NODE_NAMES[first % len(NODE_NAMES)]).driver(DRIVER, count=second % 3).obj())


CHANGES: dict[str, Callable[[Changing, int, int, int], None]] = {
    "run": _run_pod,
    "remove": _remove_pod,
    "change": _change_pod,
    "nominate": _nominate_pod,
    "node": _change_node,
    "touch": _touch_node,
    "remove node": _remove_node,
    "budget": _put_budget,
    "service": _put_service,
    "volumes": _limit_volumes,
    "namespace": _label_namespace,
    "mention": _mention,
    "furnish": _furnish,
    "put": _put_object,
    "remove object": _remove_object,
}


def ports_held(cache: Cache) -> dict[Port, set[str]]:
    """Where each port is held, by node name."""
    names = cache.nodes.names
    columns = [pair for users in cache.ports._by_number.values() for pair in users.items()]
    held = {port: {names[row] for row in column.nonzero()[0].tolist()} for port, column in columns}
    return {port: where for port, where in held.items() if where}
