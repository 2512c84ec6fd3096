"""The full search where groups are known: what has to go from a node may be a whole group, with pods on other nodes.

Node by node, each in a trial on the cache: all units of lower priority that have a pod there are taken out with all
their pods, and put back one after another as long as the pod still fits. A candidate is a node with all
pods of its victims, wherever they are. Upstream: plugins/defaultpreemption (v1.37).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bayplan.core.cache import Cache
from bayplan.core.columns import RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import PASSED, Filtered, filter_states, filter_with_nominated, run_pre_filters
from bayplan.core.framework.contract import SKIP
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status
from bayplan.core.preemption.candidates import NO_VICTIMS, Candidates, expected_a_victim
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.preemption.select import select
from bayplan.core.preemption.units import Unit, may_go, order_of_reprieve, units_on
from bayplan.core.preemption.unstable_order import sorted_like_go
from bayplan.core.snapshot import View


@dataclass(frozen=True, slots=True)
class UnitsFound:
    """Candidates with their victims, and why other nodes are none."""

    candidates: Candidates
    tied: RowArray  # positions in `candidates`
    node_statuses: dict[int, Status]

    @property
    def tied_rows(self) -> RowArray:
        rows: RowArray = self.candidates.rows[self.tied]
        return rows

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

    def __call__(self, pod: PodInfo, view: View, filtered: Filtered) -> UnitsFound:
        rows: list[int] = []
        victims: list[int] = []
        bounds, violations = [0], []
        statuses: dict[int, Status] = {}
        for node_row in potential_rows(filtered, view).tolist():
            found = self._try_node(pod, view, filtered, node_row)
            if isinstance(found, Status):
                statuses[node_row] = found
                continue
            units, broken = found
            rows.append(node_row)
            victims += [row for unit in units for row in unit.pod_rows]
            bounds.append(len(victims))
            violations.append(broken)
        candidates = Candidates(
            row_array(rows), row_array(victims), row_array(bounds), np.array(violations, dtype=np.int64)
        )
        return UnitsFound(candidates, select(candidates, view).tied, statuses)

    def _try_node(
        self, pod: PodInfo, view: View, filtered: Filtered, node_row: int
    ) -> tuple[Sequence[Unit], int] | Status:
        """The units that have to go, and how many pods of them break a budget; or why the node is no candidate."""
        try:
            units = units_on(view, [node_row], leaves_out_strays=self._leaves_out_strays)
            potential = [unit for unit in units if unit.priority < pod.priority and may_go(view, unit)]
            return self._find_victims(pod, view, filtered, node_row, potential) if potential else NO_VICTIMS
        except CycleError as error:
            return Status(Code.ERROR, (error.message,))

    def _find_victims(
        self, pod: PodInfo, view: View, filtered: Filtered, node_row: int, potential: Sequence[Unit]
    ) -> tuple[Sequence[Unit], int] | Status:
        cache = self._cache
        by_importance = sorted_like_go(potential, lambda one, other: one.importance < other.importance)
        spared, violating = order_of_reprieve(view, by_importance)
        victims: list[Unit] = []
        with cache.trial():
            places = {row: int(view.pods.node_rows[row]) for unit in potential for row in unit.pod_rows}
            for row in places:
                cache.remove_row(row)
            status = self._verdict(pod, filtered, node_row)
            if not status.ok:
                return status
            for unit in spared:
                for row in unit.pod_rows:
                    cache.bring_back(row, places[row])
                if not self._verdict(pod, filtered, node_row).ok:
                    victims.append(unit)
                    for row in unit.pod_rows:
                        cache.remove_row(row)
        if not victims:
            return expected_a_victim(view, node_row)
        if 0 < len(violating) < len(potential):
            victims = sorted_like_go(victims, lambda one, other: one.importance < other.importance)
        return victims, sum(violating.get(unit, 0) for unit in victims)

    def _verdict(self, pod: PodInfo, filtered: Filtered, node_row: int) -> Status:
        """What the filters say of the node in the trial. Who had nothing to do before has nothing to do now."""
        view, profile = self._cache.view(), self._profile
        pre = run_pre_filters(profile, pod, view)
        skipped = [name for name, state in filtered.pre.states.items() if state is SKIP]
        states = filter_states(profile, pod, view, pre.states | dict.fromkeys(skipped, SKIP))
        found = filter_with_nominated(profile.filter, states, pod, view, row_array([node_row]))
        position, code = found.rejected_by.item(0), found.codes.item(0)
        if position == PASSED:
            return SUCCESS
        return profile.filter[position].explain_failure(states[position], view, code)
