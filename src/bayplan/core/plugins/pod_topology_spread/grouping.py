"""Soft constraints for one identical pod after another: nodes in groups that have one score.

What a node gets follows from the domain it is in and the selected pods it holds, so nodes that agree in both form a
group. A pod that is placed moves one node to another group and adds to one domain, which is all that has to be noted; a
decision then scores a few groups, not thousands of nodes. Serves at most one constraint over hosts and one over other
domains, of one selector, where no feasible node lacks a key; there is no grouping for anything else. The arithmetic is
that of `scoring`, with plain numbers.
Upstream: none, as it scores node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, row_mask
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.plugins.pod_topology_spread.constraints import SpreadConstraint
from bayplan.core.plugins.pod_topology_spread.scoring import ScoredConstraint, SoftState, rounded_one, scaled_few
from bayplan.core.snapshot import View

#: There are no more groups than one for this many nodes: array code scores that many nodes in the time of one group.
NODES_PER_GROUP = 64

#: The constraints of a pod, as they are at an instant.
Asked: TypeAlias = Callable[[PodInfo, View], list[SpreadConstraint]]


class SpreadGroups:
    """Groups of nodes, and what is counted in each domain. Follows the pods of the cluster as it is."""

    def __init__(
        self,
        constraints: Sequence[ScoredConstraint],
        view: View,
        feasible_rows: RowArray,
        asked: Asked,
        wanted: list[SpreadConstraint],
    ) -> None:
        """At most one of the constraints is over hosts, and one over other domains."""
        nodes = view.nodes
        self._host = next((each for each in constraints if each.places is None), None)
        self._domain = domain = next((each for each in constraints if each.places is not None), None)
        self._held = constraints[0].of_nodes
        self._asked = asked
        self._wanted = wanted
        self._objects_version = view.objects.version
        self._spec_position = nodes.spec_changes.position
        self._usage_position = nodes.usage_changes.position
        self._totals: list[int] = [0] if domain is None else domain.counts.tolist()  # selected pods of each domain
        #: (nodes,) a number for each pair of selected pods held and domain.
        self.groups: RowArray = self._held.counts(nodes.count).astype(np.intp)
        if domain is not None and domain.places is not None:
            self.groups *= len(self._totals)
            self.groups += domain.places
        # Only groups of feasible nodes have a say in the scale.
        self._feasible_rows = feasible_rows
        self._feasible: BoolArray = row_mask(feasible_rows, nodes.count)
        members = np.bincount(self.groups.take(feasible_rows))
        #: How many feasible nodes each group has; groups without any are left out.
        self._members: dict[int, int] = {group: members.item(group) for group in members.nonzero()[0].tolist()}
        self._highest_group = int(self.groups.max())

    @property
    def are_few(self) -> bool:
        return len(self._members) * NODES_PER_GROUP <= len(self.groups)

    def follow(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> bool:
        """Bring every node into its group; False when that takes new groups."""
        nodes = view.nodes
        if feasible_rows is not self._feasible_rows or nodes.spec_changes.position != self._spec_position:
            return False
        if not self._held.is_followed or nodes.count != len(self.groups) or not self._wants_the_same(pod, view):
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

    def _wants_the_same(self, pod: PodInfo, view: View) -> bool:
        """Constraints may follow from services and controllers."""
        if view.objects.version != self._objects_version:
            self._objects_version = view.objects.version
            return self._asked(pod, view) == self._wanted
        return True

    def _move(self, row: int) -> None:
        """The node may hold other pods than before."""
        domain, domains, group = self._domain, len(self._totals), self.groups.item(row)
        more = self._held.counts(len(self.groups)).item(row) - group // domains
        if not more:
            return
        if domain is not None and domain.counting[row]:
            self._totals[group % domains] += more
        self.groups[row] = moved = group + more * domains
        self._highest_group = max(self._highest_group, moved)
        if self._feasible[row]:
            self._members[moved] = self._members.get(moved, 0) + 1
            self._members[group] -= 1
            if not self._members[group]:
                del self._members[group]

    def scores(self) -> IntArray:
        """(groups,) 0..100, 0 for groups without feasible nodes."""
        scores: IntArray = np.zeros(self._highest_group + 1, dtype=np.int64)
        raw = [self._raw_score(*divmod(group, len(self._totals))) for group in self._members]
        for group, score in zip(self._members, scaled_few(raw), strict=True):
            scores[group] = score
        return scores

    def _raw_score(self, held: int, place: int) -> int:
        # Of two numbers it does not matter which one comes first.
        by_host = self._host.value_one(held) if self._host is not None else 0.0
        by_domain = self._domain.value_one(self._totals[place]) if self._domain is not None else 0.0
        return rounded_one(by_host + by_domain)


def spread_groups(
    state: SoftState, view: View, feasible_rows: RowArray, asked: Asked, pod: PodInfo
) -> SpreadGroups | None:
    """None where nodes of a group could differ, or groups are too many. `asked` gives the constraints at any time."""
    first, *others = constraints = state.constraints
    if state.ignored is not None or any(each.present is not None for each in constraints):
        return None
    if len(others) > 1 or any((each.places is None) == (first.places is None) for each in others):
        return None
    if any(each.of_nodes is not first.of_nodes for each in others):
        return None
    groups = SpreadGroups(constraints, view, feasible_rows, asked, asked(pod, view))
    return groups if groups.are_few else None
