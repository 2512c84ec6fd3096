"""Candidates where filters that read the cluster have a say: kept ones, and what these filters foresee.

What local filters make of a node's dry run is kept row by row, in a `Candidacy`. Filters that read the cluster foresee
for most nodes what they say whichever pods leave (see `SpeedHints.foresee`): if they let the pod pass, what is kept
stands; if they reject it, no room helps. Only nodes where their answer depends on which pods leave are tried again for
each pod, or when their pods have changed if it depends on nothing else. The answers equal those of a full search; as
with a `Candidacy`, there is no record of how they came about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bayplan.core.columns import BoolArray, RowArray, distinct, row_array, row_mask
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import count_verdicts
from bayplan.core.filtering import (
    DEPENDS,
    DEPENDS_ON_ITSELF,
    PASSED,
    Filtered,
    Verdicts,
    WhatIfWorlds,
    run_filters,
    take_failures,
)
from bayplan.core.framework.contract import SKIP, State
from bayplan.core.framework.speed_hints import OWN_PODS_DECIDE, UNFORESEEN, SpeedHints
from bayplan.core.framework.verdict import Status
from bayplan.core.preemption.candidacy import CANDIDATE, NOT_TRIED, STILL_FAILING, UNHARMED, Candidacy, cheapest
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.snapshot import View


class Foreseen:
    """What would have to go from each node for a pod that fits nowhere, with all filters in play.

    Takes the outcome of the local filters, the rows that pass them, the states of all filters behind them, and the pods
    that are nominated to nodes, with those nodes. `filtered` is what all filters say; `search` does the rest.
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
            self._crowded = distinct(nominated[1])
            full = WhatIfWorlds(local.plugins, states, view)
            full.shift(*nominated, +1)
            take_failures(verdicts, self._crowded, full.filter(self._crowded))
            self._crowded_states = [*[SKIP] * local_count, *full.states[local_count:]]
        self.filtered = replace(local, states=states, verdicts=verdicts, explained={})

    def search(self, kept: Candidacy, tried: Callable[[], Candidacy], pod: PodInfo, view: View) -> Foreseen:
        """Find the candidates that all filters leave, given those that the local ones do.

        `tried` gives those of nodes that were tried for pods of the same shape, if there are any.
        """
        self._kept = self._tried = kept  # until nodes have to be tried
        self._pod, self._view = pod, view
        self._outlook = outlook = self._look_ahead(pod.priority, view)
        kept.share_errors(self.filtered)
        potential = potential_rows(self.filtered, view)
        outcomes, ahead = kept.outcomes[potential], outlook.rejected_by[potential]
        self._is_open = _fits(outcomes) & (ahead <= DEPENDS) | (outcomes == NOT_TRIED)
        self._rows = potential
        is_candidate = (outcomes == CANDIDATE) & (ahead == PASSED)
        values, all_kept = kept.values, np.count_nonzero(is_candidate) == np.count_nonzero(kept.outcomes == CANDIDATE)
        if self._is_open.any():
            rows = potential[self._is_open]
            self._tried = tried()
            self._try(self._tried, rows, ahead[self._is_open] == DEPENDS_ON_ITSELF)
            is_candidate[self._is_open] = self._tried.outcomes[rows] == CANDIDATE
            values = values.copy()
            values[:, rows] = self._tried.values[:, rows]
        self.tied_rows = cheapest(potential[is_candidate], values, others_are_worst=all_kept)
        return self

    def _look_ahead(self, priority: int, view: View) -> Verdicts:
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
            codes = cast(SpeedHints, plugin).foresee(state, view, priority)
            found.codes[(found.codes == OWN_PODS_DECIDE) & (codes != 0)] = UNFORESEEN  # not they alone
            decided = np.flatnonzero((found.rejected_by == PASSED) & (codes != 0))
            found.rejected_by[decided] = position
            found.codes[decided] = codes[decided]
        found.rejected_by[found.codes == UNFORESEEN] = DEPENDS
        found.rejected_by[found.codes == OWN_PODS_DECIDE] = DEPENDS_ON_ITSELF
        return found

    def _try(self, tried: Candidacy, rows: RowArray, lasting: BoolArray) -> None:
        tried.try_some(self._pod, self._view, self.filtered, rows, lasting)

    def victims_on(self, node_row: int) -> RowArray:
        is_open = self._is_open[np.searchsorted(self._rows, node_row)]
        return (self._tried if is_open else self._kept).victims_on(node_row)

    def failures(self) -> Iterator[tuple[Status, int]]:
        rows = self._rows[~self._is_open]
        outcomes, ahead = self._kept.outcomes[rows], self._outlook.rejected_by[rows]
        fails = outcomes == STILL_FAILING
        # With nominated pods about a node fails in two worlds, of which one has the last word: that is not kept.
        in_two_worlds = fails & row_mask(self._crowded, self._view.nodes.count)[rows] & (ahead != PASSED)
        overruled = _fits(outcomes) & (ahead != PASSED)
        for position, code, count in count_verdicts(self._outlook, rows[overruled]):
            yield self.filtered.explain(self._view, position, code), count
        yield from self._kept.failures_on(rows[~overruled & ~in_two_worlds], self.filtered, self._view)
        yield from self._tried.failures_on(self._rows[self._is_open], self.filtered, self._view)
        if in_two_worlds.any():
            tried, again = Candidacy(self._view), rows[in_two_worlds]
            self._try(tried, again, np.zeros(len(again), dtype=np.bool_))
            yield from tried.failures_on(again, self.filtered, self._view)


def _fits(outcomes: NDArray[np.int8]) -> BoolArray:
    """Where the pod would fit with all pods of a lower priority gone."""
    fits: BoolArray = (outcomes == CANDIDATE) | (outcomes == UNHARMED)
    return fits
