"""Candidates of all nodes for one shape and priority of pod, kept up to date row by row.

A dry run on a node looks at that node alone as long as only local filters are in play. After a preemption one node has
changed, so one node is tried again; the choice is then made over the numbers kept for all nodes. The answers equal
those of a full search. The record of how they came about is not kept: `search` makes it when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bayplan.core.columns import IntArray, RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import distinct_verdicts
from bayplan.core.filtering import PASSED, Filtered, Verdicts
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.preemption.candidates import NO_VICTIMS, candidates_of, dry_run, expected_a_victim
from bayplan.core.preemption.select import CRITERIA, criteria_of
from bayplan.core.snapshot import View

#: What trying a node came to.
NOT_TRIED, CANDIDATE, NO_PODS_BELOW, STILL_FAILING, UNHARMED = range(5)


class Candidacy:
    """What would have to go from each node."""

    def __init__(self, node_count: int) -> None:
        self._outcomes = np.zeros(node_count, dtype=np.int8)  # (nodes,)
        self._still_failing = Verdicts(np.full(node_count, PASSED, dtype=np.int8), np.zeros(node_count, dtype=np.int64))
        self._values: IntArray = np.zeros((len(CRITERIA), node_count), dtype=np.int64)  # (criteria, nodes)
        self._victims: dict[int, RowArray] = {}
        self._resolvable: dict[tuple[int, int], bool] = {}
        self._failures: list[tuple[Status, int]] | None = None
        self.usage_position = self.importance_position = 0  # how far it has read the nodes' logs of changes
        self.tied_rows: RowArray = np.zeros(0, dtype=np.intp)

    def try_again(self, pod: PodInfo, view: View, filtered: Filtered, rows: RowArray) -> None:
        """New answers for these rows, and the choice that follows from all answers."""
        self._failures = None
        self._outcomes[rows] = NOT_TRIED
        potential = self._potential(view, filtered, rows)
        if len(potential):
            self._try(pod, view, filtered, potential)
        self.tied_rows = self._choose()
        self._view, self._filtered = view, filtered

    def victims_on(self, node_row: int) -> RowArray:
        return self._victims[node_row]

    def failures(self) -> Iterable[tuple[Status, int]]:
        if self._failures is None:
            self._failures = list(self._count_failures())
        return self._failures

    def _count_failures(self) -> Iterator[tuple[Status, int]]:
        without_victims = int(np.count_nonzero(self._outcomes == NO_PODS_BELOW))
        if without_victims:
            yield NO_VICTIMS, without_victims
        failing = np.flatnonzero(self._outcomes == STILL_FAILING)
        for position, code, rows in distinct_verdicts(self._still_failing, failing):
            yield self._filtered.explain(self._view, position, code), len(rows)
        for row in np.flatnonzero(self._outcomes == UNHARMED):
            yield expected_a_victim(self._view, int(row)), 1

    def _potential(self, view: View, filtered: Filtered, rows: RowArray) -> RowArray:
        """Rows where removing pods could help; what a failure code means is asked once."""
        rows = rows[view.nodes.alive[rows]]
        useful = [
            same
            for position, code, same in distinct_verdicts(filtered.verdicts, rows)
            if position >= 0 and self._is_resolvable(view, filtered, position, code)
        ]
        return np.sort(np.concatenate(useful)) if useful else row_array([])

    def _is_resolvable(self, view: View, filtered: Filtered, position: int, code: int) -> bool:
        known = self._resolvable.get((position, code))
        if known is None:
            known = filtered.explain(view, position, code).code is Code.UNSCHEDULABLE
            self._resolvable[position, code] = known
        return known

    def _try(self, pod: PodInfo, view: View, filtered: Filtered, rows: RowArray) -> None:
        tried = dry_run(pod, view, filtered, rows)
        self._outcomes[tried.without_victims] = NO_PODS_BELOW
        self._outcomes[tried.unharmed] = UNHARMED
        self._outcomes[tried.failing_rows] = STILL_FAILING
        self._still_failing.rejected_by[tried.failing_rows] = tried.still_failing.rejected_by
        self._still_failing.codes[tried.failing_rows] = tried.still_failing.codes
        candidates = candidates_of(tried, view)
        self._outcomes[candidates.rows] = CANDIDATE
        if len(candidates.rows):
            self._values[:, candidates.rows] = criteria_of(candidates, view)
        for position, row in enumerate(candidates.rows.tolist()):
            self._victims[row] = candidates.victims_of(position)

    def _choose(self) -> RowArray:
        left: RowArray = (self._outcomes == CANDIDATE).nonzero()[0]
        for values, (_, lowest_wins) in zip(self._values, CRITERIA, strict=True):
            if len(left) < 2:
                break
            compared = values[left]
            best = compared == (compared.min() if lowest_wins else compared.max())
            if np.count_nonzero(best) < len(left):
                left = left[best]
        return left
