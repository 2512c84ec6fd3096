"""The dry run on a few nodes, with plain numbers, where nothing but requests decides whether the preemptor fits.

Takes a node's pods of lower priority and finds its victims; the same as `candidates.dry_run` and the criteria of
`select`, without the fixed costs of array code. `demands_alone` tells where it applies: no other filter that looks at
pods is in play. Does not say why a node fails with all these pods gone, and keeps no record of the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from bayplan.core.columns import row_array
from bayplan.core.columns.loops import FIT_CODES
from bayplan.core.columns.shapes import Identity
from bayplan.core.filtering import Filtered
from bayplan.core.framework.contract import SKIP, CompiledFilter, Reads
from bayplan.core.preemption.budgets import is_covered
from bayplan.core.preemption.candidates import by_importance
from bayplan.core.preemption.select import PRIORITY_OFFSET
from bayplan.core.preemption.unstable_order import STABLE_LENGTH_MAX
from bayplan.core.snapshot import View
from bayplan.model.policy import PodDisruptionBudget

#: Answers that are remembered, at most.
KNOWN_MAX = 10_000


class Demands(NamedTuple):
    """What the preemptor cannot do without, and the filter that sees to it."""

    position: int
    amounts: Sequence[tuple[str, int, int, int, bool]]  # name, column, amount, bit, whether devices may stand for it


class Tried(NamedTuple):
    """The victims on a node, and what they are compared by."""

    victims: list[int]  # rows, most important first; none: everything could be put back
    values: tuple[int, ...] = ()  # in the order of `select.CRITERIA`


def demands_alone(filtered: Filtered) -> Demands | None:
    """What decides on nodes that pass all filters but the last; None: more than that."""
    *others, last = [position for position, state in enumerate(filtered.states) if state is not SKIP] or [-1]
    if last < 0 or any(filtered.plugins[position].reads != Reads.NODE for position in others):
        return None
    plugin = filtered.plugins[last]
    rule = plugin.filter_rule(filtered.states[last]) if isinstance(plugin, CompiledFilter) else None
    return Demands(last, cast(Any, rule.amounts)) if rule is not None and rule.number == FIT_CODES else None


class FewNodes:
    """Tries nodes for one shape and priority of pod, for as long as budgets stay as they are."""

    def __init__(self) -> None:
        self._covering: dict[Identity, list[PodDisruptionBudget]] = {}
        #: What came of nodes as they were. Where things are tried and put back, most of them are so again.
        self._known: dict[tuple[object, ...], Tried | None] = {}
        self._knows_names: bool | None = None  # whether budgets name pods

    def try_node(self, view: View, demands: Demands, row: int, below: list[int]) -> Tried | None:
        """`below` are the pods of lower priority there, in the node's own order. None: it fails without them, too."""
        pods, cells, room = view.pods, view.pods.cells, _Room(view, demands, row)
        if self._knows_names is None:
            self._knows_names = any(
                each.status and each.status.disrupted_pods for each in view.objects.budgets.values()
            )
        looks = tuple(
            [
                (
                    pods.shape(each).serial,
                    cells.priorities[each],
                    cells.started_at[each],
                    self._knows_names and pods.keys[each],
                )
                for each in below
            ]
        )
        key = (*room.left(), *looks)
        if key in self._known:
            known = self._known[key]
            return known and Tried([below[at] for at in known.victims], known.values)
        tried = self._try(view, room, below)
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[key] = tried and Tried([below.index(each) for each in tried.victims], tried.values)
        return tried

    def _try(self, view: View, room: _Room, below: list[int]) -> Tried | None:
        ordered = _by_importance(view, below)
        for each in ordered:
            room.take(each, -1)
        if not room.is_enough():
            return None
        violating = self._violating(view, ordered)
        spared_first = sorted(ordered, key=lambda each: each not in violating) if violating else ordered
        victims = [each for each in spared_first if not room.holds(each)]
        if not victims:
            return Tried([])
        victims = _by_importance(view, victims)
        return Tried(victims, _values(view, victims, sum(each in violating for each in victims)))

    def _violating(self, view: View, ordered: list[int]) -> set[int]:
        """Those whose eviction breaks a budget; each budget is spent on the most important first."""
        violating: set[int] = set()
        if not view.objects.budgets:
            return violating
        spent: dict[int, int] = {}
        for row in ordered:
            for budget in self._budgets_of(view, row):
                status = budget.status
                if status and view.pods.keys[row].partition("/")[2] in status.disrupted_pods:
                    continue
                spent[id(budget)] = spent.get(id(budget), 0) + 1
                if spent[id(budget)] > (status.disruptions_allowed if status else 0):
                    violating.add(row)
        return violating

    def _budgets_of(self, view: View, pod_row: int) -> list[PodDisruptionBudget]:
        identity = view.shapes.identities.values[view.pods.cells.identity_ids[pod_row]]
        found = self._covering.get(identity)
        if found is None:
            labels = dict(identity.labels)
            found = self._covering[identity] = [
                budget
                for (namespace, _), budget in view.objects.budgets.items()
                if namespace == identity.namespace and is_covered(budget, labels)
            ]
        return found


class _Room:
    """What a node has left of what the preemptor needs, while pods leave it and come back."""

    def __init__(self, view: View, demands: Demands, row: int) -> None:
        nodes, usage = view.nodes, view.usage
        self._requests = view.pods.requests
        self._columns: list[int] = []
        self._spare: list[int] = []  # beyond what the preemptor asks for
        for _, column, amount, _, may_be_devices in demands.amounts:
            capacity = nodes.allocatable.item(row, column)
            if capacity or not may_be_devices:
                self._columns.append(column)
                self._spare.append(capacity - usage.requested.item(row, column) - amount)
        self._places = nodes.allowed_pods.item(row) - usage.pod_counts.item(row) - 1

    def take(self, pod_row: int, sign: int) -> None:
        """The pod comes (+1) or leaves (-1)."""
        requests = self._requests
        for at, column in enumerate(self._columns):
            self._spare[at] -= sign * requests.item(pod_row, column)
        self._places -= sign

    def left(self) -> tuple[int, ...]:
        return (self._places, *self._spare)

    def is_enough(self) -> bool:
        return self._places >= 0 and min(self._spare, default=0) >= 0

    def holds(self, pod_row: int) -> bool:
        """Puts the pod back if the preemptor then still fits."""
        self.take(pod_row, +1)
        if self.is_enough():
            return True
        self.take(pod_row, -1)
        return False


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
