"""Preemption for pods that fit nowhere, with what is kept beside a board: who would have to leave each node.

Takes a board and what the filters behind the local ones say; gives the choice, equal to that of a full search.
"""

from __future__ import annotations

from functools import partial

from bayplan.core.columns import RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt, choice_of, nothing_fits
from bayplan.core.decision import Choice
from bayplan.core.diagnosis import Diagnosis, diagnose
from bayplan.core.filtering import Filtered
from bayplan.core.following import followed
from bayplan.core.framework.contract import SKIP, State
from bayplan.core.preemption.candidacy import Candidacy
from bayplan.core.preemption.few_nodes import FewNodes
from bayplan.core.preemption.foresight import Foreseen
from bayplan.core.preemption.post_filter import Search, run_post_filters
from bayplan.core.reuse.board import Board
from bayplan.core.snapshot import View

#: Candidates are kept for preemptors of this many priorities.
PRIORITIES_MAX = 8


def preempt(
    board: Board,
    few_nodes: FewNodes,
    pod: PodInfo,
    view: View,
    nominated: tuple[RowArray, RowArray] | None,
    later_states: list[State] | None,
) -> Choice:
    """Nothing fits. `later_states` are those of the filters behind the local ones; None: they all skip."""
    profile = board.profile
    if profile.preemption is not None or not profile.shares_post_filters:
        return choice_of(attempt(profile, pod, view), view)
    local, none_passes = board.filtered, row_array([])
    if nominated is not None:
        all_skip = [SKIP] * len(profile.later_filters)
        local = Foreseen(board.filtered, none_passes, all_skip, view, nominated).filtered

    def search_locally(*_: object) -> Candidacy:
        return _candidacy(board, few_nodes, pod, view, local)

    if later_states is None:
        return _look_for_victims(board, pod, view, local, search_locally)
    foreseen = Foreseen(board.filtered, board.feasible_rows, later_states, view, nominated)

    def search(*_: object) -> Foreseen:
        tried = partial(_tried_for, board, few_nodes, pod, view)
        return foreseen.search(_candidacy(board, few_nodes, pod, view, local), tried, pod, view)

    return _look_for_victims(board, pod, view, foreseen.filtered, search)


def _look_for_victims(board: Board, pod: PodInfo, view: View, filtered: Filtered, search: Search) -> Choice:
    result = run_post_filters(board.profile, pod, view, filtered, search)

    def explain() -> Diagnosis:
        said = result.reported(view).message
        if filtered is not board.filtered:
            return diagnose(filtered, view, said)
        of_nodes = board.diagnosis(view)
        return of_nodes._replace(message=f"{of_nodes.message} {said}") if said else of_nodes

    return nothing_fits(result, view, explain)


def _candidacy(board: Board, few_nodes: FewNodes, pod: PodInfo, view: View, filtered: Filtered) -> Candidacy:
    """Candidates as far as local filters go."""
    make = partial(Candidacy, view, few_nodes)
    if is_nominated(pod, view):  # it alone need not make room for itself: of no use to others
        candidacy = make()
    else:
        candidacy = followed(board.candidacies, pod.priority, view, make, PRIORITIES_MAX)
    candidacy.try_changed(pod, view, filtered)
    return candidacy


def _tried_for(board: Board, few_nodes: FewNodes, pod: PodInfo, view: View) -> Candidacy:
    """Candidates with all filters in play, of nodes that were tried for pods of this shape and priority."""
    make = partial(Candidacy, view, few_nodes)
    if is_nominated(pod, view):
        return make()
    key = (pod.shape.serial, pod.priority, view.objects.version, view.nodes.spec_changes.position)
    return followed(board.tried, key, view, make, 1)


def is_nominated(pod: PodInfo, view: View) -> bool:
    """Whether a node is kept for the pod; the cache knows no other pods that have no node."""
    return bool(pod.nominated_node_name) or (bool(view.nominated) and pod.key in view.pods.rows_by_key)
