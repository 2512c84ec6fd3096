"""Karpenter's way down: nodes go when their pods fit on others, or on others and one new node that costs less.

Empty nodes go first, then several together, then one; what is decided is decided again some seconds later, and done if
it still holds. A node that replaces others is there before they go. Takes a picture that is up to date, inside a trial
that knows of machines under way. Upstream: sigs.k8s.io/karpenter pkg/controllers/disruption (1.x).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bayplan.controllers.autoscaling.drainability import BudgetsLeft
from bayplan.controllers.autoscaling.machines import Machines
from bayplan.controllers.autoscaling.picture import Picture
from bayplan.controllers.autoscaling.provisioning import Rooms, nodes_for
from bayplan.controllers.autoscaling.removing import Removals
from bayplan.controllers.autoscaling.settings import ScaledPool, Settings
from bayplan.controllers.budgets.evicting import is_daemon, is_mirror
from bayplan.controllers.workloads.deletion_order import deletion_cost
from bayplan.model.node_pools import CONSOLIDATION, WHEN_EMPTY
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.time_units import SECOND
from bayplan.model.well_known import DO_NOT_DISRUPT

#: From a decision until it is done. Upstream: consolidationTTL.
VALIDATED_AFTER_NS = 15 * SECOND
#: A node is for the pods it was made for until then. Upstream: nominationWindow, twice the longest batch.
_NOMINATED_NS = 20 * SECOND
_TOGETHER_MAX = 100
_NEVER = CONSOLIDATION[-1]
# Upstream: utils/disruption: how much a pod's deletion cost and priority weigh.
_COST_PER_DELETION_COST, _COST_PER_PRIORITY = 2.0**-27, 2.0**-25
_POD_COST_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Command:
    """Nodes that are to go, and the pool of the node that takes their pods; None if others do."""

    names: tuple[str, ...]
    replacement: ScaledPool | None = None


class Consolidator:
    """Looks for nodes that need not be there."""

    def __init__(self, picture: Picture, machines: Machines, removals: Removals) -> None:
        self._picture = picture
        self._machines = machines
        self._removals = removals

    def find(self, settings: Settings, changed_at: dict[str, int], now: int) -> Command | None:
        """What could be done; `changed_at` says when pods last came to a node or left it."""
        if settings.consolidation == _NEVER:
            return None
        candidates = self._candidates(settings, changed_at, now)
        empty = tuple(name for name in candidates if not self._to_move(name))
        if empty:
            return Command(empty)
        if settings.consolidation == WHEN_EMPTY:
            return None
        return self._several(candidates, settings) or self._single(candidates, settings)

    def settled_at(self, name: str, pool: ScaledPool, changed_at: dict[str, int]) -> int:
        """From when on the node may be looked at: not while pods come and go there, or have yet to come."""
        joined_at = self._machines.joined_at.get(name)
        changed = changed_at.get(name, 0) + pool.consolidate_after_ns
        return changed if joined_at is None else max(changed, joined_at + _NOMINATED_NS)

    def next_at(self, changed_at: dict[str, int], now: int) -> int | None:
        """When time alone makes another node worth a look."""
        times = [
            self.settled_at(name, pool, changed_at)
            for name in self._machines.pool_names
            if (pool := self._machines.pool_of(name)) is not None
        ]
        return min((at for at in times if at > now), default=None)

    def holds(self, command: Command, settings: Settings, changed_at: dict[str, int], now: int) -> bool:
        """Whether the command would be found again."""
        candidates = self._candidates(settings, changed_at, now)
        if not all(name in candidates for name in command.names):
            return False
        return self._try(command.names, settings) == command

    def _candidates(self, settings: Settings, changed_at: dict[str, int], now: int) -> list[str]:
        """The cheapest to disrupt first, and no more of a pool than may be disrupted at once."""
        budgets = BudgetsLeft(self._picture.cache.objects.budgets.values())
        names = []
        for name, node in self._picture.nodes.items():
            pool = self._machines.pool_of(name)
            if pool is None or name in self._removals or node.metadata.annotations.get(DO_NOT_DISRUPT) == "true":
                continue
            pods = self._to_move(name)
            is_settled = now >= self.settled_at(name, pool, changed_at)
            is_free = not any(pod.metadata.annotations.get(DO_NOT_DISRUPT) == "true" for pod in pods)
            if is_settled and is_free and budgets.allow(pods) is None:
                names.append(name)
        names.sort(key=lambda name: (sum(map(_cost, self._to_move(name))), name))
        left = self._disruptions_left(settings)
        chosen = []
        for name in names:
            pool_name = self._machines.pool_names[name]
            if left[pool_name] > 0:
                left[pool_name] -= 1
                chosen.append(name)
        return chosen

    def _disruptions_left(self, settings: Settings) -> Counter[str]:
        left: Counter[str] = Counter()
        for name, pool in self._machines.pools.items():
            here = sum(each == name for each in self._machines.pool_names.values())
            leaving = self._removals.leaving(name)
            left[name] = min(settings.disruptions_allowed(here) - leaving, here - leaving - pool.min)
        return left

    def _several(self, candidates: Sequence[str], settings: Settings) -> Command | None:
        """The most nodes that can go together: by halving, as the more there are the less likely it works."""
        best = None
        low, high = 2, min(len(candidates), _TOGETHER_MAX)
        while low <= high:
            middle = (low + high) // 2
            found = self._try(tuple(candidates[:middle]), settings)
            if found is None:
                high = middle - 1
            else:
                best, low = found, middle + 1
        return best

    def _single(self, candidates: Sequence[str], settings: Settings) -> Command | None:
        return next((found for name in candidates if (found := self._try((name,), settings))), None)

    def _try(self, names: Sequence[str], settings: Settings) -> Command | None:
        """What becomes of the pods of these nodes; None if that takes more than one node, or one that is no cheaper."""
        budgets = BudgetsLeft(self._picture.cache.objects.budgets.values())
        pods = [pod for name in names for pod in self._to_move(name)]
        if budgets.allow(pods) is not None:
            return None
        with self._picture.trial():
            for name in names:
                self._picture.remove_node(name)
            moving = [self._picture.unbound(pod) for pod in pods]
            opened = nodes_for(self._picture, moving, Rooms(self._machines, settings.max_nodes, names))
            where = [self._picture.node_of(pod) for pod in moving]
        if len(opened) > 1 or not all(where) or any(name in self._machines.starting for name in where):
            return None
        replacement = opened[0].pool if opened else None
        if replacement is not None and not self._is_cheaper(replacement, names):
            return None
        return Command(tuple(names), replacement)

    def _is_cheaper(self, replacement: ScaledPool, names: Sequence[str]) -> bool:
        """Than the nodes together. Of a pool that loses nodes a new one would only be an old one by another name."""
        pools = [pool for name in names if (pool := self._machines.pool_of(name)) is not None]
        names_lost = {pool.name for pool in pools}
        return replacement.name not in names_lost and replacement.price < sum(pool.price for pool in pools)

    def _to_move(self, name: str) -> list[Pod]:
        return [
            pod
            for pod in self._picture.pods_on(name)
            if not is_daemon(pod) and not is_mirror(pod) and pod.status.phase not in FINISHED_PHASES
        ]


def _cost(pod: Pod) -> float:
    """Of evicting the pod."""
    cost = 1.0 + (pod.spec.priority or 0) * _COST_PER_PRIORITY + deletion_cost(pod) * _COST_PER_DELETION_COST
    return min(max(cost, -_POD_COST_MAX), _POD_COST_MAX)
