"""Small clusters to try plugins on: always the same for a seed, and different enough to bring most rules into play.

A scene is a cluster, pods that wait, and changes that may come: an object before and after, None where it is not there.
Nodes differ in room, labels, taints, images and devices; pods in what they ask for and where they want to go; there are
volumes and claims. A plugin that looks at something else gets scenes of its own by patterns: functions that dress
a pod or node builder, of which one is drawn for each pod or node. Drawn by `random.Random`, without hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.storage import CSIPersistentVolumeSource
from bayplan.model.well_known import HOSTNAME, ZONE
from bayplan.testing.builders import (
    NodeBuilder,
    claim,
    csi_node,
    namespace,
    node,
    pod,
    service,
    storage_class,
    volume,
)
from bayplan.testing.pods import PodBuilder

ObjectChange: TypeAlias = tuple[Object | None, Object | None]
PodPattern: TypeAlias = Callable[[PodBuilder], PodBuilder]
NodePattern: TypeAlias = Callable[[NodeBuilder], NodeBuilder]

GPU = "example.com/gpu"
DRIVER = "disk.example.com"
IMAGE, IMAGE_BYTES = "registry.example.com/app:1", 300 << 20
NODE_COUNTS = (1, 1, 2, 3, 4, 6, 7)  # on one node alone it takes little to be rejected everywhere
RUNNING_MAX, WAITING_COUNT, CHANGE_COUNT = 12, 4, 8
WAITING = range(WAITING_COUNT)
UNSEEN_NODE = "unseen"  # a pod may name a node that nobody has seen

#: What a pod may be like.
POD_PATTERNS: tuple[PodPattern, ...] = (
    lambda p: p.cpu("500m").memory("256Mi"),
    lambda p: p.cpu("2").memory("4Gi").labels(app="x"),
    lambda p: p.labels(app="y"),
    lambda p: p.cpu("1").image(IMAGE).labels(app="z"),
    lambda p: p.cpu("500m").port(80),
    lambda p: p.cpu("100m").port(80, ip="10.0.0.1").labels(app="y"),
    lambda p: p.cpu("500m").labels(tier="s").spread(ZONE, "tier=s"),
    lambda p: p.cpu("100m").labels(app="x").spread(HOSTNAME, "app=x", when="ScheduleAnyway"),
    lambda p: p.cpu("500m").labels(app="x").pod_affinity(ZONE, "app=x"),
    lambda p: p.cpu("500m").labels(app="y").pod_anti_affinity(HOSTNAME, "app=y"),
    lambda p: p.labels(app="z").pod_affinity(ZONE, "app=x", weight=3).pod_anti_affinity(HOSTNAME, "app", weight=2),
    lambda p: p.cpu("1").node_affinity("disk in (ssd)"),
    lambda p: p.cpu("1").node_affinity("disk in (ssd)", weight=5).node_affinity("disk", weight=2),
    lambda p: p.cpu("1").node_selector(disk="hdd"),
    lambda p: p.cpu("500m").tolerates("soft").tolerates("hard"),
    lambda p: p.cpu("100m").tolerates("node.kubernetes.io/unschedulable"),
    lambda p: p.cpu("500m").claim("c0"),
    lambda p: p.cpu("500m").claim("c1").labels(app="x"),
    lambda p: p.claim("c2"),
    lambda p: p.request({"cpu": "1", GPU: 1}),
    lambda p: p.request({GPU: 2}),
    lambda p: p.cpu("64"),
)

#: What a node may be like, besides its room, its zone and its disk.
NODE_PATTERNS: tuple[NodePattern, ...] = (
    lambda n: n,
    lambda n: n,
    lambda n: n.taint("soft", effect="PreferNoSchedule"),
    lambda n: n.taint("hard"),
    lambda n: n.unschedulable(),
    lambda n: n.capacity({GPU: 2}),
    lambda n: n.capacity({GPU: 4}),
    lambda n: n.image(IMAGE, size_bytes=IMAGE_BYTES),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster, what waits to be placed on it, and what may happen to it."""

    seed: int
    objects: tuple[Object, ...]  # nodes first
    waiting: tuple[Pod, ...]
    changes: tuple[ObjectChange, ...]  # of objects that are there, that come, or of a waiting pod


def small_scene(
    seed: int,
    *,
    pod_patterns: Sequence[PodPattern] = POD_PATTERNS,
    node_patterns: Sequence[NodePattern] = NODE_PATTERNS,
) -> Scene:
    """The scene of a seed: up to seven nodes and a dozen pods on them."""
    return _Drawing(Random(seed), pod_patterns, node_patterns).scene(seed)


class _Drawing:
    """Draws one scene."""

    def __init__(self, rng: Random, pod_patterns: Sequence[PodPattern], node_patterns: Sequence[NodePattern]) -> None:
        self._rng = rng
        self._pod_patterns = pod_patterns
        self._node_patterns = node_patterns

    def scene(self, seed: int) -> Scene:
        names = [f"n{number}" for number in range(self._rng.choice(NODE_COUNTS))]
        nodes: list[Object] = [self._node(name) for name in names]
        running: list[Object] = [
            self._running(f"r{number}", names) for number in range(self._rng.randint(0, RUNNING_MAX))
        ]
        # Taken in turn: a few seeds are enough for every pattern to wait once.
        turns = (self._pod_patterns[(seed * WAITING_COUNT + number) % len(self._pod_patterns)] for number in WAITING)
        waiting = tuple(self._important(dress(pod(f"w{number}"))) for number, dress in zip(WAITING, turns, strict=True))
        others = self._others(names)
        changes = [self._change(nodes, running, others, waiting, names) for _ in range(CHANGE_COUNT)]
        return Scene(seed, (*nodes, *running, *others), waiting, tuple(changes))

    def _node(self, name: str) -> Object:
        rng = self._rng
        made = node(name).capacity(
            cpu=rng.choice(("1", "4", "8")), memory=rng.choice(("2Gi", "8Gi", "8Gi")), pods=rng.choice((2, 4, 110))
        )
        zone, disk = rng.choice(("a", "b", None)), rng.choice(("ssd", "hdd", None))
        if zone is not None:
            made.zone(zone)
        if disk is not None:
            made.label("disk", disk)
        return rng.choice(self._node_patterns)(made).obj()

    def _pod(self, made: PodBuilder) -> Pod:
        return self._important(self._rng.choice(self._pod_patterns)(made))

    def _important(self, made: PodBuilder) -> Pod:
        return made.priority(self._rng.choice((0, 0, 10, 100))).obj()

    def _running(self, name: str, node_names: Sequence[str]) -> Pod:
        rng = self._rng
        on = UNSEEN_NODE if rng.random() < 0.05 else rng.choice(node_names)
        made = self._pod(pod(name, rng.choice(("default", "default", "other"))).running(on, since=rng.randint(1, 9)))
        if rng.random() < 0.1:
            made.metadata.deletion_timestamp = "2026-01-01T00:01:00Z"
        return made

    def _others(self, node_names: Sequence[str]) -> list[Object]:
        """Namespaces, a service, and storage: a claim that is bound, one that is used by one pod alone, one to bind."""
        rng = self._rng
        source = CSIPersistentVolumeSource(driver=DRIVER, volume_handle="h0")
        late = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
        objects: list[Object] = [
            namespace("default").obj(),
            namespace("other").labels(team="other").obj(),
            service("x", app="x").obj(),
            late.obj(),
            volume("v0").set(csi=source).labels({ZONE: rng.choice(("a", "b"))}).obj(),
            claim("c0").bound("v0").obj(),
            claim("c1").modes("ReadWriteOncePod").bound("v1").obj(),
            volume("v1").obj(),
            claim("c2").storage_class("late").obj(),
            volume("v2").storage_class("late").node_affinity(f"{ZONE} in ({rng.choice(('a', 'b'))})").obj(),
        ]
        return objects + [csi_node(name).driver(DRIVER, count=rng.choice((0, 1, 8))).obj() for name in node_names]

    # What may happen.

    def _change(
        self,
        nodes: Sequence[Object],
        running: Sequence[Object],
        others: Sequence[Object],
        waiting: Sequence[Pod],
        names: Sequence[str],
    ) -> ObjectChange:
        rng = self._rng
        match rng.choice(("node", "node", "new node", "gone", "gone", "came", "waiting", "other")):
            case "node":
                old = rng.choice(nodes)
                return old, self._node(old.metadata.name)
            case "new node":
                return None, self._node("new")
            case "gone" if running:
                return rng.choice(running), None
            case "waiting":
                old = rng.choice(waiting)
                return old, self._waiting_later(old)
            case "other":
                return rng.choice(others), None
            case _:
                return None, self._running("came", names)

    def _waiting_later(self, old: Pod) -> Pod:
        """As users may change a pod that waits: labels, tolerations, less to ask for, no gates."""
        new = deepcopy(old)
        new.metadata.labels["app"] = self._rng.choice(("x", "y", "z"))
        later = pod("later").tolerates("hard").tolerates("soft").obj()
        new.spec.tolerations = [*new.spec.tolerations, *later.spec.tolerations]
        new.spec.scheduling_gates = []
        new.spec.containers[0].resources.requests.pop(self._rng.choice(("cpu", GPU)), None)
        return new
