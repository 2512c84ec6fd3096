"""Candidates where filters that read the cluster have a say: kept ones, and what these filters foresee.

What local filters make of a node's dry run is kept row by row, in a `Candidacy`. Filters that read the cluster foresee
for most nodes what they say whichever pods leave (see `ForesightPlugin`): if they let the pod pass, what is kept
stands; if they reject it, no room helps. Only nodes where their answer depends on which pods leave are tried again for
each pod. The answers equal those of a full search; as with a `Candidacy`, there is no record of how they came about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, row_array, row_mask
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import count_verdicts
from bayplan.core.filtering import PASSED, Filtered, Verdicts, WhatIf, run_filters, take_failures
from bayplan.core.framework.contract import SKIP, UNFORESEEN, ForesightPlugin, State
from bayplan.core.framework.verdict import Status
from bayplan.core.preemption.candidacy import (
    CANDIDATE,
    NO_PODS_BELOW,
    NOT_TRIED,
    SIGNS,
    STILL_FAILING,
    UNHARMED,
    Candidacy,
    cheapest,
)
from bayplan.core.preemption.candidates import (
    NO_VICTIMS,
    DryRun,
    candidates_of,
    dry_run,
    expected_a_victim,
    groups_without_success,
)
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.preemption.select import criteria_of
from bayplan.core.snapshot import View

#: In `rejected_by` of an outlook: the answer depends on which pods leave.
DEPENDS = -3


class FurtherFilters:
    """All filters on a pod that fits nowhere, given what the local ones say.

    Takes the outcome of the local filters, the rows that pass them, the states of all filters behind them, and the pods
    that are nominated to nodes, with those nodes.
    """

    def __init__(
        self,
        local: Filtered,
        passing_rows: RowArray,
        later_states: Sequence[State],
        view: View,
        nominated: tuple[RowArray, RowArray] | None,
    ) -> None:
        local_count = len(local.plugins) - len(later_states)
        states = [*local.states[:local_count], *later_states]
        verdicts = Verdicts(local.verdicts.rejected_by.copy(), local.verdicts.codes.copy())
        self._later_states = [*[SKIP] * local_count, *later_states]
        if len(passing_rows):
            found = run_filters(local.plugins, self._later_states, view, passing_rows)
            verdicts.rejected_by[passing_rows] = found.rejected_by
            verdicts.codes[passing_rows] = found.codes
        self._crowded: RowArray = row_array([])
        if nominated is not None:
            self._crowded = np.unique(nominated[1])
            full = WhatIf(local.plugins, states, view)
            full.shift(*nominated, +1)
            take_failures(verdicts, self._crowded, full.filter(self._crowded))
            self._crowded_states = [*[SKIP] * local_count, *full.states[local_count:]]
        self.filtered = replace(local, states=states, verdicts=verdicts, explained={})

    def search(self, kept: Candidacy, pod: PodInfo, view: View) -> Foreseen:
        """The candidates that all filters leave, given those that the local ones do."""
        return Foreseen(
            kept, self._outlook(pod.priority, view), row_mask(self._crowded, view.nodes.count), pod, self.filtered, view
        )

    def _outlook(self, priority: int, view: View) -> Verdicts:
        """(nodes,) what the filters behind the local ones say of each node whichever pods leave it."""
        outlook = self._foresee(self._later_states, priority, view)
        if len(self._crowded):
            rows, crowded = self._crowded, self._foresee(self._crowded_states, priority, view)
            same = crowded.rejected_by[rows] == outlook.rejected_by[rows]
            same &= crowded.codes[rows] == outlook.codes[rows]
            outlook.rejected_by[rows[~same]] = DEPENDS
        return outlook

    def _foresee(self, states: Sequence[State], priority: int, view: View) -> Verdicts:
        count = view.nodes.count
        found = Verdicts(np.full(count, PASSED, dtype=np.int8), np.zeros(count, dtype=np.int64))
        for position, (plugin, state) in enumerate(zip(self.filtered.plugins, states, strict=True)):
            if state is SKIP:
                continue
            codes = cast(ForesightPlugin, plugin).foresee(state, view, priority)
            decided = np.flatnonzero((found.rejected_by == PASSED) & (codes != 0))
            found.rejected_by[decided] = position
            found.codes[decided] = codes[decided]
        found.rejected_by[found.codes == UNFORESEEN] = DEPENDS
        return found


class Foreseen:
    """What would have to go from each node, with all filters in play.

    `kept` is what would have to go if it were for the local filters alone; `outlook` what the others say whichever pods
    leave a node. On `crowded` nodes there must be room for nominated pods as well.
    """

    def __init__(
        self, kept: Candidacy, outlook: Verdicts, crowded: BoolArray, pod: PodInfo, filtered: Filtered, view: View
    ) -> None:
        self._kept, self._outlook, self._crowded = kept, outlook, crowded
        self._pod, self._filtered, self._view = pod, filtered, view
        kept.share_errors(filtered)
        potential = potential_rows(filtered, view)
        outcomes, ahead = kept.outcomes[potential], outlook.rejected_by[potential]
        fits = (outcomes == CANDIDATE) | (outcomes == UNHARMED)
        is_open = (fits & (ahead == DEPENDS)) | (outcomes == NOT_TRIED)
        open_rows = potential[is_open]
        self._settled_rows: RowArray = potential[~is_open]
        self._tried = self._try(open_rows) if len(open_rows) else None
        candidate_rows: RowArray = potential[(outcomes == CANDIDATE) & (ahead == PASSED)]
        values, all_kept = kept.values, len(candidate_rows) == np.count_nonzero(kept.outcomes == CANDIDATE)
        self._victims: dict[int, RowArray] = {}
        if self._tried is not None and len(self._tried.candidate_rows):
            values = self._with_tried(self._tried, values)
            candidate_rows = np.sort(np.concatenate((candidate_rows, self._tried.candidate_rows)))
        self.tied_rows = cheapest(candidate_rows, values, others_are_worst=all_kept)

    def _try(self, rows: RowArray) -> DryRun:
        return dry_run(self._pod, self._view, self._filtered, rows)

    def _with_tried(self, tried: DryRun, values: IntArray) -> IntArray:
        """(criteria, nodes) the values with those of the candidates found now."""
        candidates = candidates_of(tried, self._view)
        for position, row in enumerate(candidates.rows.tolist()):
            self._victims[row] = candidates.victims_of(position)
        with_tried = values.copy()
        with_tried[:, candidates.rows] = criteria_of(candidates, self._view) * SIGNS
        return with_tried

    def victims_on(self, node_row: int) -> RowArray:
        known = self._victims.get(node_row)
        return self._kept.victims_on(node_row) if known is None else known

    def failures(self) -> Iterator[tuple[Status, int]]:
        kept, rows = self._kept, self._settled_rows
        outcomes, ahead = kept.outcomes[rows], self._outlook.rejected_by[rows]
        without_victims = int(np.count_nonzero(outcomes == NO_PODS_BELOW))
        if without_victims:
            yield NO_VICTIMS, without_victims
        fails = outcomes == STILL_FAILING
        # With nominated pods about a node fails in two worlds, of which one has the last word: that is not kept.
        in_two_worlds = fails & self._crowded[rows] & (ahead != PASSED)
        yield from self._counted(kept.still_failing, rows[fails & ~in_two_worlds])
        fits = (outcomes == CANDIDATE) | (outcomes == UNHARMED)
        yield from self._counted(self._outlook, rows[fits & (ahead != PASSED)])
        for row in rows[(outcomes == UNHARMED) & (ahead == PASSED)].tolist():
            yield expected_a_victim(self._view, row), 1
        tried_now = [self._tried] if self._tried is not None else []
        if in_two_worlds.any():
            tried_now.append(self._try(rows[in_two_worlds]))
        for tried in tried_now:
            for status, same in groups_without_success(tried, self._view, self._filtered):
                yield status, len(same)

    def _counted(self, verdicts: Verdicts, rows: RowArray) -> Iterator[tuple[Status, int]]:
        for position, code, count in count_verdicts(verdicts, rows):
            yield self._filtered.explain(self._view, position, code), count
