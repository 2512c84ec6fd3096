"""The least that any preemption could disrupt for a pod: a bound, beside which kube-scheduler's choice can be put.

kube-scheduler looks at one node at a time, keeps the most important pods first, and compares nodes by priorities before
it counts victims. Here a solver looks for the fewest victims on any nodes: first the fewest that violate a budget, then
the fewest at all. Only resources and node objects count, so that no combination of victims, however chosen, disrupts
less. Whether the pod really fits once these victims are gone is then decided as the scheduler would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from time import monotonic
from typing import Any

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.budget_ledger import BudgetLedger
from bayplan.analysis.answers.moving.room import moves_at_least
from bayplan.analysis.answers.moving.stock import Lot, PodKind, Stock, free_amounts, kind_of
from bayplan.analysis.integer_program import IntegerProgram
from bayplan.core.cache import Cache
from bayplan.core.cycle import attempt
from bayplan.core.preemption.prepare import let_go
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudgetStatus
from bayplan.model.well_known import DEFAULT_NAMESPACE

SECONDS = 10.0


@dataclass(frozen=True, slots=True, order=True)
class Disruption:
    """What a preemption costs: budgets first, then pods."""

    violations: int
    victims: int

    def to_dict(self) -> dict[str, int]:
        return {"numPDBViolations": self.violations, "victims": self.victims}


@dataclass(frozen=True, slots=True)
class LeastDisruption:
    """The answer."""

    bound: Disruption | None  # nothing disrupts less; None: no victims make enough room
    node: str = ""  # a node where resources suffice with so few victims
    victims: tuple[str, ...] = ()  # and these victims
    fits: bool = False  # the pod fits there once they are gone, by the scheduler's decision
    is_complete: bool = True  # every node was looked at

    def to_dict(self) -> dict[str, Any]:
        return {
            "atLeast": self.bound.to_dict() if self.bound is not None else None,
            "node": self.node or None,
            "victims": list(self.victims),
            "fits": self.fits,
            "complete": self.is_complete,
        }


def least_disruption(
    asking: Asking, wanted: str, namespace: str = DEFAULT_NAMESPACE, seconds: float = SECONDS
) -> LeastDisruption:
    """For a pod as if it were pending. Raises InvalidObject for one that is not there."""
    key = asking.cluster.wanted(wanted, namespace).subject.key
    cache = asking.cache(without=key)
    pod = asking.pending(wanted, cache, namespace)
    info = cache.info(pod)
    view = cache.view()  # after the pod, which may ask for what no node has
    kind = kind_of(asking.profile_of(pod), info, view)
    search = _Search(asking, cache, view, kind, seconds)
    search.run()
    fits = bool(search.victims) and _fits_without(asking, cache, pod, search.victims)
    return LeastDisruption(search.bound(), search.node, search.victims, fits, search.is_complete)


def _fits_without(asking: Asking, cache: Cache, pod: Pod, victims: Sequence[str]) -> bool:
    let_go(cache, victims)
    found = attempt(asking.profile_of(pod), cache.info(pod), cache.view())
    return found.filtered is not None and len(found.filtered.feasible_rows) > 0


class _Search:
    """Node by node, those that need the fewest victims first."""

    def __init__(self, asking: Asking, cache: Cache, view: View, wanted: PodKind, seconds: float) -> None:
        self._wanted, self._budgets, self._cache = wanted, BudgetLedger(cache), cache
        self._pods = asking.cluster.pods
        self._ends = monotonic() + seconds
        self._lots = _lots(view, wanted)
        self._stock = Stock(list(view.nodes.names), view.nodes.alive.copy(), free_amounts(view), [], {})
        self._best: Disruption | None = None
        self._open: list[float] = []  # fewest victims of nodes that were not looked at
        self.node = ""
        self.victims: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not self._open

    def bound(self) -> Disruption | None:
        if not self._open:
            return self._best
        fewest = Disruption(0, int(min(self._open)))
        return fewest if self._best is None else min(fewest, self._best)

    def run(self) -> None:
        rows = np.flatnonzero(self._wanted.possible).tolist()
        least = {row: moves_at_least(self._stock, self._wanted, self._lots.get(row, ()), row) for row in rows}
        for row in sorted((row for row in rows if least[row] < inf), key=lambda row: (least[row], row)):
            if self._best is not None and self._best <= Disruption(0, int(least[row])):
                return
            if monotonic() > self._ends:
                self._open.append(least[row])
                continue
            self._look_at(row)

    def _look_at(self, row: int) -> None:
        lots = self._lots.get(row, [])
        program = IntegerProgram()
        pods = sum(len(lot.keys) for lot in lots)
        going = [program.variable(len(lot.keys), cost=1.0) for lot in lots]
        violations = program.variable(pods, cost=pods + 1.0)
        for dimension in np.flatnonzero(self._wanted.demand).tolist():
            missing = int(self._wanted.demand[dimension] - self._stock.free[row, dimension])
            if missing > 0:
                freed = [(variable, -float(lot.taken[dimension])) for variable, lot in zip(going, lots, strict=True)]
                program.at_most([(variable, weight) for variable, weight in freed if weight], -missing)
        for allowed, at in self._allowances(lots):
            program.at_most([*((going[each], 1.0) for each in at), (violations, -1.0)], allowed)
        solved = program.minimize(max(0.1, self._ends - monotonic()))
        if solved.values is None:
            if not solved.is_impossible:
                self._open.append(0)
            return
        found = Disruption(solved.values[violations], sum(solved.values[variable] for variable in going))
        if ceil(solved.bound) < found.violations * (pods + 1) + found.victims:
            self._open.append(0)
        if self._best is None or found < self._best:
            self._best, self.node = found, self._stock.names[row]
            pairs = zip(lots, going, strict=True)
            self.victims = tuple(sorted(key for lot, each in pairs for key in lot.keys[: solved.values[each]]))

    def _allowances(self, lots: Sequence[Lot]) -> list[tuple[int, list[int]]]:
        """How many victims each budget allows, and the lots that it counts."""
        covered: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for at, lot in enumerate(lots):
            pod = self._pods[lot.keys[0]]
            for budget in self._budgets.covering(pod) if pod.metadata.labels else ():
                covered[budget].append(at)
        allowances = []
        for key, counted in covered.items():
            found = self._cache.objects.budgets[key]
            status, selector = found.status or PodDisruptionBudgetStatus(), found.spec.selector
            # To preemption, an empty selector selects nothing, and pods that are being evicted do not count again.
            # Upstream: framework/preemption/preemption.go (v1.36).
            if selector is not None and (selector.match_labels or selector.match_expressions):
                allowances.append((status.disruptions_allowed + len(status.disrupted_pods), counted))
        return allowances


def _lots(view: View, wanted: PodKind) -> dict[int, list[Lot]]:
    """Pods of lower priority that may be evicted, by node; those alike to budgets and in resources together."""
    found: dict[int, dict[object, Lot]] = defaultdict(dict)
    pods = view.pods
    rows = np.flatnonzero((pods.node_rows >= 0) & (pods.priorities < wanted.info.priority) & ~pods.foreign)
    for row in sorted(rows.tolist(), key=lambda row: pods.keys[row]):
        node_row = int(pods.node_rows[row])
        taken = np.append(pods.requests[row], 1)
        look = (int(pods.identity_ids[row]), taken.tobytes())
        found[node_row].setdefault(look, Lot(wanted, node_row, taken)).keys.append(pods.keys[row])
    return {node_row: list(lots.values()) for node_row, lots in found.items()}
