"""Soft constraints for one identical pod after another: nodes in groups that have one score.

What a node gets follows from the domain it is in and the selected pods it holds, so nodes that agree in both form a
group. A pod that is placed moves one node to another group and adds to one domain, which is all that has to be noted; a
decision then scores a few groups, not thousands of nodes. Serves at most one constraint over hosts and one over other
domains, of one selector, where no feasible node lacks a key; there is no grouping for anything else. The arithmetic is
that of `scoring`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from bayplan.core.columns import BoolArray, FloatArray, IntArray, RowArray, row_mask, with_room
from bayplan.core.plugins.pod_topology_spread.constraints import SpreadConstraint
from bayplan.core.plugins.pod_topology_spread.scoring import ScoredConstraint, SoftState, rounded, scaled
from bayplan.core.snapshot import View

#: There are no more groups than one for so many nodes.
NODES_PER_GROUP = 4

#: The constraints of the pods in question, as they are at an instant.
Asked: TypeAlias = Callable[[View], list[SpreadConstraint]]


class SpreadGroups:
    """Groups of nodes, and what is counted in each domain. Follows the pods of the cluster as it is."""

    def __init__(
        self, constraints: Sequence[ScoredConstraint], view: View, feasible_rows: RowArray, asked: Asked
    ) -> None:
        """At most one of the constraints is over hosts, and one over other domains."""
        nodes = view.nodes
        self._host = next((each for each in constraints if each.places is None), None)
        self._domain = domain = next((each for each in constraints if each.places is not None), None)
        self._held = constraints[0].of_nodes
        self._asked = asked
        self._wanted = asked(view)
        self._objects_version = view.objects.version
        self._spec_position = nodes.spec_changes.position
        self._usage_position = nodes.usage_changes.position
        self._totals: IntArray = np.zeros(1, dtype=np.int64)  # (domains,) selected pods
        if domain is not None:
            self._totals = domain.counts.astype(np.int64)
        held = self._held.counts(nodes.count)
        #: (nodes,) a number for each pair of selected pods held and domain.
        self.groups: RowArray = held.astype(np.intp)
        if domain is not None and domain.places is not None:
            self.groups *= len(self._totals)
            self.groups += domain.places
        # Only groups of feasible nodes have a say in the scale.
        self._feasible_rows = feasible_rows
        self._feasible: BoolArray = row_mask(feasible_rows, nodes.count)
        self._members: IntArray = np.bincount(self.groups.take(feasible_rows))  # (groups,) feasible nodes in each
        self._by_held: FloatArray = np.zeros((0, 1))  # (pods held, 1) what hosts add
        self._make_room(int(self.groups.max()))

    @property
    def are_few(self) -> bool:
        return len(self._members) * NODES_PER_GROUP <= len(self.groups)

    def follow(self, view: View, feasible_rows: RowArray) -> bool:
        """Bring every node into its group; False when that takes new groups."""
        nodes = view.nodes
        if feasible_rows is not self._feasible_rows or nodes.spec_changes.position != self._spec_position:
            return False
        if nodes.count != len(self.groups) or not self._wants_the_same(view):
            return False
        log = nodes.usage_changes
        news = log.position - self._usage_position
        if news == 1:
            self._move(log.last)
        elif news:
            rows = log.since(self._usage_position)
            if rows is None:
                return False
            held = self.groups.take(rows) // len(self._totals)
            for row in set(rows[held != self._held.counts(nodes.count).take(rows)].tolist()):
                self._move(row)
        self._usage_position = log.position
        return self.are_few

    def _wants_the_same(self, view: View) -> bool:
        """Constraints may follow from services and controllers."""
        if view.objects.version != self._objects_version:
            self._objects_version = view.objects.version
            return self._asked(view) == self._wanted
        return True

    def _move(self, row: int) -> None:
        """The node may hold other pods than before."""
        domain, domains, group = self._domain, len(self._totals), self.groups.item(row)
        held = self._held.counts(len(self.groups)).item(row)
        more = held - group // domains
        if not more:
            return
        if domain is not None and domain.counting[row]:
            self._totals[group % domains] += more
        self.groups[row] = moved = group + more * domains
        self._make_room(moved)
        if self._feasible[row]:
            self._members[group] -= 1
            self._members[moved] += 1

    def _make_room(self, group: int) -> None:
        """Groups for as many pods as this one is for, in all domains."""
        domains = len(self._totals)
        count = group // domains + 1
        if count > len(self._by_held):
            self._members = with_room(self._members, count * domains)[: count * domains]
            by_held = self._host.values(np.arange(count)) if self._host is not None else np.zeros(count)
            self._by_held = by_held[:, np.newaxis]

    def scores(self) -> IntArray:
        """(groups,) 0..100, 0 for groups without feasible nodes."""
        sums = self._by_held + self._domain.values(self._totals) if self._domain is not None else self._by_held
        present = self._members.nonzero()[0]
        scores = np.zeros_like(self._members)
        scores[present] = scaled(rounded(sums.ravel().take(present)))
        return scores


def spread_groups(state: SoftState, view: View, feasible_rows: RowArray, asked: Asked) -> SpreadGroups | None:
    """None where nodes of a group could differ, or groups are too many. `asked` gives the constraints at any time."""
    first, *others = constraints = state.constraints
    if state.ignored is not None or any(each.present is not None for each in constraints):
        return None
    if len(others) > 1 or any((each.places is None) == (first.places is None) for each in others):
        return None
    if any(each.of_nodes is not first.of_nodes for each in others):
        return None
    groups = SpreadGroups(constraints, view, feasible_rows, asked)
    return groups if groups.are_few else None
