"""What is known of all pods of one shape: every node's local verdict and scores, kept up to date row by row.

A decision changes one node. The next pod of the same shape therefore needs new answers for that row only, not for
thousands. "Local" is what the leading filters and the score plugins that do not read the cluster say (see `Reads`);
plugins that do are asked anew for each pod, by `deciding`. Everything here equals a full computation at all times:
when a node object changes, or the log of changes does not reach back far enough, it is computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, Rows, every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import PASSED, Verdicts, run_filters
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    SKIP,
    FilterPlugin,
    NormalizePlugin,
    Ready,
    ScorePlugin,
    State,
)
from bayplan.core.framework.profile import OneRow, Profile
from bayplan.core.scoring import check_range, has_invalid
from bayplan.core.snapshot import View

#: In `order`: the node is not feasible. Any real value is larger.
NOT_FEASIBLE = np.iinfo(np.int64).min
#: `order` is total * RANKS - rank by name, so that one argmax finds the best total and the smallest name.
RANKS = 1 << 32
#: Up to so many changed rows are gone through one by one, which costs less than array code for so few.
FEW_ROWS = 8


@dataclass(slots=True)
class Scaled:
    """A local score plugin whose scores are normalised over the feasible nodes."""

    plugin: NormalizePlugin
    state: State
    weight: int
    raw: IntArray  # (nodes,); empty where there is a constant
    constant: int | None  # the weighted score of every node where all raw scores are equal

    def weighted(self, rows: RowArray) -> IntArray | int:
        if self.constant is not None:
            return self.constant
        scores = self.plugin.normalize(self.state, self.raw[rows], rows)
        check_range(self.plugin.name, scores)
        return scores * self.weight


@dataclass(slots=True)
class Plain:
    """A local score plugin whose scores stand as they are."""

    plugin: ScorePlugin
    state: State
    weight: int
    score_one: OneRow


@dataclass(frozen=True, slots=True)
class NothingToReuse:
    """A local PreFilter rejects such pods or narrows the search, or the profile leaves a PreFilter out.

    Nothing but another node object can change that.
    """

    spec_position: int

    def follow(self, view: View) -> bool:
        """Whether it still holds."""
        return view.nodes.spec_changes.position == self.spec_position


class Ground:
    """What node objects alone say about pods with the same constraints, whatever runs there: verdicts and scores.

    `states` are those of the profile's local filters, SKIP for those that follow usage and come after them.
    """

    def __init__(self, profile: Profile, pod: PodInfo, view: View, states: Sequence[State]) -> None:
        nodes = view.nodes
        self.spec_position = nodes.spec_changes.position
        self.count = nodes.count
        self.states = states
        self.verdicts = run_filters(profile.local_filters, states, view, ALL_ROWS)
        #: What is rejected here stays so while nodes stay as they are.
        self.settled: BoolArray = (self.verdicts.rejected_by != PASSED) | ~nodes.alive
        self.any_settled = bool(self.settled.any())
        self.open_rows: Rows = np.flatnonzero(~self.settled) if self.any_settled else ALL_ROWS
        plain, self.scaled = _lasting_scorers(profile, pod, view)
        lasting = sum_of_scores(plain, view, ~self.settled)
        #: (nodes,) the part of the totals that does not follow usage; None where it is 0 everywhere, as without images.
        self.lasting = lasting if np.count_nonzero(lasting) else None
        #: Whether the normalised scores are the same for all nodes, so that `order` tells the whole truth.
        self.total_is_constant_apart = all(scaled.constant is not None for scaled in self.scaled)
        self.constant = sum(scaled.constant or 0 for scaled in self.scaled)

    def follow(self, view: View) -> bool:
        """Whether it still holds."""
        return view.nodes.spec_changes.position == self.spec_position and view.nodes.count == self.count


def ground_for(profile: Profile, pod: PodInfo, view: View) -> Ground | NothingToReuse:
    """What node objects say about pods with that one's constraints."""
    states = _lasting_states(profile, pod, view)
    return NothingToReuse(view.nodes.spec_changes.position) if states is None else Ground(profile, pod, view, states)


def standing_for(profile: Profile, pod: PodInfo, view: View, ground: Ground) -> Standing | NothingToReuse:
    """What is known of all pods like that one, on the ground of what node objects say. The pod names no node."""
    states = local_states(profile, pod, view, ground)
    if states is None:
        return NothingToReuse(view.nodes.spec_changes.position)
    return Standing(profile, pod, view, states, ground)


class Standing:
    """Verdicts and scores of every node for pods that look alike to local plugins, while node objects stay as they are.

    `states` are those of the profile's local filters.
    """

    def __init__(self, profile: Profile, pod: PodInfo, view: View, states: list[State], ground: Ground) -> None:
        nodes, filters, first_moving = view.nodes, profile.local_filters, profile.lasting_filter_count
        self.profile = profile
        self.states = states
        self.version = 0  # grows when any verdict changes
        self._spec_position = nodes.spec_changes.position
        self._usage_position = nodes.usage_changes.position
        self._settled, self._any_settled = ground.settled, ground.any_settled
        self._lasting, self.scaled = ground.lasting, ground.scaled
        self.total_is_constant_apart, self.constant = ground.total_is_constant_apart, ground.constant
        # Verdicts.
        self._moving_states = [SKIP] * first_moving + states[first_moving:]
        self._moving = [
            (position, filters[position], profile.one_row_filters[filters[position].name], state)
            for position, state in enumerate(self._moving_states)
            if state is not SKIP
        ]
        self.verdicts = Verdicts(ground.verdicts.rejected_by.copy(), ground.verdicts.codes.copy())
        found = run_filters(filters, self._moving_states, view, ground.open_rows)
        if np.count_nonzero(found.codes):
            self.verdicts.rejected_by[ground.open_rows] = found.rejected_by
            self.verdicts.codes[ground.open_rows] = found.codes
        self.passed: BoolArray = self.verdicts.passed & ~ground.settled
        self.passed_count = int(np.count_nonzero(self.passed))
        self._feasible_rows: RowArray | None = None
        # Scores.
        self._following = following_scorers(profile, pod, view)
        totals = sum_of_scores(self._following, view, self.passed)
        if ground.lasting is not None:
            totals += ground.lasting
        self._ranks = nodes.name_ranks()
        totals *= RANKS
        totals -= self._ranks
        if self.passed_count < len(self.passed):
            totals[~self.passed] = NOT_FEASIBLE
        self.order: IntArray = totals

    def follow(self, view: View) -> bool:
        """Bring every row up to date; False when that takes another standing."""
        nodes = view.nodes
        if nodes.spec_changes.position != self._spec_position or nodes.count != len(self.passed):
            return False
        log = nodes.usage_changes
        news = log.position - self._usage_position
        if news == 1:
            row = log.last
            if not self._settled[row]:
                self._refresh_one(view, row)
        elif news:
            changed = log.since(self._usage_position)
            if changed is None:
                return False
            if news <= FEW_ROWS:
                for row in set(changed.tolist()):
                    if not self._settled[row]:
                        self._refresh_one(view, row)
            else:
                self._refresh(view, changed)
        self._usage_position = log.position
        return True

    @property
    def feasible_rows(self) -> RowArray:
        """Rows that pass all local filters."""
        if self._feasible_rows is None:
            self._feasible_rows = np.flatnonzero(self.passed)
        return self._feasible_rows

    def totals(self, rows: RowArray) -> IntArray:
        """(rows,) sums of the local scores when `rows` are the feasible nodes."""
        totals = self.plain_totals(rows)
        for scaled in self.scaled:
            totals = totals + scaled.weighted(rows)
        return totals

    def plain_totals(self, rows: RowArray) -> IntArray:
        """(rows,) sums of the local scores that stand as they are, for rows that pass."""
        totals: IntArray = (self.order[rows] + self._ranks[rows]) // RANKS
        return totals

    def plain_total(self, row: int) -> int:
        return (self.order.item(row) + self._ranks.item(row)) // RANKS

    def _refresh(self, view: View, changed: RowArray) -> None:
        """New answers for rows whose pods changed."""
        rows: RowArray = changed[~self._settled[changed]] if self._any_settled else changed
        if not len(rows):
            return
        if np.count_nonzero(rows == rows[0]) == len(rows):  # victims went from a node and another pod came
            self._refresh_one(view, rows.item(0))
            return
        all_pass = self._still_pass(view, rows)
        if not all_pass:
            self._take(rows, run_filters(self.profile.local_filters, self._moving_states, view, rows))
        totals: IntArray | int = 0 if self._lasting is None else self._lasting[rows]
        for entry in self._following:
            totals = totals + _weighted(entry, view, rows, self.passed)
        order = totals * RANKS - self._ranks[rows]
        self.order[rows] = order if all_pass else np.where(self.passed[rows], order, NOT_FEASIBLE)

    def _still_pass(self, view: View, rows: RowArray) -> bool:
        """Whether all of them passed before and do so now: then no verdict has to be touched."""
        if np.count_nonzero(self.passed[rows]) < len(rows):
            return False
        return not any(np.count_nonzero(plugin.filter(state, view, rows)) for _, plugin, _, state in self._moving)

    def _refresh_one(self, view: View, row: int) -> None:
        """The same for a single row, by far the most frequent case, with plain numbers."""
        rejected_by, code = PASSED, 0
        for position, _, judge, state in self._moving:
            code = judge(state, view, row)
            if code:
                rejected_by = position
                break
        self._take_one(row, rejected_by, code)
        if rejected_by != PASSED:
            self.order[row] = NOT_FEASIBLE
            return
        total = 0 if self._lasting is None else self._lasting.item(row)
        for entry in self._following:
            score = entry.score_one(entry.state, view, row)
            if not 0 <= score <= MAX_NODE_SCORE:
                check_range(entry.plugin.name, np.array([score]))
            total += entry.weight * score
        self.order[row] = total * RANKS - self._ranks.item(row)

    def _take(self, rows: RowArray, found: Verdicts) -> None:
        known, passed = self.verdicts, found.passed
        self.version += not (
            np.array_equal(found.rejected_by, known.rejected_by[rows])
            and np.array_equal(found.codes, known.codes[rows])
        )
        known.rejected_by[rows] = found.rejected_by
        known.codes[rows] = found.codes
        if np.array_equal(passed, self.passed[rows]):
            return
        self.passed[rows] = passed
        self.passed_count = int(np.count_nonzero(self.passed))
        self._feasible_rows = None

    def _take_one(self, row: int, rejected_by: int, code: int) -> None:
        known, passed = self.verdicts, rejected_by == PASSED
        if known.rejected_by.item(row) != rejected_by or known.codes.item(row) != code:
            known.rejected_by[row] = rejected_by
            known.codes[row] = code
            self.version += 1
        if passed != self.passed[row]:
            self.passed[row] = passed
            self.passed_count += 1 if passed else -1
            self._feasible_rows = None


def _lasting_states(profile: Profile, pod: PodInfo, view: View) -> list[State] | None:
    """What PreFilter leaves for the local filters that do not follow usage; None as in `_states_of`."""
    filters = profile.local_filters
    lasting = filters[: profile.lasting_filter_count]
    states = None if profile.lacks_pre_filter else _states_of(lasting, profile, pod, view)
    return None if states is None else [*states, *[SKIP] * (len(filters) - len(lasting))]


def local_states(profile: Profile, pod: PodInfo, view: View, ground: Ground) -> list[State] | None:
    """What PreFilter leaves for the local filters; None as in `_states_of`."""
    count = profile.lasting_filter_count
    states = _states_of(profile.local_filters[count:], profile, pod, view)
    return None if states is None else [*ground.states[:count], *states]


def _states_of(filters: Sequence[FilterPlugin], profile: Profile, pod: PodInfo, view: View) -> list[State] | None:
    """What PreFilter leaves for these filters; None when one rejects the pod or narrows the search."""
    names = {plugin.name for plugin in filters}
    states: dict[str, State] = {}
    for plugin in profile.local_pre_filters:
        if plugin.name not in names:
            continue
        outcome = plugin.pre_filter(pod, view)
        if isinstance(outcome, Ready):
            if outcome.nodes is not None:
                return None
            states[plugin.name] = outcome.state
        elif outcome is SKIP:
            states[plugin.name] = SKIP
        else:
            return None
    return [states.get(plugin.name, pod) for plugin in filters]


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
            plain.append(Plain(plugin, state, weight, profile.one_row_scores[plugin.name]))
        else:
            scaled.append(_scaled(plugin, normalizer, state, weight, view, every_row(view.nodes.count)))
    return plain, scaled


def following_scorers(profile: Profile, pod: PodInfo, view: View) -> list[Plain]:
    """The local score plugins that follow usage and have something to say of such pods."""
    following = []
    for plugin in profile.following_scorers:
        assert plugin.name not in profile.normalizers, f"{plugin.name}: normalised scores follow usage"
        state = _prepared_for_scoring(plugin, profile, pod, view)
        if state is not SKIP:
            following.append(Plain(plugin, state, profile.weights[plugin.name], profile.one_row_scores[plugin.name]))
    return following


def sum_of_scores(entries: Sequence[Plain], view: View, passed: BoolArray) -> IntArray:
    """(nodes,) weighted scores of all of the plugins."""
    total: IntArray | None = None
    for entry in entries:
        scores = _weighted(entry, view, every_row(view.nodes.count), passed)
        total = scores if total is None else total + scores
    if total is None:
        return np.zeros(view.nodes.count, dtype=np.int64)
    return total.copy() if len(entries) == 1 else total


def _weighted(entry: Plain, view: View, rows: RowArray, passed: BoolArray) -> IntArray:
    scores = entry.plugin.score(entry.state, view, rows)
    if has_invalid(scores):
        check_range(entry.plugin.name, scores[passed[rows]])  # what it says of other nodes nobody asked for
    return scores * entry.weight if entry.weight != 1 else scores


def _scaled(
    plugin: ScorePlugin, normalizer: NormalizePlugin, state: State, weight: int, view: View, every: RowArray
) -> Scaled:
    raw = plugin.score(state, view, every)
    alive = np.flatnonzero(view.nodes.alive)
    of_alive = raw[alive]
    if not len(alive) or np.count_nonzero(of_alive == of_alive[0]) < len(alive):
        return Scaled(normalizer, state, weight, raw, None)
    scores = normalizer.normalize(state, of_alive[:1], alive[:1])
    check_range(plugin.name, scores)
    return Scaled(normalizer, state, weight, raw[:0].copy(), weight * scores.item())
