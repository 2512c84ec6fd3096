"""The full search where groups are known: what has to go from a node may be a whole group, with pods on other nodes.

Node by node, each in a trial on the cache: all units of lower priority that have a pod there are taken out with all
their pods, and put back one after another as long as the pod still fits. A candidate is a node with all
pods of its victims, wherever they are. Upstream: plugins/defaultpreemption (v1.37).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayplan.core.cache import Cache
from bayplan.core.columns import RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import PASSED, Filtered, filter_states, filter_with_nominated, run_pre_filters, with_moves
from bayplan.core.framework.contract import SKIP
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status
from bayplan.core.preemption.candidates import NO_VICTIMS, Candidates, expected_a_victim
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.preemption.select import Selection, select
from bayplan.core.preemption.units import BrokenBudgets, Unit, may_go, order_of_reprieve, units_on
from bayplan.core.preemption.unstable_order import sorted_like_go
from bayplan.core.snapshot import View


@dataclass(frozen=True, slots=True)
class PutBack:
    """A unit that was put back, and what the pod was told of the node then: whether the unit may stay."""

    unit: Unit
    status: Status


@dataclass(frozen=True, slots=True)
class UnitsOnNode:
    """What was tried on one node."""

    victims: Sequence[Unit]
    reprieves: Sequence[PutBack]  # in their order
    broken: BrokenBudgets


@dataclass(frozen=True, slots=True)
class UnitsFound:
    """Candidates with their victims, and why other nodes are none."""

    candidates: Candidates
    selection: Selection
    node_statuses: dict[int, Status]
    tried: dict[int, UnitsOnNode]  # node row -> how its victims were found, of candidates
    ungathered_rows: set[int]  # nodes whose units could not be told; upstream keeps no status of them
    foreign_rows: set[int]  # pods of lower priority that stay: they, or some of their group, are another scheduler's
    filtered: Filtered  # what it started from

    @property
    def tied_rows(self) -> RowArray:
        rows: RowArray = self.candidates.rows[self.selection.tied]
        return rows

    @property
    def without_victims(self) -> RowArray:
        """Node rows with no pod that may be evicted."""
        return row_array([row for row, status in self.node_statuses.items() if status is NO_VICTIMS])

    def victims_on(self, node_row: int) -> RowArray:
        return self.candidates.victims_of(int(np.searchsorted(self.candidates.rows, node_row)))

    def failures(self) -> Iterable[tuple[Status, int]]:
        return ((status, 1) for status in self.node_statuses.values())


class UnitSearch:
    """Looks for candidates; a `Search` of the PostFilter chain."""

    def __init__(self, cache: Cache, profile: Profile, *, leaves_out_strays: bool = False) -> None:
        """`leaves_out_strays`: groups with a pod on a node that is gone stay; upstream leaves out the whole node."""
        self._cache, self._profile = cache, profile
        self._leaves_out_strays = leaves_out_strays

    @classmethod
    def where_needed(cls, cache: Cache, profile: Profile) -> UnitSearch | None:
        """None where no pod of a group is on a node: then a dry run finds the same, faster."""
        return cls(cache, profile) if cache.gates.generic_workload and cache.view().pods.grouped else None

    def __call__(self, pod: PodInfo, view: View, filtered: Filtered) -> UnitsFound:
        rows: list[int] = []
        victims: list[int] = []
        bounds, violations = [0], []
        statuses: dict[int, Status] = {}
        tried: dict[int, UnitsOnNode] = {}
        ungathered: set[int] = set()
        foreign: set[int] = set()
        for node_row in potential_rows(filtered, view).tolist():
            try:
                units = units_on(view, [node_row], leaves_out_strays=self._leaves_out_strays)
            except CycleError as error:
                statuses[node_row] = Status(Code.ERROR, (error.message,))
                ungathered.add(node_row)
                continue
            found = self._try_node(pod, view, filtered, node_row, units, foreign)
            if isinstance(found, Status):
                statuses[node_row] = found
                continue
            tried[node_row] = found
            rows.append(node_row)
            victims += [row for unit in found.victims for row in unit.pod_rows]
            bounds.append(len(victims))
            violations.append(sum(found.broken.violations(unit) for unit in found.victims))
        candidates = Candidates(
            row_array(rows), row_array(victims), row_array(bounds), np.array(violations, dtype=np.int64)
        )
        return UnitsFound(candidates, select(candidates, view), statuses, tried, ungathered, foreign, filtered)

    def _try_node(
        self, pod: PodInfo, view: View, filtered: Filtered, node_row: int, units: Sequence[Unit], foreign: set[int]
    ) -> UnitsOnNode | Status:
        """The units that have to go, or why the node is no candidate. Adds to the pods that another scheduler has."""
        lower = [unit for unit in units if unit.priority < pod.priority]
        potential = [unit for unit in lower if may_go(view, unit)]
        foreign.update(row for unit in lower if not may_go(view, unit) for row in unit.pod_rows)
        try:
            return self._find_victims(pod, view, filtered, node_row, potential) if potential else NO_VICTIMS
        except CycleError as error:
            return Status(Code.ERROR, (error.message,))

    def _find_victims(
        self, pod: PodInfo, view: View, filtered: Filtered, node_row: int, potential: Sequence[Unit]
    ) -> UnitsOnNode | Status:
        cache = self._cache
        by_importance = sorted_like_go(potential, lambda one, other: one.importance < other.importance)
        spared, broken = order_of_reprieve(view, by_importance)
        reprieves: list[PutBack] = []
        with cache.trial():
            places = {row: int(view.pods.node_rows[row]) for unit in potential for row in unit.pod_rows}
            gone = dict(places)
            for row in places:
                cache.remove_row(row)
            status = self._verdict(pod, filtered, node_row, gone)
            if not status.ok:
                return status
            for unit in spared:
                for row in unit.pod_rows:
                    cache.bring_back(row, gone.pop(row))
                reprieves.append(PutBack(unit, self._verdict(pod, filtered, node_row, gone)))
                if not reprieves[-1].status.ok:
                    for row in unit.pod_rows:
                        gone[row] = places[row]
                        cache.remove_row(row)
        victims = [each.unit for each in reprieves if not each.status.ok]
        if not victims:
            return expected_a_victim(view, node_row)
        if 0 < sum(map(bool, map(broken.violations, potential))) < len(potential):
            victims = sorted_like_go(victims, lambda one, other: one.importance < other.importance)
        return UnitsOnNode(victims, reprieves, broken)

    def _verdict(self, pod: PodInfo, filtered: Filtered, node_row: int, gone: Mapping[int, int]) -> Status:
        """What the filters say of the node in the trial, where pods are gone from nodes.

        Who had nothing to do before has nothing to do now.
        """
        view, profile = self._cache.view(), self._profile
        pre = run_pre_filters(profile, pod, view)
        skipped = [name for name, state in filtered.pre.states.items() if state is SKIP]
        states = filter_states(profile, pod, view, pre.states | dict.fromkeys(skipped, SKIP))
        states = with_moves(profile.filter, states, view, gone, -1)
        found = filter_with_nominated(profile.filter, states, pod, view, row_array([node_row]))
        position, code = found.rejected_by.item(0), found.codes.item(0)
        if position == PASSED:
            return SUCCESS
        plugin = profile.filter[position]
        return replace(plugin.explain_failure(states[position], view, code), plugin=plugin.name)
