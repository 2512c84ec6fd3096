"""What the local plugins say of every node, for pods that they sign alike: who passes, and in which order.

A decision changes one node. The next pod like it therefore needs new answers for that row only, not for thousands.
"Local" are the leading filters and the score plugins that do not read the cluster (see `Reads`). Everything here equals
a full computation at all times: when a plugin looks at other nodes than its own (`OtherNodes`), or the logs of changes
do not reach back far enough, the board is made again.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, every_row, lengthened, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import Diagnosis, diagnose
from bayplan.core.filtering import PASSED, Filtered, PreFilterResult, Verdicts, run_filters, take_failures
from bayplan.core.following import Follower
from bayplan.core.framework.contract import SKIP, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, unresolvable
from bayplan.core.preemption.candidacy import Candidacy
from bayplan.core.ranking import Ranking
from bayplan.core.reuse.appraisal import NOT_FEASIBLE, NOTHING_CHANGED, RANKS, Appraisal
from bayplan.core.reuse.crowding import CrowdedOut, CrowdedUsage
from bayplan.core.reuse.node_board import NodeBoard, NothingToReuse, local_states
from bayplan.core.reuse.scales import Scale
from bayplan.core.snapshot import View


def board_for(profile: Profile, pod: PodInfo, view: View, node_board: NodeBoard) -> Board | NothingToReuse:
    """What is known of pods with that one's signature, on top of what node objects say. The pod names no node."""
    states = local_states(profile, pod, view, node_board)
    return NothingToReuse(view) if states is None else Board(profile, pod, view, states, node_board)


class Board(Follower):
    """Verdicts and scores of every node for pods that look alike to local plugins.

    `states` are those of the profile's local filters.
    """

    def __init__(self, profile: Profile, pod: PodInfo, view: View, states: list[State], node_board: NodeBoard) -> None:
        nodes, first_moving = view.nodes, profile.lasting_filter_count
        super().__init__(view, nodes.usage_changes)
        self.profile = profile
        self.states = states
        self.node_board = node_board
        self.version = 0  # grows when any verdict changes
        self._spec_position = nodes.spec_changes.position
        all_states = [*states, *[SKIP] * len(profile.later_filters)]
        self._moving_states = [SKIP] * first_moving + states[first_moving:]
        self._appraisal = Appraisal(profile, pod, view, states)
        self._ranks = node_board.name_ranks
        self._ranks_version = node_board.ranks_version
        #: (nodes,) as in a ranking, without the scores that are normalised.
        self._order: IntArray
        self._order, self.passed_count, _ = self._appraisal.of_rows(view, node_board, every_row(nodes.count))
        self.passed: BoolArray = self._order != NOT_FEASIBLE
        self._feasible_rows: RowArray | None = None
        self.verdicts = Verdicts(node_board.verdicts.rejected_by.copy(), node_board.verdicts.codes.copy())
        if self.passed_count < nodes.count:
            rejected = np.flatnonzero(~(self.passed | node_board.settled))
            self._take(rejected, self._judge(view, rejected))
        self._node_board_version = node_board.version
        self._ranking: Ranking | None = None
        self._scales: list[Scale] = []  # of the ranking
        pre = PreFilterResult(SUCCESS, ran={plugin.name for plugin in profile.pre_filter})
        #: The verdicts as an outcome; it follows them.
        self.filtered = Filtered(profile.filter, all_states, pre, self.verdicts, unresolvable(), row_array([]))
        self._diagnosis: tuple[int, Diagnosis] | None = None
        self._crowded_out: CrowdedOut | None = None  # for the priority asked about last
        #: Who would have to leave each node as far as local filters go, by priority of the preemptor.
        self.candidacies: dict[int, Candidacy] = {}
        #: The same with all filters in play, of nodes that were tried for the pods that did so last: by their shape and
        #: priority, and when. They keep that shape in use.
        self.tried: dict[tuple[int, ...], Candidacy] = {}

    def update(self, view: View, rows: RowArray) -> bool:
        nodes = view.nodes
        same_nodes = nodes.spec_changes.position == self._spec_position and nodes.count == len(self.passed)
        if not same_nodes and not self._follow_nodes(view):
            return False
        if self._crowded_out is not None and not self._crowded_out.put_off(rows):
            self._crowded_out = None
        ranking = self._ranking
        bounds = ranking.bounds if ranking is not None and not self._scales else None
        revised = self._appraisal.revise(
            view, self.node_board, rows, self._ranks, self._order, bounds, self.passed, self.verdicts
        )
        if revised is not None:
            if revised != NOTHING_CHANGED:
                self._take_revised(view, rows, *revised)
            if self._scales and ranking is not None:
                self._put_all(rows, self._order.take(rows))
        else:
            self._refresh_all(view, rows)
        return True

    def _follow_nodes(self, view: View) -> bool:
        """Bring the node board up to date after node objects have changed, joined or left; not the rows of this one."""
        nodes, node_board = view.nodes, self.node_board  # which is never shorter, and does not follow a table that is
        if not node_board.follow(view) or node_board.ranks_version != self._ranks_version:
            return False
        self._ranks = node_board.name_ranks
        if nodes.count > len(self.passed):
            self._lengthen(nodes.count)
        if node_board.version != self._node_board_version:
            self._node_board_version = node_board.version
            self._ranking = None
        self.version += 1
        self._spec_position = nodes.spec_changes.position
        return True

    def _lengthen(self, count: int) -> None:
        """Room for nodes that have joined."""
        self.passed = lengthened(self.passed, count, False)
        self.verdicts.rejected_by = lengthened(self.verdicts.rejected_by, count, PASSED)
        self.verdicts.codes = lengthened(self.verdicts.codes, count, 0)
        self._feasible_rows = None
        ranking = self._ranking
        if ranking is not None and ranking.values is self._order:
            ranking.lengthen(count, NOT_FEASIBLE)
            self._order = ranking.values
            return
        self._order = lengthened(self._order, count, NOT_FEASIBLE)
        if ranking is not None:
            ranking.lengthen(count, NOT_FEASIBLE)

    @property
    def sees_usage_alone(self) -> bool:
        """Whether nothing but usage makes local filters change their verdicts when pods come or go."""
        return self._appraisal.sees_usage_alone

    def rows_beside_nominated(self, usage: CrowdedUsage) -> RowArray | None:
        """The rows that pass with the pods nominated there, too; None if they are all that pass."""
        known = self._crowded_out
        if known is None or known.usage is not usage:
            known = self._crowded_out = CrowdedOut(self._appraisal.fails_in, usage)
        return known.rows_left(self.passed, self.passed_count)

    def diagnosis(self, view: View) -> Diagnosis:
        """What the verdicts come to, remembered for as long as none changes."""
        if self._diagnosis is None or self._diagnosis[0] != self.version:
            self._diagnosis = (self.version, diagnose(self.filtered, view, ""))
        return self._diagnosis[1]

    @property
    def candidacy_count(self) -> int:
        return len(self.candidacies) + len(self.tried)

    @property
    def feasible_rows(self) -> RowArray:
        """Rows that pass all local filters."""
        if self._feasible_rows is None:
            count = len(self.passed)
            self._feasible_rows = every_row(count) if self.passed_count == count else np.flatnonzero(self.passed)
        return self._feasible_rows

    @property
    def knows_feasible_rows(self) -> bool:
        """Whether somebody has asked for them since they last changed: to work them out takes a look at all nodes."""
        return self._feasible_rows is not None

    @property
    def ranking(self) -> Ranking:
        """All nodes by their local scores, where all that pass the local filters are feasible; there is one."""
        if self._ranking is None:
            self._ranking = self._rank()
        return self._ranking

    def _rank(self) -> Ranking:
        varying = self.node_board.varying
        self._scales = [Scale(scaled, self.feasible_rows, RANKS) for scaled in varying]
        if not varying:
            return Ranking(self._order)
        order, rows = self._order.copy(), self.feasible_rows
        for scaled in varying:
            order[rows] += scaled.weighted(rows) * RANKS
        return Ranking(order)

    def order_among(self, rows: RowArray) -> IntArray:
        """(rows,) as in a ranking, when `rows` are the feasible nodes: some of those that pass the local filters."""
        if not self.node_board.varying:
            return _at(rows, self._order)
        ranking = self.ranking
        if len(rows) == self.passed_count or all(scale.spans(rows) for scale in self._scales):
            return _at(rows, ranking.values)
        order = self._order.take(rows)
        for scaled in self.node_board.varying:
            order += scaled.weighted(rows) * RANKS
        return order

    def order_with(self, more: IntArray, rows: RowArray) -> IntArray:
        """(rows,) what `order_among` says with `more` added, which is changed in place."""
        if rows is every_row(len(self._order)) and len(rows) == self.passed_count:
            more += self.ranking.values
        else:
            more += self.order_among(rows)
        return more

    def _take_revised(
        self, view: View, rows: RowArray, more_passed: int, flipped: int, verdicts_changed: int, undecided: int
    ) -> None:
        """What follows from changes in these rows: see `Revised`."""
        if flipped:
            self.passed_count += more_passed
            self._feasible_rows = None
        self.version += verdicts_changed > 0
        if undecided:
            rejected = rows[~(self.passed[rows] | self.node_board.settled[rows])]
            self._take(rejected, self._judge(view, rejected))

    def _refresh_all(self, view: View, rows: RowArray) -> None:
        """The rows in one go, where plugins have to be asked."""
        order, _, _ = self._appraisal.of_rows(view, self.node_board, rows)
        passed, found = order != NOT_FEASIBLE, self.node_board.verdicts.at(rows)
        rejected = (~(passed | self.node_board.settled[rows])).nonzero()[0]
        if len(rejected):
            take_failures(found, rejected, self._judge(view, rows[rejected]))
        self._take(rows, found)
        if not np.array_equal(passed, self.passed[rows]):
            self.passed[rows] = passed
            self.passed_count = int(np.count_nonzero(self.passed))
            self._feasible_rows = None
        self._put_all(rows, order)

    def _put_all(self, rows: RowArray, values: IntArray) -> None:
        """Put rows where they belong; it is known which pass."""
        ranking = self._ranking
        if ranking is not None and not self._scales:
            ranking.put_all(rows, values)
            return
        self._order[rows] = values
        if ranking is None:
            return
        self._ranking = None
        for position, scale in enumerate(self._scales):
            more = scale.weighted_if_it_holds(rows, self.passed)
            if more is None:
                if not self._replace_scale(position):
                    return
                more = self._scales[position].weighted(rows)
            more += values
            values = more
        ranking.put_all(rows, np.where(self.passed[rows], values, NOT_FEASIBLE))
        self._ranking = ranking

    def _replace_scale(self, position: int) -> bool:
        """Look for the lowest and the highest score again; whether they are what they were."""
        if not self.passed_count:
            return False
        known = self._scales[position]
        self._scales[position] = Scale(known.scaled, self.feasible_rows, RANKS)
        return self._scales[position].spans_same(known)

    def _judge(self, view: View, rows: RowArray) -> Verdicts:
        """What the filters that follow usage say of rows that node objects alone do not settle."""
        return run_filters(self.profile.local_filters, self._moving_states, view, rows)

    def _take(self, rows: RowArray, found: Verdicts) -> None:
        """Put verdicts where they belong."""
        known = self.verdicts
        self.version += not (
            np.array_equal(found.rejected_by, known.rejected_by[rows])
            and np.array_equal(found.codes, known.codes[rows])
        )
        known.rejected_by[rows] = found.rejected_by
        known.codes[rows] = found.codes


def _at(rows: RowArray, order: IntArray) -> IntArray:
    """(rows,) out of (nodes,), for the caller to change."""
    return order.copy() if rows is every_row(len(order)) else order.take(rows)
