"""What is kept for pods of one shape, and how a choice is made from it.

The local plugins' part is a board, shared with other shapes. The plugins that read the cluster are asked again for each
pod, on the nodes that pass there; of one that scores whole groups of nodes alike (`group_nodes`), the groups are kept.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, column_at, distinct
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Choice, Fits, Unschedulable
from bayplan.core.filtering import WhatIfWorlds, nominated_pods, passing
from bayplan.core.following import followed
from bayplan.core.framework.contract import SKIP, Ready, State
from bayplan.core.framework.profile import LaterScorer
from bayplan.core.framework.speed_hints import NodeGroups
from bayplan.core.preemption.few_nodes import FewNodes
from bayplan.core.reuse.appraisal import RANKS, tied_from, total_of
from bayplan.core.reuse.board import Board
from bayplan.core.reuse.crowding import CrowdedUsage
from bayplan.core.reuse.preempting import is_nominated, preempt
from bayplan.core.scoring import check_range, final_scores
from bayplan.core.snapshot import View

#: Crowded nodes are known for pods of this many priorities.
PRIORITIES_MAX = 4


class ShapeAnswers:
    """What is known of pods of one shape."""

    def __init__(self, pod: PodInfo, board: Board, crowded: dict[int, CrowdedUsage], few_nodes: FewNodes) -> None:
        """What is known of crowded nodes, by priority, and of few nodes, all shapes share."""
        profile = self.profile = board.profile
        self.board = board
        self._crowded, self._few_nodes = crowded, few_nodes
        #: PreFilters that read the cluster and may have something to do for such pods.
        self._later_pre_filters = profile.later_pre_filters_for(pod)
        self._prepared = {plugin.name for plugin in profile.later_pre_filters}
        #: Score plugins that read the cluster and may tell nodes apart for such pods.
        self._later_scorers = profile.later_scorers_for(pod)
        #: Of those what asks whether they have something to say now; None: some always have.
        speak = [scorer.speaks for scorer in self._later_scorers if scorer.speaks is not None]
        self._speak = speak if len(speak) == len(self._later_scorers) else None
        self._groups: dict[str, NodeGroups] = {}
        self._no_groups_at: dict[str, tuple[int, int]] = {}  # when a plugin said that it has none
        self._spoke = True  # whether any of them had something to say the last time
        self._all_skip: list[State] = [SKIP] * len(profile.later_filters)
        self._unschedulable: dict[tuple[int, str], Unschedulable] = {}  # by priority and policy

    @property
    def may_group(self) -> bool:
        """Whether scores for groups of nodes may be kept."""
        return bool(self._later_scorers)

    def decide(self, pod: PodInfo, view: View) -> Choice | None:
        """None when the straight line has to be taken. Has followed, and there is no answer from before."""
        states = self._later_states(pod, view)
        if states is None:
            return None
        board = self.board
        only_local = states is self._all_skip
        if only_local and board.passed_count and view.nominated and not is_nominated(pod, view):
            choice = self._best_beside_nominated(pod, view)
            if choice is not None:
                return choice
        nominated = nominated_pods(pod, view) if view.nominated else None
        if nominated is not None and not len(nominated[0]):
            nominated = None
        if board.passed_count:
            if only_local and nominated is None:
                return self._best_of_all(pod, view)
            passed = self._filter_further(view, states, nominated)
            rows = passed.nonzero()[0]
            if len(rows):
                return self._best(pod, view, rows)
        if not only_local and not self._foresees(states):
            return None
        later_states = None if only_local else states
        return self._remember(pod, view, preempt(board, self._few_nodes, pod, view, nominated, later_states))

    def _foresees(self, states: list[State]) -> bool:
        """Whether all filters behind the local ones that have a say foresee what they say."""
        foresighted, later = self.profile.foresighted, self.profile.later_filters
        return all(state is SKIP or plugin.name in foresighted for plugin, state in zip(later, states, strict=True))

    def unschedulable_before(self, pod: PodInfo, view: View) -> Unschedulable | None:
        """What became of an identical pod, when it was unschedulable and nothing has changed since.

        Waiting pods are tried again in great numbers, mostly with nothing but such attempts in between. A pod that is
        nominated itself is not like others: it makes room for all but itself.
        """
        if not self._unschedulable:
            return None
        known = self._unschedulable.get((pod.priority, pod.preemption_policy))
        if known is None or known.for_all_at != view.instant or is_nominated(pod, view):
            return None
        return known

    def _remember(self, pod: PodInfo, view: View, choice: Choice) -> Choice:
        """Keep the answer: filters that are local, or foresee what they say, see nothing of a pod but its shape."""
        if isinstance(choice, Unschedulable) and not choice.actions and not is_nominated(pod, view):
            choice.for_all_at = view.instant
            self._unschedulable[pod.priority, pod.preemption_policy] = choice
        return choice

    def _later_states(self, pod: PodInfo, view: View) -> list[State] | None:
        """States of the filters behind the local ones; None when one rejects the pod or narrows the search."""
        states: dict[str, State] | None = None
        for plugin in self._later_pre_filters:
            outcome = plugin.pre_filter(pod, view)
            if outcome is not SKIP:
                if not isinstance(outcome, Ready) or outcome.nodes is not None:
                    return None
                states = states or {}
                states[plugin.name] = outcome.state
        if states is None and not self.profile.asks_later_about_each_pod:
            return self._all_skip
        # A filter without a PreFilter gets the pod itself, which may be unlike others of its shape to it.
        left = states or {}
        return [
            left.get(plugin.name, SKIP) if plugin.name in self._prepared else pod
            for plugin in self.profile.later_filters
        ]

    def _filter_further(
        self, view: View, states: list[State], nominated: tuple[RowArray, RowArray] | None
    ) -> BoolArray:
        """(nodes,) what passes the filters that read the cluster, and all filters with nominated pods present."""
        board = self.board
        # Judging all rows, though some have failed already, saves gathering the others.
        most = 2 * board.passed_count > len(board.passed)
        rows = ALL_ROWS if most else board.feasible_rows
        fits = passing(self.profile.later_filters, states, view, rows)
        if fits is None:
            passed = board.passed.copy()
        elif most:
            passed = fits & board.passed
        else:
            passed = np.zeros(len(board.passed), dtype=np.bool_)
            passed[rows] = fits
        if nominated is not None:
            self._make_room_for(nominated, passed, states, view)
        return passed

    def _best_beside_nominated(self, pod: PodInfo, view: View) -> Fits | None:
        """The best of all nodes that have room for the pods nominated there as well; None if there is none."""
        if not self.board.sees_usage_alone:
            return None
        make = partial(CrowdedUsage, pod, view)
        usage = followed(self._crowded, pod.priority, view, make, PRIORITIES_MAX)
        rows = self.board.rows_beside_nominated(usage)
        if rows is None:
            return self._best_of_all(pod, view)
        return self._best(pod, view, rows) if len(rows) else None

    def _best_of_all(self, pod: PodInfo, view: View) -> Fits:
        """The best of all nodes that pass the local filters."""
        board = self.board
        # All rows are looked at only for a plugin that wants to see them; who spoke last time mostly does so again.
        if (self._spoke and board.knows_feasible_rows) or self._any_speaks(pod, view):
            return self._best(pod, view, board.feasible_rows)
        return _first_of(board)

    def _any_speaks(self, pod: PodInfo, view: View) -> bool:
        """Whether a score plugin that reads the cluster may have something to say now."""
        if self._speak is None:
            return True
        # A generator would take longer than most of these answers.
        for speaks in self._speak:  # noqa: SIM110
            if speaks(pod, view):
                return True
        return False

    def _make_room_for(
        self, nominated: tuple[RowArray, RowArray], passed: BoolArray, states: list[State], view: View
    ) -> None:
        """Take nodes out of `passed` that do not pass with the pods nominated there."""
        pod_rows, node_rows = nominated
        matter = passed[node_rows]
        if not matter.any():
            return
        crowded = distinct(node_rows[matter])
        full = WhatIfWorlds(self.profile.filter, [*self.board.states, *states], view)
        full.shift(pod_rows[matter], node_rows[matter], +1)
        passed[crowded] = full.filter(crowded).passed

    def _best(self, pod: PodInfo, view: View, rows: RowArray) -> Fits:
        """The best of the feasible `rows`."""
        board = self.board
        more = self._later_scores(pod, view, rows)
        self._spoke = more is not None
        if more is None and len(rows) == board.passed_count:
            return _first_of(board)
        order = board.order_among(rows) if more is None else board.order_with(more, rows)
        best = int(order.argmax())
        total = total_of(order.item(best))
        return Fits(rows.item(best), total + board.node_board.constant, order, tied_from(total), rows)

    def _later_scores(self, pod: PodInfo, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) what the score plugins that read the cluster add to places in a ranking; None when all skip."""
        profile, sums = self.profile, None
        # Only rows that stay the same array are worth being grouped.
        groups_pay = rows is self.board.feasible_rows
        for scorer in self._later_scorers:
            plugin = scorer.plugin
            grouped = self._grouped_scores(scorer, pod, view, rows) if groups_pay else None
            if grouped is not None:
                sums = grouped if sums is None else sums + grouped
                continue
            pre = profile.pre_scorers.get(plugin.name)
            state = pre.pre_score(pod, view, rows) if pre is not None else pod
            if state is not SKIP:
                scores = final_scores(plugin, profile.normalizers.get(plugin.name), state, view, rows)
                weighted = scores * (profile.weights[plugin.name] * RANKS)
                sums = weighted if sums is None else sums + weighted
        return sums

    def _grouped_scores(self, scorer: LaterScorer, pod: PodInfo, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) what it adds to places in a ranking where `rows` are feasible; None without groups."""
        groups = self._groups_by(scorer, pod, view, rows)
        if groups is None:
            return None
        name, scores = scorer.plugin.name, groups.scores()
        check_range(name, scores)
        scores *= self.profile.weights[name] * RANKS
        return scores.take(column_at(rows, groups.groups), mode="clip")

    def _groups_by(self, scorer: LaterScorer, pod: PodInfo, view: View, rows: RowArray) -> NodeGroups | None:
        if scorer.group_nodes is None:
            return None
        name = scorer.plugin.name
        known = self._groups.get(name)
        if known is not None and known.follow(pod, view, rows):
            return known
        instant = (view.nodes.spec_changes.position, view.objects.version)
        if known is None and self._no_groups_at.get(name) == instant:
            return None
        found = scorer.group_nodes(pod, view, rows)
        if found is None:
            self._groups.pop(name, None)
            self._no_groups_at[name] = instant
        else:
            self._groups[name] = found
        return found


def _first_of(board: Board) -> Fits:
    """The node that comes first by what the local plugins say."""
    ranking = board.ranking
    row = ranking.best()
    total = total_of(ranking.values.item(row))
    return Fits(row, total + board.node_board.constant, ranking.values, tied_from(total), None, ranking)
