"""Nodes on their way out: tainted, drained as budgets allow, and taken away.

Takes nodes that somebody decided to remove; writes taints and evictions, and takes the machine away when the last pod
that has to move is gone. Where pods cannot be evicted in time the node stays and its taint goes. Does not decide.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from bayplan.controllers.autoscaling.machines import Machines
from bayplan.controllers.budgets.evicting import evict_by_request, is_daemon, is_mirror
from bayplan.controllers.ownership import is_active
from bayplan.controllers.timers import Timers
from bayplan.model.node import Node, Taint
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.tolerations import NO_SCHEDULE
from bayplan.store import ApiError, Conflict, NotFound, Store

# Upstream: cluster-autoscaler/core/scaledown/actuation and config/flags (1.33).
_AFTER_TAINT_NS = 5 * SECOND
_RETRY_NS = 10 * SECOND
_EVICTION_MAX_NS = 2 * MINUTE
_GRACE_MAX_NS = 10 * MINUTE + 30 * SECOND


@dataclass(slots=True)
class _Removal:
    taint: Taint
    is_empty: bool
    may_fail: bool
    since: int
    evicted_at: int | None = None  # when the last pod was asked to go


class Removals:
    """All that are under way."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._under_way: dict[str, _Removal] = {}
        self._due: Timers[str] = Timers()
        self.failed_at: int | None = None
        self.removed_at: int | None = None

    def __contains__(self, node_name: str) -> bool:
        return node_name in self._under_way

    def names(self) -> list[str]:
        return [*self._under_way]

    def counts(self) -> tuple[int, int]:
        """Empty nodes, and nodes that are drained."""
        empty = sum(removal.is_empty for removal in self._under_way.values())
        return empty, len(self._under_way) - empty

    def leaving(self, pool: str) -> int:
        """How many nodes of the pool."""
        return sum(self._machines.pool_names.get(name) == pool for name in self._under_way)

    def begin(self, store: Store, name: str, taint: Taint, now: int, *, is_empty: bool, may_fail: bool) -> None:
        """The node takes no more pods; `may_fail`: it stays if its pods do not go in time."""

        def change(node: Node) -> Node:
            others = [each for each in node.spec.taints if each.key != taint.key]
            return replace(node, spec=replace(node.spec, unschedulable=may_fail, taints=[*others, taint]))

        with suppress(NotFound, Conflict):
            store.modify(Node, "", name, change, now)
            self._under_way[name] = _Removal(taint, is_empty, may_fail, now)
            self._due.set(name, now + _AFTER_TAINT_NS if is_empty else now)

    def go_on(self, store: Store, now: int) -> None:
        """What is due now."""
        for name in self._due.pop_due(now):
            removal = self._under_way.get(name)
            if removal is None:
                continue
            if store.find(Node, "", name) is None:
                self._forget(name)
            elif removal.is_empty and not _to_move(store, name):
                self._finish(store, name, now)
            else:
                self._drain(store, name, removal, now)

    def _drain(self, store: Store, name: str, removal: _Removal, now: int) -> None:
        removal.is_empty = False
        staying = _to_move(store, name)
        if not staying:
            self._finish(store, name, now)
            return
        active = [pod for pod in staying if is_active(pod)]
        refused = [pod for pod in active if not _evict(store, pod, now)]
        if not refused and removal.evicted_at is None:
            removal.evicted_at = now
        is_late = (
            now - removal.since >= _EVICTION_MAX_NS
            if removal.evicted_at is None
            else now - removal.evicted_at >= _GRACE_MAX_NS
        )
        if is_late and removal.may_fail:
            self._give_up(store, name, removal, now)
        else:
            self._due.set(name, now + (_RETRY_NS if refused else SECOND))

    def _finish(self, store: Store, name: str, now: int) -> None:
        self._machines.take_away(store, name, now)
        self._forget(name)
        self.removed_at = now

    def _give_up(self, store: Store, name: str, removal: _Removal, now: int) -> None:
        def change(node: Node) -> Node:
            taints = [each for each in node.spec.taints if each.key != removal.taint.key]
            return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))

        with suppress(NotFound, Conflict):
            store.modify(Node, "", name, change, now)
        self._forget(name)
        self.failed_at = now

    def _forget(self, name: str) -> None:
        self._under_way.pop(name, None)
        self._due.cancel(name)

    def wake_at(self) -> int | None:
        return self._due.next_at()


def removal_taint(key: str, value: str = "") -> Taint:
    return Taint(key=key, value=value, effect=NO_SCHEDULE)


def _to_move(store: Store, name: str) -> list[Pod]:
    return [
        pod
        for pod in store.pods_on_node(name)
        if not is_daemon(pod) and not is_mirror(pod) and pod.status.phase not in FINISHED_PHASES
    ]


def _evict(store: Store, pod: Pod, now: int) -> bool:
    """Asks the pod to go; whether its budget lets it."""
    try:
        evict_by_request(store, pod, now)
    except ApiError:
        return False
    return True
