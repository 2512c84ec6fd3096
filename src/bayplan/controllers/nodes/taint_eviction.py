"""Pods leave nodes whose NoExecute taints they do not tolerate, or tolerate only for a while.

Takes nodes and pods as they change; marks and deletes pods when their time on a tainted node is over. A wait
begins when the taint is noticed, and ends early only when no such taint is left or the pod has gone. What taints a
node, and what becomes of a deleted pod on a node that is down, is not decided here.
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.controllers.eviction import evict
from bayplan.controllers.ownership import NamespacedName, namespaced_name
from bayplan.controllers.timers import Timers, earliest
from bayplan.controllers.work_queue import WorkQueue
from bayplan.model.conditions import TRUE
from bayplan.model.meta import Condition
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod, Toleration
from bayplan.model.time_units import SECOND
from bayplan.model.tolerations import NO_EXECUTE, tolerates
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.store import Store, WatchEvent

_BECAUSE_OF_TAINT = Condition(
    type=DISRUPTION_TARGET,
    status=TRUE,
    reason="DeletionByTaintManager",
    message="Taint manager: deleting due to NoExecute taint",
)


class TaintEvictionController:
    """Evicts from tainted nodes."""

    # Upstream: pkg/controller/tainteviction/taint_eviction.go (v1.36).
    name: ClassVar[str] = "taint-eviction-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Node", "Pod"})

    def __init__(self) -> None:
        self._tainted: dict[str, list[Taint]] = {}
        """By node, its NoExecute taints, if it has any."""
        self._nodes: WorkQueue[str] = WorkQueue()
        """Nodes whose taints changed."""
        self._pods: WorkQueue[NamespacedName] = WorkQueue()
        """Pods that came to a tainted node or tolerate more now."""
        self._evictions: Timers[NamespacedName] = Timers()
        self._waiting_since: dict[NamespacedName, int] = {}

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        obj, old = change.new, change.old
        if isinstance(obj, Pod):
            if change.type == DELETED:
                self._cancel(namespaced_name(obj))
                self._pods.discard(namespaced_name(obj))
            elif obj.spec.node_name in self._tainted and (old is None or _may_matter(old, obj)):
                self._pods.add(namespaced_name(obj))
        elif isinstance(obj, Node):
            self._observe_node(obj, gone=change.type == DELETED)

    def reconcile(self, store: Store, now: int) -> None:
        for name in self._nodes.take(now):
            for pod in store.pods_on_node(name):
                self._judge(pod, now)
        for key in self._pods.take(now):
            found = store.find(Pod, *key)
            if found is not None and found.spec.node_name in self._tainted:
                self._judge(found, now)
        for key in self._evictions.pop_due(now):
            del self._waiting_since[key]
            evict(store, key, _BECAUSE_OF_TAINT, now)

    def wake_at(self) -> int | None:
        return earliest(self._nodes.wake_at(), self._pods.wake_at(), self._evictions.next_at())

    def _observe_node(self, node: Node, *, gone: bool) -> None:
        name = node.metadata.name
        taints = [] if gone else [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]
        if taints == self._tainted.get(name, []):
            return
        if taints:
            self._tainted[name] = taints
        else:
            del self._tainted[name]
        # Waits on a node that is gone run on.
        if gone:
            self._nodes.discard(name)
        else:
            self._nodes.add(name)

    def _judge(self, pod: Pod, now: int) -> None:
        key = namespaced_name(pod)
        seconds = seconds_to_stay(pod.spec.tolerations, self._tainted.get(pod.spec.node_name, []))
        if seconds is None:
            self._cancel(key)
        elif seconds == 0:
            self._wait(key, now, now)
        elif self._waiting_since.get(key, now) == now:
            # A wait that has begun before is not begun again.
            self._wait(key, now, now + seconds * SECOND)

    def _wait(self, key: NamespacedName, since: int, until: int) -> None:
        self._waiting_since[key] = since
        self._evictions.set(key, until)

    def _cancel(self, key: NamespacedName) -> None:
        if self._waiting_since.pop(key, None) is not None:
            self._evictions.cancel(key)


def seconds_to_stay(tolerations: list[Toleration], taints: list[Taint]) -> int | None:
    """None for ever; the shortest time among the tolerations that are made use of, each taint's first."""
    shortest: int | None = None
    for taint in taints:
        used = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if used is None:
            return 0
        if used.toleration_seconds is not None:
            seconds = max(0, used.toleration_seconds)
            shortest = seconds if shortest is None else min(shortest, seconds)
    return shortest


def _may_matter(old: object, new: Pod) -> bool:
    if not isinstance(old, Pod) or old.spec is new.spec:
        return False
    return old.spec.node_name != new.spec.node_name or old.spec.tolerations != new.spec.tolerations
