"""What node objects alone say about pods with the same signature, whatever runs there.

A `NodeBoard` is shared by pods that differ in what they ask for; a `Board` puts what follows usage on top of it. It
follows nodes that change, join or leave row by row, and is made again when a plugin looks at other nodes than its own
(`OtherNodes`), or if images come to count differently for nodes that have not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, every_row, lengthened, row_array
from bayplan.core.columns.loops import Outline
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import PASSED, run_filters
from bayplan.core.following import Follower
from bayplan.core.framework.contract import SKIP, FilterPlugin, Ready, ScorePlugin, State
from bayplan.core.framework.profile import Profile, Scorer
from bayplan.core.reuse.scales import Scaled, scaled_scores
from bayplan.core.scoring import check_range, has_invalid
from bayplan.core.snapshot import View

#: After this many changes of node objects all rows are looked at again, as after changes that nobody can follow.
NODES_FOLLOWED_MAX = 64


class Plain(NamedTuple):
    """A local score plugin whose scores stand as they are, prepared for such pods."""

    scorer: Scorer
    state: State


class NothingToReuse(Follower):
    """A local PreFilter rejects such pods or narrows the search, or the profile leaves a PreFilter out.

    Nothing but another node object can change that.
    """

    def __init__(self, view: View) -> None:
        super().__init__(view, view.nodes.spec_changes)


class NodeBoard(Follower):
    """Verdicts and scores of every node that last whatever runs there.

    `states` are those of the profile's local filters, SKIP for those that follow usage and come after them.
    """

    def __init__(self, profile: Profile, pod: PodInfo, view: View, states: Sequence[State]) -> None:
        nodes = view.nodes
        super().__init__(view, nodes.spec_changes)
        self.profile = profile
        self.states = states
        self.version = 0  # grows when the scores of all nodes change, not just those of some
        #: By the names of what pods ask for. Device classes count in them: when these change, the board is made again.
        self.outlines: dict[tuple[str, ...], Outline | None] = {}
        self._resources_version = nodes.resources.version
        self._read_ranks(view)
        self._images_at = (nodes.image_version, nodes.alive_count)
        self._asked = [position for position, state in enumerate(states) if state is not SKIP]
        self.verdicts = run_filters(profile.local_filters, states, view, ALL_ROWS)
        #: What is rejected here stays so while nodes stay as they are.
        self.settled: BoolArray = (self.verdicts.rejected_by != PASSED) | ~nodes.alive
        self.any_settled = bool(self.settled.any())
        self._plain, self.scaled = _lasting_scorers(profile, pod, view)
        lasting = sum_of_scores(self._plain, view, every_row(nodes.count), ~self.settled)
        #: (nodes,) the part of the totals that does not follow usage; None where it is 0 everywhere, as without images.
        self.lasting = lasting if np.count_nonzero(lasting) else None
        self._sort_scaled()

    def _sort_scaled(self) -> None:
        self.varying = [scaled for scaled in self.scaled if scaled.varies]
        #: What the normalized scores that are the same for all nodes add to each of them.
        self.constant = sum(scaled.constant for scaled in self.scaled if not scaled.varies)

    def update(self, view: View, rows: RowArray) -> bool:
        count = view.nodes.count
        if len(rows) > NODES_FOLLOWED_MAX or count < len(self.settled) or not self.profile.follows_nodes:
            return False
        # A resource that no node had before may be one of those that count.
        if view.nodes.resources.version != self._resources_version:
            return False
        if not self._images_count_as_before(view, rows):
            return False
        if count > len(self.settled):
            self._lengthen(count)
        for row in dict.fromkeys(rows.tolist()):
            self._refresh_one(view, row)
        self._read_ranks(view)
        return True

    def _read_ranks(self, view: View) -> None:
        self.name_ranks = view.nodes.name_ranks()
        self.ranks_version = view.nodes.ranks.version

    def _images_count_as_before(self, view: View, changed: RowArray) -> bool:
        """Whether scores that depend on the images of all nodes are what they were, but for those of changed nodes."""
        nodes, profile = view.nodes, self.profile
        images_at = (nodes.image_version, nodes.alive_count)
        if not profile.looks_at_images or images_at == self._images_at:
            return True
        if not profile.only_plain_scores_look_at_images:
            return False
        if self.lasting is None and not nodes.images:
            self._images_at = images_at
            return True
        unchanged = ~self.settled
        unchanged[changed[changed < len(unchanged)]] = False
        rows = np.flatnonzero(unchanged)
        now = sum_of_scores(self._plain, view, rows, None)
        same = not np.count_nonzero(now) if self.lasting is None else np.array_equal(now, self.lasting[rows])
        if same:
            self._images_at = images_at
        return same

    def _lengthen(self, count: int) -> None:
        """Room for nodes that have joined. A row without a node object is settled."""
        self.settled, self.any_settled = lengthened(self.settled, count, True), True
        self.verdicts.rejected_by = lengthened(self.verdicts.rejected_by, count, PASSED)
        self.verdicts.codes = lengthened(self.verdicts.codes, count, 0)
        if self.lasting is not None:
            self.lasting = lengthened(self.lasting, count, 0)
        for scaled in self.varying:
            scaled.raw = lengthened(scaled.raw, count, 0)

    def _refresh_one(self, view: View, row: int) -> None:
        """New answers for a row whose node object changed, joined or left."""
        one, rejected_by, code = row_array([row]), PASSED, 0
        for position in self._asked:
            code = self.profile.local_filters[position].filter(self.states[position], view, one).item()
            if code:
                rejected_by = position
                break
        self.verdicts.rejected_by[row], self.verdicts.codes[row] = rejected_by, code
        settled = rejected_by != PASSED or not view.nodes.alive[row]
        self.settled[row] = settled
        self.any_settled |= settled
        lasting = 0 if settled else sum_of_scores(self._plain, view, one, None).item()
        if lasting and self.lasting is None:
            self.lasting = np.zeros(len(self.settled), dtype=np.int64)
        if self.lasting is not None:
            self.lasting[row] = lasting
        if view.nodes.alive[row] and self.scaled:
            varying = len(self.varying)
            for scaled in self.scaled:
                scaled.refresh_one(view, row)
            self._sort_scaled()
            self.version += len(self.varying) != varying


def node_board_for(profile: Profile, pod: PodInfo, view: View) -> NodeBoard | NothingToReuse:
    """What node objects say about pods with that one's signature."""
    states = _lasting_states(profile, pod, view)
    return NothingToReuse(view) if states is None else NodeBoard(profile, pod, view, states)


def _lasting_states(profile: Profile, pod: PodInfo, view: View) -> list[State] | None:
    """What PreFilter leaves for the local filters that do not follow usage; None as in `_states_of`."""
    filters = profile.local_filters
    lasting = filters[: profile.lasting_filter_count]
    states = None if profile.lacks_pre_filter else _states_of(lasting, profile, pod, view)
    return None if states is None else [*states, *[SKIP] * (len(filters) - len(lasting))]


def local_states(profile: Profile, pod: PodInfo, view: View, node_board: NodeBoard) -> list[State] | None:
    """What PreFilter leaves for the local filters; None as in `_states_of`."""
    count = profile.lasting_filter_count
    states = _states_of(profile.local_filters[count:], profile, pod, view)
    return None if states is None else [*node_board.states[:count], *states]


def _states_of(filters: Sequence[FilterPlugin], profile: Profile, pod: PodInfo, view: View) -> list[State] | None:
    """What PreFilter leaves for these filters; None when one rejects the pod or narrows the search."""
    states: list[State] = []
    for plugin in filters:
        pre = profile.local_pre_filters.get(plugin.name)
        outcome = pre.pre_filter(pod, view) if pre is not None else Ready(pod)
        if isinstance(outcome, Ready):
            if outcome.nodes is not None:
                return None
            states.append(outcome.state)
        elif outcome is SKIP:
            states.append(SKIP)
        else:
            return None
    return states


def _prepared_for_scoring(plugin: ScorePlugin, profile: Profile, pod: PodInfo, view: View) -> State:
    pre = profile.pre_scorers.get(plugin.name)
    return pre.pre_score(pod, view, every_row(view.nodes.count)) if pre is not None else pod


def _lasting_scorers(profile: Profile, pod: PodInfo, view: View) -> tuple[list[Plain], list[Scaled]]:
    """The local score plugins that look at node objects alone and have something to say of such pods."""
    plain: list[Plain] = []
    scaled: list[Scaled] = []
    for plugin in profile.lasting_scorers:
        state = _prepared_for_scoring(plugin, profile, pod, view)
        if state is SKIP:
            continue
        weight = profile.weights[plugin.name]
        normalizer = profile.normalizers.get(plugin.name)
        if normalizer is None:
            plain.append(Plain(profile.scorer(plugin), state))
        else:
            scaled.append(scaled_scores(plugin, normalizer, state, weight, view))
    return plain, scaled


def following_scorers(profile: Profile, pod: PodInfo, view: View) -> list[Plain]:
    """The local score plugins that follow usage and have something to say of such pods."""
    every, following = every_row(view.nodes.count), []
    for scorer in profile.followers:
        state = scorer.prepare(pod, view, every)
        if state is not SKIP:
            following.append(Plain(scorer, state))
    return following


def sum_of_scores(entries: Sequence[Plain], view: View, rows: RowArray, passed: BoolArray | None) -> IntArray:
    """(rows,) weighted scores of all of the plugins; `passed` (rows,) says which are feasible (None: all)."""
    total: IntArray | None = None
    for entry in entries:
        scores = _weighted(entry, view, rows, passed)
        total = scores if total is None else total + scores
    if total is None:
        return np.zeros(len(rows), dtype=np.int64)
    return total.copy() if len(entries) == 1 else total


def _weighted(entry: Plain, view: View, rows: RowArray, passed: BoolArray | None) -> IntArray:
    scorer = entry.scorer
    scores = scorer.plugin.score(entry.state, view, rows)
    if not scorer.stays_in_range and has_invalid(scores):
        # What it says of other nodes nobody asked for.
        check_range(scorer.plugin.name, scores if passed is None else scores[passed])
    return scores * scorer.weight if scorer.weight != 1 else scores
