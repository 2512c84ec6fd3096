"""Cluster Autoscaler's way down: nodes that are little used, and whose pods fit elsewhere, go when that has lasted.

Keeps since when each node has been unneeded. At each look nodes are tried one after another in one trial, so that what
fits in the place of the first is taken for the second. Gives what is to be removed; removing is for others.
Upstream: core/scaledown/planner, eligibility and actuation (1.33).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bayplan.controllers.autoscaling.drainability import BudgetsLeft, drainable
from bayplan.controllers.autoscaling.machines import Machines
from bayplan.controllers.autoscaling.picture import Picture
from bayplan.controllers.autoscaling.removing import Removals
from bayplan.controllers.autoscaling.settings import ScaledPool, Settings
from bayplan.controllers.budgets.evicting import is_daemon
from bayplan.core.columns.resources import CPU, MEMORY
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.time_units import MINUTE

DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_GPU = "nvidia.com/gpu"
_RECHECK_NS = 5 * MINUTE
_CANDIDATES_MAX = 30  # that have pods
_AT_ONCE_MAX = 10
_DRAINS_MAX = 1


@dataclass(frozen=True, slots=True)
class ToRemove:
    name: str
    is_empty: bool


class ScaleDown:
    """What is known of nodes that nobody needs."""

    def __init__(self, picture: Picture, machines: Machines, removals: Removals) -> None:
        self._picture = picture
        self._machines = machines
        self._removals = removals
        self.unneeded_since: dict[str, int] = {}
        self._empty: set[str] = set()
        self._not_before: dict[str, int] = {}  # nodes that could not be removed, and when to look again

    def look(self, settings: Settings, now: int) -> None:
        """Which nodes nobody needs; inside a trial."""
        budgets = BudgetsLeft(self._picture.cache.objects.budgets.values())
        found: dict[str, int] = {}
        self._empty.clear()
        self._not_before = {name: at for name, at in self._not_before.items() if at > now}
        with ExitStack() as removed:
            for name in self._removals.names():
                if name in self._picture.nodes:
                    self._move_away(self._picture.remove_node(name))
            for name in self._candidates():
                to_move = self._removable(name, budgets, settings, now, removed)
                if to_move is not None:
                    budgets.spend(to_move)
                    found[name] = self.unneeded_since.get(name, now)
                    if not to_move:
                        self._empty.add(name)
        self.unneeded_since = found

    def next_at(self) -> int | None:
        """When time alone changes something."""
        ripe = [
            since + pool.unneeded_ns
            for name, since in self.unneeded_since.items()
            if (pool := self._machines.pool_of(name)) is not None and self._can_shrink(pool)
        ]
        return min([*ripe, *self._not_before.values()], default=None)

    def _can_shrink(self, pool: ScaledPool) -> bool:
        return self._machines.size(pool.name) - self._removals.leaving(pool.name) > pool.min

    def due(self, now: int) -> list[ToRemove]:
        """What may go now, as many at once as is usual, and never more than the pool can do without."""
        empty, drained = self._removals.counts()
        leaving: dict[str, int] = {}
        chosen: list[ToRemove] = []
        for name in sorted(self.unneeded_since, key=lambda name: (name not in self._empty, name)):
            pool = self._machines.pool_of(name)
            if pool is None or now - self.unneeded_since[name] < pool.unneeded_ns:
                continue
            leaves = leaving.get(pool.name, self._removals.leaving(pool.name))
            is_empty = name in self._empty
            if self._machines.size(pool.name) - leaves <= pool.min or empty + drained >= _AT_ONCE_MAX:
                continue
            if not is_empty and drained >= _DRAINS_MAX:
                continue
            empty, drained = empty + is_empty, drained + (not is_empty)
            leaving[pool.name] = leaves + 1
            chosen.append(ToRemove(name, is_empty))
        return chosen

    def _candidates(self) -> list[str]:
        """Empty ones come first, and among these and the others those that were unneeded already."""
        picture = self._picture
        names = [
            name
            for name, node in picture.nodes.items()
            if self._machines.pool_of(name) is not None
            and name not in self._removals
            and name not in self._not_before
            and node.metadata.annotations.get(DISABLED) != "true"
            and self._is_little_used(node)
        ]
        busy = {name for name in names if not all(map(is_daemon, picture.pods_on(name)))}
        names.sort(key=lambda name: (name not in self.unneeded_since, name))
        return [
            *(name for name in names if name not in busy),
            *[name for name in names if name in busy][:_CANDIDATES_MAX],
        ]

    def _is_little_used(self, node: Node) -> bool:
        name = node.metadata.name
        pool = self._machines.pool_of(name)
        return pool is not None and self._utilization(node) < pool.threshold

    def _utilization(self, node: Node) -> float:
        """Of its devices if it has any, else of the more used of CPU and memory."""
        name, cache = node.metadata.name, self._picture.cache
        offered = self._devices_of(name)
        if offered:
            return len(self._devices_in_use(name)) / offered
        row = cache.nodes.rows_by_name[name]
        there, taken = cache.nodes.allocatable[row].tolist(), cache.nodes.requested[row].tolist()
        gpu = cache.resources.values.index(_GPU) if _GPU in cache.resources.values else None
        counted = [CPU, MEMORY] if gpu is None or not there[gpu] else [gpu]
        return max((taken[one] / there[one] for one in counted if there[one]), default=0.0)

    def _devices_of(self, name: str) -> int:
        slices = self._picture.cache.objects.resource_slices.values()
        return sum(len(each.spec.devices) for each in slices if each.spec.node_name == name)

    def _devices_in_use(self, name: str) -> set[tuple[str, str]]:
        slices = self._picture.cache.objects.resource_slices.values()
        pools = {(each.spec.driver, each.spec.pool.name) for each in slices if each.spec.node_name == name}
        return {
            (result.pool, result.device)
            for claim in self._picture.cache.objects.resource_claims.values()
            if claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
            if (result.driver, result.pool) in pools
        }

    def _removable(
        self, name: str, budgets: BudgetsLeft, settings: Settings, now: int, removed: ExitStack
    ) -> list[Pod] | None:
        """The pods that would have to move, and would fit elsewhere; the node is gone from the picture then."""
        found = drainable(self._picture.pods_on(name), budgets, settings)
        if found.why:
            self._not_before[name] = now + _RECHECK_NS
            return None
        with ExitStack() as attempt:
            attempt.enter_context(self._picture.trial())
            self._picture.remove_node(name)
            if not self._move_away(found.to_move):
                self._not_before[name] = now + _RECHECK_NS
                return None
            removed.push(attempt.pop_all())
        return found.to_move

    def _move_away(self, pods: Sequence[Pod]) -> bool:
        """Whether all find another node."""
        return all(self._picture.place(self._picture.unbound(pod)) for pod in pods)
