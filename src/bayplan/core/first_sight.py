"""The best node for a pod unlike any before it, worked out for this pod alone.

Many pods are the only ones of their kind: indexed jobs, StatefulSets that ask for different amounts. A standing for
each would be memory that is filled once and never read. So a kind of pod gets a standing when it is seen for the second
time or fits nowhere; the first time all nodes are judged in memory that the next pod uses again. Only plugins that do
not read the cluster may have something to say: where others do, or pods are nominated, there is no answer.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Fits
from bayplan.core.framework.contract import SKIP, SelectiveScorePlugin, State
from bayplan.core.framework.profile import Profile
from bayplan.core.ground import Ground, following_scorers, local_states, sum_of_scores
from bayplan.core.snapshot import View
from bayplan.core.standing import NOT_FEASIBLE


def best_at_first_sight(profile: Profile, pod: PodInfo, view: View, ground: Ground) -> Fits | None:
    """The same choice as with a standing. None when it takes more than the local plugins, or nothing fits."""
    if view.nominated or _others_speak(profile, pod, view):
        return None
    states = local_states(profile, pod, view, ground)
    if states is None:
        return None
    passed = _passed(profile, states, view, ground)
    if passed is not None and not np.count_nonzero(passed):
        return None
    count = view.nodes.count
    totals = sum_of_scores(following_scorers(profile, pod, view), view, every_row(count), passed)
    if ground.lasting is not None:
        totals += ground.lasting
    if ground.varying:
        rows = every_row(count) if passed is None else np.flatnonzero(passed)
        for scaled in ground.varying:
            totals[rows] += scaled.weighted(rows)
    if passed is not None:
        np.putmask(totals, ~passed, NOT_FEASIBLE)
    row = int(totals.argmax())
    total = totals.item(row)
    if not view.nodes.are_by_name():  # of equal totals the first one is found, not the one with the smallest name
        tied = (totals == total).nonzero()[0]
        row = tied.item(view.nodes.name_ranks().take(tied).argmin())
    return Fits(row, total + ground.constant, totals, total)


def _others_speak(profile: Profile, pod: PodInfo, view: View) -> bool:
    """Whether a plugin that reads the cluster may have something to say."""
    if profile.asks_later_about_each_pod:
        return True
    for plugin in profile.later_pre_filters_for(pod):
        if plugin.pre_filter(pod, view) is not SKIP:
            return True
    for scorer in profile.later_scorers:
        if not isinstance(scorer, SelectiveScorePlugin):
            return True
        if scorer.tells_nodes_apart(pod) and scorer.speaks(pod, view):
            return True
    return False


def _passed(profile: Profile, states: list[State], view: View, ground: Ground) -> BoolArray | None:
    """(nodes,) which nodes pass the local filters; None: all of them."""
    passed: BoolArray | None = ~ground.settled if ground.any_settled else None
    first_moving = profile.lasting_filter_count
    for plugin, state in zip(profile.local_filters[first_moving:], states[first_moving:], strict=True):
        if state is not SKIP and not profile.sure_filters[plugin.name](state, view):
            codes = plugin.filter(state, view, ALL_ROWS)
            if np.count_nonzero(codes):
                fits: BoolArray = codes == 0
                passed = fits if passed is None else passed & fits
    return passed
