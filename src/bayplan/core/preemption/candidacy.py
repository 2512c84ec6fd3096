"""Candidates of all nodes for one shape and priority of pod, kept up to date row by row.

A dry run on a node looks at that node alone as long as only local filters are in play. After a preemption one node has
changed, so one node is tried again; the choice is then made over the numbers kept for all nodes. The answers equal
those of a full search. Where other filters are in play, `foresight` makes the choice from what is kept
here; for its sake nodes that pass the local filters are tried, too. The record of how answers came about is not kept:
`search` makes it when somebody asks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, distinct, every_row, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import FEW_ROWS, count_verdicts
from bayplan.core.filtering import PASSED, Filtered, Verdicts
from bayplan.core.following import Follower
from bayplan.core.framework.contract import State
from bayplan.core.framework.verdict import Status
from bayplan.core.preemption.candidates import (
    NO_VICTIMS,
    candidates_of,
    dry_run,
    expected_a_victim,
)
from bayplan.core.preemption.few_nodes import Demands, FewNodes, StillFailing, demands_alone
from bayplan.core.preemption.potential import is_potential, potential_rows
from bayplan.core.preemption.select import CRITERIA, criteria_of
from bayplan.core.snapshot import View

#: Makes the lowest value of every criterion the best.
SIGNS = np.array([[1 if lowest_wins else -1] for _, lowest_wins in CRITERIA])
#: The value of a node that is no candidate: worse than any other.
WORST = np.iinfo(np.int64).max

#: What trying a node came to.
NOT_TRIED, CANDIDATE, NO_PODS_BELOW, STILL_FAILING, UNHARMED = range(5)


class Candidacy(Follower):
    """What would have to go from each node."""

    def __init__(self, view: View, few_nodes: FewNodes | None = None) -> None:
        """What `few_nodes` knows of nodes may be shared among candidacies."""
        nodes, node_count = view.nodes, view.nodes.count
        super().__init__(view, nodes.usage_changes, nodes.importance_changes)
        self._changed = row_array([])  # rows that have changed since they were tried
        self.outcomes = np.zeros(node_count, dtype=np.int8)  # (nodes,)
        #: (nodes,) of those that are STILL_FAILING
        self.still_failing = Verdicts(np.full(node_count, PASSED, dtype=np.int8), np.zeros(node_count, dtype=np.int64))
        self.values: IntArray = np.full((len(CRITERIA), node_count), WORST)  # (criteria, nodes) lowest is best
        self._victims: dict[int, RowArray] = {}
        self._failures: tuple[tuple[Status, int], ...] | None = None
        self._lasting = np.zeros(node_count, dtype=np.bool_)  # (nodes,) see `try_some`
        self._tied_rows: RowArray | None = None
        self._best: tuple[int, ...] | None = None  # values of the tied rows
        self._few_nodes = few_nodes or FewNodes()
        self._demanding: Sequence[State] | None = None  # states that the demands are good for
        self._demands: Demands | None = None
        self._is_tried = False

    def epoch(self, view: View) -> Hashable:
        return view.objects.budgets_version

    def update(self, view: View, rows: RowArray) -> bool:
        """Rows are tried once it is known for which pod."""
        if view.nodes.count != len(self.outcomes):
            return False
        self._lasting[rows] = False
        self._changed = np.concatenate((self._changed, rows)) if len(self._changed) else rows
        return True

    def try_changed(self, pod: PodInfo, view: View, filtered: Filtered) -> None:
        """Try all rows, or those that have changed. It has followed."""
        if not self._is_tried:
            self._try_again(pod, view, filtered, every_row(view.nodes.count))
            self._is_tried = True
        elif len(self._changed):
            self._try_again(pod, view, filtered, distinct(self._changed))
        self._changed = row_array([])

    def _reconsider(self, row: int) -> None:
        """The choice has to be made again if the row has, or had, a part in it."""
        if self._tied_rows is None or self.outcomes.item(row) != CANDIDATE:
            return
        if self._best is None or tuple(self.values[:, row].tolist()) <= self._best:
            self._tied_rows = None

    def try_some(self, pod: PodInfo, view: View, filtered: Filtered, rows: RowArray, lasting: BoolArray) -> None:
        """Try these rows with filters in play that look beyond a node: most of them each time. It has followed.

        Those that are `lasting` (rows,) change with the pods on their node alone: they are kept from one time that this
        is so to the next.
        """
        again = rows[~(self._lasting[rows] & lasting)]
        self._lasting[rows] = lasting
        if len(again):
            self._try_again(pod, view, filtered, again)
            self._lasting[again[self.still_failing.codes[again] < 0]] = False  # errors, known to this outcome alone
        self._changed = row_array([])

    def _try_again(self, pod: PodInfo, view: View, filtered: Filtered, rows: RowArray) -> None:
        """New answers for these rows, and the choice that follows from all answers."""
        if len(rows) <= FEW_ROWS:
            self._try_few_again(pod, view, filtered, rows.tolist())
            return
        self.outcomes[rows] = NOT_TRIED
        self.values[:, rows] = WORST
        self._tied_rows = self._failures = None
        self._view, self._filtered = view, filtered
        self._try(pod, potential_rows(filtered, view, rows, or_passing=True))

    def _try_few_again(self, pod: PodInfo, view: View, filtered: Filtered, rows: list[int]) -> None:
        """Try a few rows, if possible with plain numbers. Mostly no answer changes, and what follows from all stays."""
        before = [self._answer(row) for row in rows]
        for row in rows:
            self._reconsider(row)
            if self.outcomes.item(row) == CANDIDATE:
                self.values[:, row] = WORST
            self.outcomes[row] = NOT_TRIED
        self._view, self._filtered = view, filtered
        self._try_few(pod, [row for row in rows if is_potential(filtered, view, row, or_passing=True)])
        for row in rows:
            self._reconsider(row)
        if [self._answer(row) for row in rows] != before:
            self._failures = None

    def _try_few(self, pod: PodInfo, rows: list[int]) -> None:
        """Rows where victims would help, if there are any."""
        view, filtered = self._view, self._filtered
        demands = None if len(view.nominated) else self._demands_of(filtered)
        to_try: list[int] = []
        for row in rows:
            if not self._few_nodes.has_pods_below(view, row, pod.priority):
                self.outcomes[row] = NO_PODS_BELOW
            elif demands is not None and _is_for_plain_numbers(view, filtered, demands, row):
                self._try_numbers(pod, demands, row)
            else:
                to_try.append(row)
        self._try(pod, row_array(to_try))

    def _demands_of(self, filtered: Filtered) -> Demands | None:
        if filtered.states is not self._demanding:
            self._demanding, self._demands = filtered.states, demands_alone(filtered)
        return self._demands

    def _try_numbers(self, pod: PodInfo, demands: Demands, row: int) -> None:
        """Try a row with plain numbers."""
        tried = self._few_nodes.try_node(self._view, demands, row, pod.priority)
        if isinstance(tried, StillFailing):
            self.outcomes[row] = STILL_FAILING
            self.still_failing.rejected_by[row] = demands.position
            self.still_failing.codes[row] = tried.code
        elif tried.victims:
            self.outcomes[row] = CANDIDATE
            self.values[:, row] = tried.values
            self.values[:, row] *= SIGNS[:, 0]
            self._victims[row] = row_array(tried.victims)
        else:
            self.outcomes[row] = UNHARMED

    def _answer(self, row: int) -> tuple[int, int, int]:
        """What failures are counted from."""
        failing = self.still_failing
        return self.outcomes.item(row), failing.rejected_by.item(row), failing.codes.item(row)

    @property
    def tied_rows(self) -> RowArray:
        """The cheapest candidates."""
        if self._tied_rows is None:
            found = cheapest((self.outcomes == CANDIDATE).nonzero()[0], self.values, others_are_worst=True)
            self._tied_rows = found
            self._best = tuple(self.values[:, found[0]].tolist()) if len(found) else None
        return self._tied_rows

    def share_errors(self, filtered: Filtered) -> None:
        """Tell another outcome of filtering what the errors among the verdicts here say."""
        filtered.explained.update(
            {verdict: said for verdict, said in self._filtered.explained.items() if verdict[1] < 0}
        )

    def victims_on(self, node_row: int) -> RowArray:
        return self._victims[node_row]

    def failures(self) -> tuple[tuple[Status, int], ...]:
        if self._failures is None:
            every = every_row(len(self.outcomes))
            self._failures = tuple(self.failures_on(every, self._filtered, self._view))
        return self._failures

    def failures_on(self, rows: RowArray, filtered: Filtered, view: View) -> Iterator[tuple[Status, int]]:
        """Failures on these rows, worded by an outcome of filtering that knows the errors."""
        outcomes = self.outcomes[rows]
        without_victims = int(np.count_nonzero(outcomes == NO_PODS_BELOW))
        if without_victims:
            yield NO_VICTIMS, without_victims
        for position, code, count in count_verdicts(self.still_failing, rows[outcomes == STILL_FAILING]):
            yield filtered.explain(view, position, code), count
        for row in rows[outcomes == UNHARMED].tolist():
            yield expected_a_victim(view, row), 1

    def _try(self, pod: PodInfo, rows: RowArray) -> None:
        if not len(rows):
            return
        view = self._view
        tried = dry_run(pod, view, self._filtered, rows)
        self.outcomes[tried.without_victims] = NO_PODS_BELOW
        self.outcomes[tried.unharmed] = UNHARMED
        self.outcomes[tried.failing_rows] = STILL_FAILING
        self.still_failing.rejected_by[tried.failing_rows] = tried.still_failing.rejected_by
        self.still_failing.codes[tried.failing_rows] = tried.still_failing.codes
        if not len(tried.candidate_rows):
            return
        candidates = candidates_of(tried, view)
        self.outcomes[candidates.rows] = CANDIDATE
        self.values[:, candidates.rows] = criteria_of(candidates, view) * SIGNS
        for position, row in enumerate(candidates.rows.tolist()):
            self._victims[row] = candidates.victims_of(position)


def _is_for_plain_numbers(view: View, filtered: Filtered, demands: Demands, row: int) -> bool:
    """Whether nothing but the demands has a say on the row."""
    return view.pods.own_schedulers is None and filtered.verdicts.rejected_by.item(row) in (PASSED, demands.position)


def cheapest(candidate_rows: RowArray, values: IntArray, *, others_are_worst: bool) -> RowArray:
    """The candidates that the criteria leave; `values` are (criteria, nodes)."""
    left, compares_all = candidate_rows, others_are_worst
    for of_nodes in values:
        if len(left) < 2:
            break
        # Mostly all are equal for a while; not to gather their values then is worth looking at all nodes.
        compared = of_nodes if compares_all else of_nodes.take(left)
        best = compared == compared.min()
        if np.count_nonzero(best) < len(left):
            left = best.nonzero()[0] if compares_all else left[best]
            compares_all = False
    return left
