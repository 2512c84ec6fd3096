"""The dry run on a few nodes, with plain numbers, where nothing but requests decides whether the preemptor fits.

Takes a node's pods of lower priority and finds its victims; the same as `candidates.dry_run` and the criteria of
`select`, without the fixed costs of array code. `demands_alone` tells where it applies: no other filter that looks at
pods is in play. Keeps no record of the steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from bayplan.core.columns import row_array
from bayplan.core.columns.loops import FIT_CODES, TOO_MANY_PODS_BIT, UNRESOLVABLE_BIT
from bayplan.core.filtering import Filtered
from bayplan.core.framework.contract import SKIP, Reads
from bayplan.core.framework.speed_hints import hint
from bayplan.core.preemption.budgets import covering
from bayplan.core.preemption.candidates import by_importance
from bayplan.core.preemption.select import PRIORITY_OFFSET
from bayplan.core.preemption.unstable_order import STABLE_LENGTH_MAX
from bayplan.core.snapshot import View
from bayplan.model.policy import PodDisruptionBudget

_NOBODY: set[int] = set()


class Demands(NamedTuple):
    """What the preemptor cannot do without, and the filter that sees to it."""

    position: int
    amounts: Sequence[tuple[str, int, int, int, bool]]  # name, column, amount, bit, whether devices may stand for it


class TriedNode(NamedTuple):
    """The victims on a node, and what they are compared by."""

    victims: list[int]  # rows, most important first; none: everything could be put back
    values: tuple[int, ...] = ()  # in the order of `select.CRITERIA`


def demands_alone(filtered: Filtered) -> Demands | None:
    """What decides on nodes that pass all filters but the last; None: more than that."""
    *others, last = [position for position, state in enumerate(filtered.states) if state is not SKIP] or [-1]
    if last < 0 or any(filtered.plugins[position].reads != Reads.NODE for position in others):
        return None
    rule_of = hint(filtered.plugins[last], "filter_rule")
    rule = rule_of(filtered.states[last]) if rule_of is not None else None
    return Demands(last, cast(Any, rule.amounts)) if rule is not None and rule.number == FIT_CODES else None


class StillFailing(NamedTuple):
    """Not even with all of these pods gone does the preemptor fit."""

    code: int  # of the filter


class FewNodes:
    """Tries nodes one by one. What is known of the pods of a node serves all preemptors."""

    def __init__(self) -> None:
        self._budgets_version = -1
        self._residents: dict[int, Residents] = {}  # by node row

    def try_node(self, view: View, demands: Demands, row: int, priority: int) -> TriedNode | StillFailing:
        """What has to go from a node for a preemptor of this priority."""
        residents = self._residents_of(view, row)
        room = _Room(view, demands, row)
        below = residents.below(view, row, priority)
        for at in below:
            room.free(residents.requests[at])
        if not room.is_enough():
            return StillFailing(room.code())
        violating = self._violating(view, residents, below)
        spared_first = sorted(below, key=lambda at: at not in violating) if violating else below
        victims = [at for at in spared_first if not room.take_back(residents.requests[at])]
        if not victims:
            return TriedNode([])
        rows = _by_importance(view, [residents.rows[at] for at in victims])
        return TriedNode(rows, _values(view, rows, sum(at in violating for at in victims)))

    def has_pods_below(self, view: View, row: int, priority: int) -> bool:
        """Whether there is a pod of a lower priority on the node."""
        priorities = view.pods.cells.priorities
        return any(priorities[pod] < priority for pod in view.nodes.pod_rows[row])

    def _residents_of(self, view: View, row: int) -> Residents:
        if self._budgets_version != view.objects.budgets_version:
            self._budgets_version = view.objects.budgets_version
            self._residents.clear()
        known = self._residents.get(row)
        if known is None or known.version != view.nodes.versions[row]:
            known = self._residents[row] = Residents(view, row)
        return known

    def _violating(self, view: View, residents: Residents, below: Sequence[int]) -> set[int]:
        """Those whose eviction breaks a budget; each budget is spent on the most important first."""
        if not view.objects.budgets:
            return _NOBODY
        known = residents.violating.get(len(below))
        if known is None:
            known = residents.violating[len(below)] = self._spend_budgets(view, residents, below)
        return known

    @staticmethod
    def _spend_budgets(view: View, residents: Residents, below: Sequence[int]) -> set[int]:
        violating: set[int] = set()
        spent: dict[int, int] = {}
        stops = view.objects.gates.release.first_broken_budget_ends
        for at in below:
            row = residents.rows[at]
            covered_by = covering(view, view.pods.cells.identity_ids[row])
            for budget in sorted(covered_by, key=_name) if stops else covered_by:
                status = budget.status
                if status and view.pods.keys[row].partition("/")[2] in status.disrupted_pods:
                    continue
                spent[id(budget)] = spent.get(id(budget), 0) + 1
                if spent[id(budget)] > (status.disruptions_allowed if status else 0):
                    violating.add(at)
                    if stops:
                        break
        return violating


def _name(budget: PodDisruptionBudget) -> str:
    return budget.metadata.name


class Residents:
    """The pods of a node, most important first, as it is for one version of its row."""

    __slots__ = ("_has_equals", "_ranks", "requests", "rows", "version", "violating")

    def __init__(self, view: View, row: int) -> None:
        priorities, started_at = view.pods.cells.priorities, view.pods.cells.started_at
        on_node = view.nodes.pod_rows[row]
        keyed = sorted([(-priorities[pod], started_at[pod], at, pod) for at, pod in enumerate(on_node)])
        self.version = view.nodes.versions[row]
        self.rows = [each[3] for each in keyed]
        self.requests: list[list[int]] = view.pods.requests[self.rows].tolist()
        self.violating: dict[int, set[int]] = {}  # by how many pods are below the preemptor
        self._ranks = [each[0] for each in keyed]
        self._has_equals = len(keyed) > STABLE_LENGTH_MAX and any(
            one[:2] == other[:2] for one, other in pairwise(keyed)
        )

    def below(self, view: View, row: int, priority: int) -> Sequence[int]:
        """Places of the pods of a lower priority, most important first."""
        first = bisect_right(self._ranks, -priority)
        places = range(first, len(self.rows))
        if not self._has_equals or len(places) <= STABLE_LENGTH_MAX:
            return places
        # Of so many pods, those that are equal may change places.
        priorities, place_of = view.pods.cells.priorities, {pod: at for at, pod in enumerate(self.rows)}
        below = [pod for pod in view.nodes.pod_rows[row] if priorities[pod] < priority]
        return [place_of[pod] for pod in by_importance(view, row_array(below)).tolist()]


class _Room:
    """What a node has left of what the preemptor needs, while pods leave it and come back."""

    __slots__ = ("_bits", "_columns", "_places", "_spare")

    def __init__(self, view: View, demands: Demands, row: int) -> None:
        nodes, usage = view.nodes, view.usage
        self._columns: list[int] = []
        self._spare: list[int] = []  # beyond what the preemptor asks for
        self._bits: list[int] = []
        for _, column, amount, bit, may_be_devices in demands.amounts:
            capacity = nodes.allocatable.item(row, column)
            if capacity or not may_be_devices:
                self._columns.append(column)
                self._spare.append(capacity - usage.requested.item(row, column) - amount)
                self._bits.append(bit if amount <= capacity else bit | UNRESOLVABLE_BIT)
        self._places = nodes.allowed_pods.item(row) - usage.pod_counts.item(row) - 1

    def free(self, requests: list[int]) -> None:
        """A pod that takes this much leaves."""
        for at, column in enumerate(self._columns):
            self._spare[at] += requests[column]
        self._places += 1

    def is_enough(self) -> bool:
        return self._places >= 0 and min(self._spare, default=0) >= 0

    def code(self) -> int:
        """What the filter says."""
        code = TOO_MANY_PODS_BIT if self._places < 0 else 0
        for spare, bit in zip(self._spare, self._bits, strict=True):
            if spare < 0:
                code |= bit
        return code

    def take_back(self, requests: list[int]) -> bool:
        """Put a pod back that takes this much, if the preemptor then still fits."""
        if self._places < 1:
            return False
        left = [spare - requests[column] for spare, column in zip(self._spare, self._columns, strict=True)]
        if left and min(left) < 0:
            return False
        self._spare = left
        self._places -= 1
        return True


def _by_importance(view: View, pod_rows: list[int]) -> list[int]:
    priorities, started_at = view.pods.cells.priorities, view.pods.cells.started_at
    keyed = sorted([(-priorities[row], started_at[row], at, row) for at, row in enumerate(pod_rows)])
    if len(keyed) > STABLE_LENGTH_MAX and any(one[:2] == other[:2] for one, other in pairwise(keyed)):
        # Of so many pods, those that are equal may change places.
        ordered: list[int] = by_importance(view, row_array(pod_rows)).tolist()
        return ordered
    return [each[-1] for each in keyed]


def _values(view: View, victims: list[int], violations: int) -> tuple[int, ...]:
    cells = view.pods.cells
    priorities = [cells.priorities[row] for row in victims]
    top = max(priorities)
    started = min(cells.started_at[row] for row, priority in zip(victims, priorities, strict=True) if priority == top)
    return violations, priorities[0], sum(priorities) + PRIORITY_OFFSET * len(victims), len(victims), started
