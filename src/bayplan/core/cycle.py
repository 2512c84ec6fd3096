"""The straight line of one attempt: filter, score, choose; and when nothing fits, preempt.

Pure: it looks at a view and says what it would do. Nothing is assumed, bound or evicted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import NO_NODES, fit_error
from bayplan.core.filtering import Filtered, filter_pod
from bayplan.core.framework.profile import Profile
from bayplan.core.preemption.post_filter import PostFilterResult, run_post_filters
from bayplan.core.sampling import sample
from bayplan.core.scoring import Scored, score_nodes
from bayplan.core.snapshot import View


@dataclass(slots=True)
class Attempt:
    """What one attempt to place a pod found."""

    pod: PodInfo
    filtered: Filtered | None  # None when there are no nodes at all
    scored: Scored | None
    post_filter: PostFilterResult | None  # None when something fits
    message: str  # why nothing fits, "" when something does
    next_start: int = 0  # where the next search begins, for a profile that does not look at every node


def attempt(profile: Profile, pod: PodInfo, view: View, start: int = 0) -> Attempt:
    """One attempt; `start` matters only to a profile that does not look at every node."""
    if not view.nodes.alive_count:
        return Attempt(pod, None, None, None, NO_NODES, start)
    filtered, next_start = sample(profile, filter_pod(profile, pod, view), view, start)
    if len(filtered.feasible_rows):
        return Attempt(pod, filtered, score_nodes(profile, pod, view, filtered.feasible_rows), None, "", next_start)
    post_filter = run_post_filters(profile, pod, view, filtered)
    return Attempt(pod, filtered, None, post_filter, fit_error(filtered, view, post_filter.message), next_start)
