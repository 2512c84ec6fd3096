"""Pods of nodes that no longer exist are removed, for no kubelet will ever do it.

Takes nodes and pods as they change. A node that is missing gets some time to show up; then its pods are marked as
failed and deleted without grace. Ended pods are kept whatever their number, unlike with Kubernetes, which collects
the oldest beyond 12,500.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from bayplan.controllers.ownership import is_terminal, namespaced_name
from bayplan.controllers.timers import Timers
from bayplan.controllers.writes import delete_pod
from bayplan.model.conditions import TRUE, with_pod_condition
from bayplan.model.meta import Condition
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.store import Conflict, NotFound, Store, WatchEvent

# Upstream: pkg/controller/podgc/gc_controller.go quarantineTime (v1.36), which looks only every 20 s.
QUARANTINE_NS = 40 * SECOND

_BECAUSE_OF_NODE = Condition(
    type=DISRUPTION_TARGET, status=TRUE, reason="DeletionByPodGC", message="PodGC: node no longer exists"
)


class PodGarbageCollector:
    """Removes pods of missing nodes."""

    name: ClassVar[str] = "pod-garbage-collector-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Node", "Pod"})

    def __init__(self, quarantine_ns: int = QUARANTINE_NS) -> None:
        self._quarantine_ns = quarantine_ns
        self._known: dict[str, None] = {}
        self._missing: Timers[str] = Timers()

    def observe(self, change: WatchEvent, now: int) -> None:
        obj = change.new
        if isinstance(obj, Pod):
            name = obj.spec.node_name
            if name and name not in self._known and name not in self._missing and change.type != DELETED:
                self._missing.set(name, now + self._quarantine_ns)
        else:
            name = obj.metadata.name
            if change.type == DELETED:
                self._known.pop(name, None)
                self._missing.set(name, now + self._quarantine_ns)
            else:
                self._known[name] = None
                self._missing.cancel(name)

    def reconcile(self, store: Store, now: int) -> None:
        for name in self._missing.pop_due(now):
            if store.find(Node, "", name) is None:
                for pod in store.pods_on_node(name):
                    _remove(store, pod, now)

    def wake_at(self) -> int | None:
        return self._missing.next_at()


def _remove(store: Store, pod: Pod, now: int) -> None:
    def fail(stored: Pod) -> Pod:
        return with_pod_condition(stored, _BECAUSE_OF_NODE, format_time(now), phase="Failed")

    with suppress(NotFound, Conflict):
        if not is_terminal(pod):
            store.modify_status(Pod, *namespaced_name(pod), fail, now)
        delete_pod(store, pod, now, grace_seconds=0)
