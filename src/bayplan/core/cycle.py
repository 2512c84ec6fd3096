"""The straight path of one attempt: filter, score, select; and if nothing fits, preempt.

Pure: it takes a view and returns what it would do. Nothing is assumed, bound or evicted here. An attempt that ends in
an error is an answer, too: it contains what was known up to that point.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import NO_NODES, fit_error
from bayplan.core.extending import add_extender_scores, filter_by_extenders
from bayplan.core.filtering import Filtered, PreFilterResult, filter_nodes, run_pre_filters
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.preemption.post_filter import PostFilterResult, Search, run_post_filters
from bayplan.core.sampling import sample
from bayplan.core.scoring import Scored, score_nodes
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


def _score(profile: Profile, pod: PodInfo, view: View, rows: RowArray) -> Scored:
    """A single feasible node is taken without scoring, so an error in scoring does not matter then."""
    try:
        return score_nodes(profile, pod, view, rows)
    except CycleError:
        if len(rows) > 1:
            raise
        return Scored(rows)
