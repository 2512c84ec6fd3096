"""What becomes of nodes that fail, and of their pods.

The world says which nodes are down; they are found out when they have been silent for the grace period: their
conditions become Unknown, their pods count as not ready. Taints follow from conditions: NoSchedule for each that is
bad and for cordoned nodes, NoExecute for nodes that are not ready or unreachable; `taint_eviction` and
`pod_collection` then see to the pods. When a node is back, all of that is taken back.

Heartbeats are not written: a node is healthy unless someone says otherwise. Nor are evictions slowed down when many
nodes of a zone fail at once, as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from bayplan.controllers.nodes.pod_garbage_collector import QUARANTINE_NS, PodGarbageCollector
from bayplan.controllers.nodes.taint_eviction import TaintEvictionController
from bayplan.controllers.timers import Timers, earliest
from bayplan.controllers.work_queue import WorkQueue
from bayplan.model.conditions import FALSE, TRUE, UNKNOWN, find_condition, with_condition
from bayplan.model.meta import Condition
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    PID_PRESSURE,
    READY,
    UNREACHABLE,
    UNSCHEDULABLE,
)
from bayplan.store import Conflict, NotFound, Store, WatchEvent

# Upstream: pkg/controller/nodelifecycle/config/v1alpha1/defaults.go NodeMonitorGracePeriod (v1.36; 40 s up to v1.31).
MONITOR_GRACE_NS = 50 * SECOND

# Upstream: node_lifecycle_controller.go nodeConditionToTaintKeyStatusMap (v1.36).
_TAINTS_BY_CONDITION = {
    (READY, FALSE): NOT_READY,
    (READY, UNKNOWN): UNREACHABLE,
    ("MemoryPressure", TRUE): MEMORY_PRESSURE,
    ("DiskPressure", TRUE): DISK_PRESSURE,
    ("NetworkUnavailable", TRUE): NETWORK_UNAVAILABLE,
    ("PIDPressure", TRUE): PID_PRESSURE,
}
_CONDITION_TAINTS = frozenset(_TAINTS_BY_CONDITION.values())

_READY_AGAIN = Condition(type=READY, status=TRUE, reason="KubeletReady", message="kubelet is posting ready status")
# Of what the kubelet reports, all but Ready are good when False.
_GOOD_AGAIN = tuple(
    Condition(type=kind, status=FALSE, reason=reason, message=message)
    for kind, reason, message in (
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    )
)
_SILENT = Condition(status=UNKNOWN, reason="NodeStatusUnknown", message="Kubelet stopped posting node status.")


class NodeLifecycleController:
    """Finds out nodes that are down, taints bad ones, and lets their pods go.

    Args:
        grace_ns: how long a node may be silent.
        quarantine_ns: how long pods of a node that no longer exists are kept.
        taints_cordoned: whether an unschedulable node also gets a taint that says so.
    """

    name: ClassVar[str] = "node-lifecycle-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Node", "Pod"})

    def __init__(
        self,
        *,
        grace_ns: int = MONITOR_GRACE_NS,
        quarantine_ns: int = QUARANTINE_NS,
        taints_cordoned: bool = True,
    ) -> None:
        self._grace_ns = grace_ns
        self._taints_cordoned = taints_cordoned
        self._eviction = TaintEvictionController()
        self._collection = PodGarbageCollector(quarantine_ns)
        self._down: set[str] = set()  # only ever asked, never iterated
        self._silent: Timers[str] = Timers()
        """Nodes that are down and have not been found out."""
        self._up: WorkQueue[str] = WorkQueue()
        """Nodes that are up again, until their conditions say so."""
        self._changed: WorkQueue[str] = WorkQueue()
        """Nodes whose taints may have to change."""
        self._fallen: WorkQueue[str] = WorkQueue()
        """Nodes that are no longer ready, until their pods are marked."""

    def node_down(self, name: str, now: int) -> None:
        """The node falls silent."""
        self._down.add(name)
        self._up.discard(name)
        self._silent.set_earlier(name, now + self._grace_ns)

    def node_up(self, name: str, now: int) -> None:  # noqa: ARG002
        """The node reports again."""
        self._down.discard(name)
        self._silent.cancel(name)
        self._up.add(name)

    def observe(self, change: WatchEvent, now: int) -> None:
        self._eviction.observe(change, now)
        self._collection.observe(change, now)
        node, old = change.new, change.old
        if not isinstance(node, Node):
            return
        name = node.metadata.name
        if change.type == DELETED:
            self._changed.discard(name)
            self._fallen.discard(name)
            return
        if not isinstance(old, Node):
            self._changed.add(name)
            if name in self._down:
                self._silent.set_earlier(name, now + self._grace_ns)
            return
        if _may_matter(old, node):
            self._changed.add(name)
        if _counts_as_ready(old) and not _counts_as_ready(node):
            self._fallen.add(name)

    def reconcile(self, store: Store, now: int) -> None:
        for name in self._up.take(now):
            _report_good(store, name, now)
        for name in self._silent.pop_due(now):
            _report_unknown(store, name, now)
        for name in self._changed.take(now):
            self._correct_taints(store, name, now)
        for name in self._fallen.take(now):
            _mark_pods_unready(store, name, now)
        self._eviction.reconcile(store, now)
        self._collection.reconcile(store, now)

    def wake_at(self) -> int | None:
        return earliest(
            self._up.wake_at(),
            self._changed.wake_at(),
            self._fallen.wake_at(),
            self._silent.next_at(),
            self._eviction.wake_at(),
            self._collection.wake_at(),
        )

    def _correct_taints(self, store: Store, name: str, now: int) -> None:
        node = store.find(Node, "", name)
        if node is None:
            return
        taints = self._wanted_taints(node, format_time(now))
        if taints != node.spec.taints:
            with suppress(NotFound, Conflict):
                store.modify(Node, "", name, lambda node: replace(node, spec=replace(node.spec, taints=taints)), now)

    def _wanted_taints(self, node: Node, time: str) -> list[Taint]:
        """Those that stand, without what no longer holds, and what is new behind them."""
        wanted = self._wanted(node)
        kept = [
            taint for taint in node.spec.taints if (taint.key, taint.effect) in wanted or not self._owns(taint, node)
        ]
        standing = {(taint.key, taint.effect) for taint in kept}
        missing = [pair for pair in wanted if pair not in standing]
        return [*kept, *(Taint(key=key, effect=effect, time_added=time) for key, effect in missing)]

    def _wanted(self, node: Node) -> dict[tuple[str, str], None]:
        """Keys and effects, in order."""
        conditions = node.status.conditions
        found = (_TAINTS_BY_CONDITION.get((condition.type, condition.status)) for condition in conditions)
        wanted = {(key, NO_SCHEDULE): None for key in found if key is not None}
        if node.spec.unschedulable and self._taints_cordoned:
            wanted[UNSCHEDULABLE, NO_SCHEDULE] = None
        for key in (NOT_READY, UNREACHABLE):
            if (key, NO_SCHEDULE) in wanted:
                wanted[key, NO_EXECUTE] = None
        return wanted

    def _owns(self, taint: Taint, node: Node) -> bool:
        """Whether the taint goes when nothing calls for it."""
        if taint.effect == NO_SCHEDULE:
            return taint.key in _CONDITION_TAINTS or (taint.key == UNSCHEDULABLE and self._taints_cordoned)
        if taint.effect == NO_EXECUTE and taint.key in (NOT_READY, UNREACHABLE):
            return find_condition(node.status.conditions, READY) is not None
        return False


def is_of_condition(taint: Taint) -> bool:
    """Whether it follows from what a node says of itself, or from a cordon."""
    return taint.key in _CONDITION_TAINTS or taint.key == UNSCHEDULABLE


def _report_unknown(store: Store, name: str, now: int) -> None:
    """Notes on the node that nothing is known of it any more."""

    def change(node: Node) -> Node:
        conditions: Sequence[Condition] = node.status.conditions
        for kind in (READY, *(good.type for good in _GOOD_AGAIN)):
            standing = find_condition(conditions, kind)
            if kind == READY or standing is not None:
                conditions = with_condition(conditions, replace(_SILENT, type=kind), format_time(now))
        return replace(node, status=replace(node.status, conditions=[*conditions]))

    with suppress(NotFound, Conflict):
        store.modify_status(Node, "", name, change, now)


def _report_good(store: Store, name: str, now: int) -> None:
    """Writes what the kubelet reports when it is heard again; on a node nobody missed that is no news."""

    def change(node: Node) -> Node:
        conditions = node.status.conditions
        for good in (*_GOOD_AGAIN, _READY_AGAIN):
            standing = find_condition(conditions, good.type)
            if standing is not None and standing.status == UNKNOWN:
                conditions = with_condition(conditions, good, format_time(now))
        return replace(node, status=replace(node.status, conditions=conditions))

    with suppress(NotFound, Conflict):
        store.modify_status(Node, "", name, change, now)


def _mark_pods_unready(store: Store, name: str, now: int) -> None:
    node = store.find(Node, "", name)
    if node is not None and not _counts_as_ready(node):
        for pod in store.pods_on_node(name):
            _mark_unready(store, pod, now)


def _mark_unready(store: Store, pod: Pod, now: int) -> None:
    # Upstream: pkg/controller/util/node/controller_utils.go MarkPodsNotReady (v1.36); the reason stays as it was.
    def change(stored: Pod) -> Pod:
        standing = find_condition(stored.status.conditions, READY)
        if standing is None or standing.status == FALSE:
            return stored
        conditions = with_condition(stored.status.conditions, replace(standing, status=FALSE), format_time(now))
        return replace(stored, status=replace(stored.status, conditions=conditions))

    with suppress(NotFound, Conflict):
        store.modify_status(Pod, pod.metadata.namespace, pod.metadata.name, change, now)


def _counts_as_ready(node: Node) -> bool:
    """A node that says nothing about itself is taken to be healthy."""
    condition = find_condition(node.status.conditions, READY)
    return condition is None or condition.status == TRUE


def _may_matter(old: Node, new: Node) -> bool:
    return (
        old.spec.unschedulable != new.spec.unschedulable
        or old.spec.taints != new.spec.taints
        or old.status.conditions != new.status.conditions
    )
