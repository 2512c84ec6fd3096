"""The straight path of one attempt: filter, score, select; and if nothing fits, preempt.

Pure: it takes a view and returns what it would do. Nothing is assumed, bound or evicted here. An attempt that ends in
an error is an answer, too: it contains what was known up to that point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayplan.core.columns import BoolArray, RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Choice, Fits, NeedsPreemption, Unschedulable
from bayplan.core.diagnosis import NO_NODES, Diagnosis, fit_error
from bayplan.core.extending import add_extender_scores, ask_filters, filter_by_extenders
from bayplan.core.filtering import (
    Filtered,
    PreFilterResult,
    filter_nodes,
    filter_states,
    filter_with_nominated,
    run_pre_filters,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.preemption.post_filter import PostFilterResult, Search, run_post_filters
from bayplan.core.sampling import sample
from bayplan.core.scoring import Scored, first_by_name, score_nodes
from bayplan.core.snapshot import View


@dataclass(slots=True)
class Attempt:
    """The result of one attempt to place a pod. After an error, the results of later steps are missing."""

    pod: PodInfo
    pre: PreFilterResult | None = None  # None if there are no nodes at all
    filtered: Filtered | None = None
    scored: Scored | None = None
    post_filter: PostFilterResult | None = None  # None if a node fits
    message: str = ""  # why no node fits, "" if one does
    next_start: int = 0  # where the next search starts, for a profile that does not evaluate every node
    error: CycleError | None = None  # what ended the attempt


def attempt(profile: Profile, pod: PodInfo, view: View, start: int = 0, search: Search | None = None) -> Attempt:
    """One attempt; `start` matters only for a profile that does not evaluate every node.

    Candidates for preemption are looked for by `search`; None: by a dry run.
    """
    found = Attempt(pod, next_start=start)
    try:
        _go_through(found, profile, view, search)
    except CycleError as error:
        found.error, found.message = error, error.message
        if found.pre is None:
            found.pre = PreFilterResult(Status(Code.ERROR, (error.message,), error.plugin))
    return found


def _go_through(found: Attempt, profile: Profile, view: View, search: Search | None) -> None:
    """Fill `found` step by step. Raises CycleError."""
    pod = found.pod
    if not view.nodes.alive_count:
        found.message = NO_NODES
        return
    found.pre = run_pre_filters(profile, pod, view)
    start = found.next_start
    filtered, found.next_start = sample(profile, filter_nodes(profile, pod, view, found.pre, start), view, start)
    found.filtered = filtered = filter_by_extenders(profile.extenders, pod, view, filtered)
    if len(filtered.feasible_rows):
        seen = view.without_pods() if filtered.as_objects else view
        found.scored = _score(profile, pod, seen, filtered.feasible_rows)
        add_extender_scores(profile.extenders, pod, view, found.scored)
        return
    found.post_filter = run_post_filters(profile, pod, view, filtered, search)
    found.message = fit_error(filtered, view, found.post_filter.reported(view).message)


def nominated_row(
    profile: Profile, pod: PodInfo, view: View, among: BoolArray | None = None
) -> tuple[int, PreFilterResult] | None:
    """The node that the pod is nominated to, if it is one of these (None: of all) and the pod fits there now.

    It is taken without looking at any other. With it comes what PreFilter made of the pod.
    """
    row = view.nodes.rows_by_name.get(pod.nominated_node_name) if pod.nominated_node_name else None
    if row is None or not view.nodes.alive[row] or (among is not None and not among[row]):
        return None
    rows = row_array([row])
    try:
        pre = run_pre_filters(profile, pod, view)
        if not pre.status.ok:
            return None
        found = filter_with_nominated(profile.filter, filter_states(profile, pod, view, pre.states), pod, view, rows)
        fits = found.passed[0] and len(ask_filters(profile.extenders, pod, view, rows).rows)
    except CycleError:
        return None  # as upstream: all nodes are looked at instead
    return (row, pre) if fits else None


def _score(profile: Profile, pod: PodInfo, view: View, rows: RowArray) -> Scored:
    """A single feasible node is taken without scoring, so an error in scoring does not matter then."""
    try:
        return score_nodes(profile, pod, view, rows)
    except CycleError:
        if len(rows) > 1:
            raise
        return Scored(rows)


def choice_of(found: Attempt, view: View, start: int = 0) -> Choice:
    """The choice a full attempt leads to. Raises the error it ended in."""
    if found.error is not None:
        raise found.error
    if found.scored is not None:
        if found.scored.totals is None:  # a lone feasible node
            row = int(found.scored.rows[0])
            return Fits(row, None, row_array([0]), 0, found.scored.rows)
        totals, rows = found.scored.totals, found.scored.rows
        best = int(totals.max())
        return Fits(first_by_name(found.scored.best_rows(), view), best, totals, best, rows)
    filtered, post_filter = found.filtered, found.post_filter
    if filtered is None:
        return Unschedulable(lambda: Diagnosis(NO_NODES))
    assert post_filter is not None, "nothing fits"
    return nothing_fits(post_filter, view, lambda: Diagnosis(found.message, filtered.rejectors(view)), start)


def nothing_fits(
    result: PostFilterResult, view: View, diagnose: Callable[[], Diagnosis], start: int = 0
) -> NeedsPreemption | Unschedulable:
    """Perhaps there is a node that can be cleared."""
    found = result.found
    if found is None or not result.status.ok or not len(found.tied_rows):
        return Unschedulable(diagnose, result.keeps_nomination, actions=result.actions)
    row = first_by_name(found.tied_rows, view)
    return NeedsPreemption(diagnose, row, found.tied_rows, found, start, actions=result.actions)
