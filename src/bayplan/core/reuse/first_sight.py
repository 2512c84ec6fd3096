"""The best node for a pod unlike any before it, worked out for this pod alone.

Many pods are the only ones of their kind: indexed jobs, StatefulSets that ask for different amounts. A board for
each would be memory that is filled once and never read. So a kind of pod gets a board when it is seen for the second
time or fits nowhere; the first time all nodes are judged in memory that the next pod uses again. Only plugins that do
not read the cluster may have something to say: where others do, or pods are nominated, there is no answer.
"""

from __future__ import annotations

from bayplan.core.columns import every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Fits
from bayplan.core.framework.contract import SKIP
from bayplan.core.framework.profile import Profile
from bayplan.core.reuse.appraisal import NOT_FEASIBLE, RANKS, Appraisal, Appraised, appraised_by, tied_from, total_of
from bayplan.core.reuse.node_board import NodeBoard, local_states
from bayplan.core.snapshot import View


def best_at_first_sight(profile: Profile, pod: PodInfo, view: View, node_board: NodeBoard) -> Fits | None:
    """The choice that a board would lead to. None when it takes more than the local plugins, or nothing fits."""
    if view.nominated or _others_speak(profile, pod, view):
        return None
    appraised = _appraised(profile, pod, view, node_board)
    if appraised is None:
        return None
    values, feasible, row = appraised
    if not feasible:
        return None
    if node_board.varying:
        rows = (values != NOT_FEASIBLE).nonzero()[0]
        for scaled in node_board.varying:
            values[rows] += scaled.weighted(rows) * RANKS
        row = int(values.argmax())
    total = total_of(values.item(row))
    return Fits(row, total + node_board.constant, values, tied_from(total))


def _appraised(profile: Profile, pod: PodInfo, view: View, node_board: NodeBoard) -> Appraised | None:
    """All nodes, by the outline for such pods if there is one. None when a local plugin narrows the search."""
    shape = pod.shape
    names = tuple(shape.requests.asked) if shape.asks_plainly and profile.follows_requests else None
    outline = node_board.outlines.get(names) if names is not None else None
    appraised = appraised_by(outline, pod, view, node_board) if outline is not None else None
    if appraised is not None:
        return appraised
    states = local_states(profile, pod, view, node_board)
    if states is None:
        return None
    appraisal = Appraisal(profile, pod, view, states)
    if names is not None:
        node_board.outlines[names] = appraisal.outline(view, names)
    return appraisal.of_rows(view, node_board, every_row(view.nodes.count))


def _others_speak(profile: Profile, pod: PodInfo, view: View) -> bool:
    """Whether a plugin that reads the cluster may have something to say."""
    if profile.asks_later_about_each_pod:
        return True
    for plugin in profile.later_pre_filters_for(pod):
        if plugin.pre_filter(pod, view) is not SKIP:
            return True
    # A generator would take longer than the answers.
    for scorer in profile.later_scorers_for(pod):  # noqa: SIM110
        if scorer.speaks is None or scorer.speaks(pod, view):
            return True
    return False
