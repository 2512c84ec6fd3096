"""Decisions at speed: the same answers as `cycle.attempt`, reusing what is known of pods of the same shape.

A `Decider` keeps a standing for each shape it has seen lately. Plugins that read the whole cluster are asked anew for
each pod, on the nodes that the local filters leave. Whatever does not fit this pattern (a PreFilter that rejects
or narrows, a full diagnosis with such plugins in play) goes through the straight line of `cycle`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, distinct, every_row, row_array
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import Attempt, attempt
from bayplan.core.diagnosis import NO_NODES, fit_error
from bayplan.core.filtering import (
    Filtered,
    PreFilterResult,
    Verdicts,
    WhatIf,
    filter_states,
    filter_with_nominated,
    nominated_pods,
    passing,
    run_pre_filters,
    take_failures,
)
from bayplan.core.framework.contract import SKIP, Ready, SelectiveScorePlugin, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, CycleError, unresolvable
from bayplan.core.plugins.dynamic_resources.post_filter import Deallocation
from bayplan.core.preemption.candidacy import Candidacy
from bayplan.core.preemption.post_filter import DEFAULT_PREEMPTION, Found, PostFilterResult, run_post_filters
from bayplan.core.scoring import final_scores
from bayplan.core.snapshot import View
from bayplan.core.standing import NOT_FEASIBLE, RANKS, Standing

#: Bytes that all standings together may take, by estimate.
STANDINGS_BYTES_MAX = 512 << 20
BYTES_PER_ROW = 32

#: How far each log of changes has come: as long as no number grows, everything is as it was.
Instant: TypeAlias = tuple[int, int, int, int]


class Refusal(NamedTuple):
    """Why nothing fits: the message, and the plugins that rejected nodes."""

    message: str
    rejectors: tuple[str, ...] = ()


@dataclass(slots=True)
class Choice:
    """What is to become of a pod: a node, a node to be cleared of victims, or neither and why."""

    row: int = -1  # the node it fits on now, -1 if none
    total: int | None = None  # None for a node that was taken without scoring
    tied_rows: RowArray | None = None  # nodes with the same total, or tied as candidates; None: not worked out
    victims_row: int = -1  # the node it would fit on with its victims gone, -1 if none
    found: Found | None = None  # the candidates, when there are any
    refuse: Callable[[], Refusal] | None = None  # puts into words why nothing fits; ask before the cache changes
    deallocation: Deallocation | None = None  # what is to become of the pod's own claims when nothing fits
    keeps_nomination: bool = False  # nothing fits, and preemption did not look: an earlier nomination stands
    _said: Refusal | None = None

    @property
    def refusal(self) -> Refusal:
        if self._said is None:
            self._said = self.refuse() if self.refuse is not None else Refusal("")
        return self._said

    @property
    def message(self) -> str:
        return self.refusal.message

    def victims_on(self, node_row: int) -> RowArray:
        """Who would have to go from a tied candidate."""
        assert self.found is not None
        return self.found.victims_on(node_row)


class Decider:
    """Decides pod after pod on one cache."""

    def __init__(self, profiles: Mapping[str, Profile], *, reuse: bool = True) -> None:
        self._profiles = profiles
        self._reuse = reuse
        self._next_start = 0  # one for all profiles, as upstream
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()

    def decide(self, pod: PodInfo, view: View, *, with_ties: bool = False) -> Choice:
        """The best node, ties by the smallest name; `with_ties` works out all nodes with the best total."""
        if not view.nodes.alive_count:
            return Choice(refuse=lambda: Refusal(NO_NODES))
        profile = self._profiles[pod.scheduler_name]
        if pod.nominated_node_name:
            choice = nominated_choice(profile, pod, view)
            if choice is not None:
                return choice
        if self._reuse and profile.percentage_of_nodes_to_score is None:
            kept = self._standing_for(profile, pod, view)
            if kept.standing.usable:
                choice = kept.decide(pod, view, with_ties)
                if choice is not None:
                    return choice
        found = attempt(profile, pod, view, self._next_start)
        self._next_start = found.next_start
        return choice_of(found, view)

    def _standing_for(self, profile: Profile, pod: PodInfo, view: View) -> _Kept:
        key = (profile.scheduler_name, pod.shape.id)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(profile, Standing(profile, pod, view))
            if len(self._kept) * view.nodes.count * BYTES_PER_ROW > STANDINGS_BYTES_MAX and len(self._kept) > 1:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
            kept.standing.update(pod, view)
        return kept


def nominated_choice(profile: Profile, pod: PodInfo, view: View) -> Choice | None:
    """The node the pod was nominated to, if it fits there now: it is taken without looking at any other."""
    row = view.nodes.rows_by_name.get(pod.nominated_node_name)
    if row is None or not view.nodes.alive[row]:
        return None
    pre = run_pre_filters(profile, pod, view)
    if not pre.status.ok:
        return None
    rows = row_array([row])
    found = filter_with_nominated(profile.filter, filter_states(profile, pod, pre), pod, view, rows)
    return Choice(row=row, tied_rows=rows) if found.passed[0] else None


def choice_of(found: Attempt, view: View) -> Choice:
    """The choice a full attempt leads to."""
    if found.scored is not None:
        tied = found.scored.best_rows()
        return Choice(row=_first_by_name(tied, view), total=int(found.scored.totals.max()), tied_rows=tied)
    filtered, post_filter = found.filtered, found.post_filter
    if filtered is None or post_filter is None:
        return Choice(refuse=lambda: Refusal(found.message))
    return _refused(post_filter, view, lambda: Refusal(found.message, filtered.rejectors(view)))


def _refused(result: PostFilterResult, view: View, refuse: Callable[[], Refusal]) -> Choice:
    """Nothing fits; perhaps there is a node that can be cleared."""
    # Where nobody looked for candidates nothing is known against an earlier nomination.
    choice = Choice(refuse=refuse, keeps_nomination=not result.preemption.ran, deallocation=result.deallocation)
    tied = result.preemption.tied_rows
    if len(tied):
        choice.tied_rows = tied
        choice.victims_row = _first_by_name(tied, view)
        choice.found = result.preemption.found
    return choice


def _first_by_name(rows: RowArray, view: View) -> int:
    return int(rows[np.argmin(view.nodes.name_ranks()[rows])])


class _Kept:
    """A standing with what else is known of pods of its shape."""

    def __init__(self, profile: Profile, standing: Standing) -> None:
        self.profile = profile
        self.standing = standing
        self._candidacies: dict[int, tuple[tuple[int, int, int], Candidacy]] = {}  # by priority
        self._outcome: tuple[int, Filtered] | None = None
        self._said: tuple[tuple[int, str], Refusal] | None = None
        self._refused: dict[tuple[int, str], tuple[Instant, Choice]] = {}  # by priority and preemption policy

    def decide(self, pod: PodInfo, view: View, with_ties: bool) -> Choice | None:
        """None when the straight line has to be taken."""
        refused = self._refused_before(pod, view)
        if refused is not None:
            return refused
        states = self._later_states(pod, view)
        if states is None:
            return None
        standing = self.standing
        nominated = nominated_pods(pod, view) if view.nominated else None
        if nominated is not None and not len(nominated[0]):
            nominated = None
        only_local = states is standing.unprepared and standing.nothing_later
        if standing.passed_count:
            if only_local and nominated is None:
                return self._best(pod, view, standing.feasible_rows, with_ties)
            try:
                passed = self._filter_further(view, states, nominated)
            except CycleError:
                return None  # rows that had failed already were asked about, too: the straight line tells if it matters
            rows = passed.nonzero()[0]
            if len(rows):
                return self._best(pod, view, rows, with_ties, passed)
        return self._remember(pod, view, self._make_room(pod, view, nominated)) if only_local else None

    def _refused_before(self, pod: PodInfo, view: View) -> Choice | None:
        """What became of a pod alike, when it was refused and nothing has changed since.

        Waiting pods are tried again in great numbers, and in between nothing happens but refusals. A pod that is
        nominated itself is not like others: it makes room for all but itself.
        """
        refused = self._refused.get((pod.priority, pod.preemption_policy))
        if refused is None or refused[0] != _instant(view) or _is_nominated(pod, view):
            return None
        return refused[1]

    def _remember(self, pod: PodInfo, view: View, choice: Choice) -> Choice:
        """Keep a refusal in which only local filters have a say: they see nothing of a pod but its shape."""
        if choice.victims_row < 0 and not _is_nominated(pod, view):
            self._refused[pod.priority, pod.preemption_policy] = (_instant(view), choice)
        return choice

    def _later_states(self, pod: PodInfo, view: View) -> list[State] | None:
        """States of the filters that read the cluster; None when one rejects the pod or narrows the search.

        Where all of them skip it is the standing's own list.
        """
        states: dict[str, State] | None = None
        for plugin in self.standing.later_pre_filters:
            outcome = plugin.pre_filter(pod, view)
            if outcome is not SKIP:
                if not isinstance(outcome, Ready) or outcome.nodes is not None:
                    return None
                states = states or {}
                states[plugin.name] = outcome.state
        unprepared = self.standing.unprepared
        if states is None:
            return unprepared
        return [
            states.get(plugin.name, state) for plugin, state in zip(self.profile.later_filters, unprepared, strict=True)
        ]

    def _filter_further(
        self, view: View, states: list[State], nominated: tuple[RowArray, RowArray] | None
    ) -> BoolArray:
        """(nodes,) what passes the filters that read the cluster, and all filters with nominated pods present."""
        standing = self.standing
        # Judging all rows, though some have failed already, saves gathering the others.
        most = 2 * standing.passed_count > len(standing.passed)
        rows = ALL_ROWS if most else standing.feasible_rows
        fits = passing(self.profile.later_filters, states, view, rows)
        if fits is None:
            passed = standing.passed.copy()
        elif most:
            passed = fits & standing.passed
        else:
            passed = np.zeros(len(standing.passed), dtype=np.bool_)
            passed[rows] = fits
        if nominated is not None:
            crowded = np.unique(nominated[1])
            crowded = crowded[passed[crowded]]
            full = WhatIf(self.profile.filter, [*standing.states, *states], view)
            full.shift(*nominated, +1)
            passed[crowded] = full.filter(crowded).passed
        return passed

    def _best(
        self, pod: PodInfo, view: View, rows: RowArray, with_ties: bool, passed: BoolArray | None = None
    ) -> Choice:
        """The best of the feasible `rows`; `passed` marks them where they are not all that pass the local filters."""
        standing = self.standing
        more = self._later_scores(pod, view, rows)
        if more is None and standing.total_is_constant_apart:
            order = standing.order if passed is None else np.where(passed, standing.order, NOT_FEASIBLE)
            row = int(order.argmax())
            total = standing.plain_total(row)
            tied = rows[standing.plain_totals(rows) == total] if with_ties else None
            return Choice(row=row, total=total + standing.constant, tied_rows=tied)
        if more is not None and standing.total_is_constant_apart and not with_ties:
            best = int((standing.order[rows] + more * RANKS).argmax())
            row = rows.item(best)
            return Choice(row=row, total=standing.plain_total(row) + standing.constant + more.item(best))
        totals = standing.totals(rows)
        if more is not None:
            totals = totals + more
        best = int((totals * RANKS - view.nodes.name_ranks()[rows]).argmax())
        tied = rows[totals == totals[best]] if with_ties else None
        return Choice(row=int(rows[best]), total=int(totals[best]), tied_rows=tied)

    def _later_scores(self, pod: PodInfo, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) what the score plugins that read the cluster add; None when all of them skip."""
        profile, sums = self.profile, None
        for plugin in profile.later_scorers:
            if isinstance(plugin, SelectiveScorePlugin) and not plugin.tells_nodes_apart(pod):
                continue
            pre = profile.pre_scorers.get(plugin.name)
            state = pre.pre_score(pod, view, rows) if pre is not None else pod
            if state is not SKIP:
                scores = final_scores(plugin, profile.normalizers.get(plugin.name), state, view, rows)
                weighted = scores * profile.weights[plugin.name]
                sums = weighted if sums is None else sums + weighted
        return sums

    def _make_room(self, pod: PodInfo, view: View, nominated: tuple[RowArray, RowArray] | None) -> Choice:
        """Preemption with nothing but local filters in play."""
        profile = self.profile
        if profile.preemption is not None or DEFAULT_PREEMPTION not in profile.post_filter:
            return choice_of(attempt(profile, pod, view), view)
        if nominated is not None:
            crowded = self._filtered_with(view, nominated)
            result = run_post_filters(profile, pod, view, crowded, self._search)
            return _refused(result, view, lambda: _said_of(crowded, view, result.message))
        filtered = self._filtered()
        result = run_post_filters(profile, pod, view, filtered, self._search)
        return _refused(result, view, lambda: self._say(filtered, view, result.message))

    def _say(self, filtered: Filtered, view: View, post_filter_message: str) -> Refusal:
        """Said again word for word for as long as no verdict changes."""
        key = (self.standing.version, post_filter_message)
        if self._said is None or self._said[0] != key:
            self._said = (key, _said_of(filtered, view, post_filter_message))
        return self._said[1]

    def _filtered(self) -> Filtered:
        """The standing's verdicts as an outcome. It follows them, until all is computed anew."""
        profile, standing = self.profile, self.standing
        if self._outcome is None or self._outcome[0] != standing.built:
            pre = PreFilterResult(SUCCESS, ran={plugin.name for plugin in profile.pre_filter})
            states = [*standing.states, *standing.unprepared]
            filtered = Filtered(profile.filter, states, pre, standing.verdicts, unresolvable(), row_array([]))
            self._outcome = (standing.built, filtered)
        return self._outcome[1]

    def _filtered_with(self, view: View, nominated: tuple[RowArray, RowArray]) -> Filtered:
        """The same, where nodes must have room for the nominated pods as well."""
        plain = self._filtered()
        verdicts = Verdicts(plain.verdicts.rejected_by.copy(), plain.verdicts.codes.copy())
        full = WhatIf(plain.plugins, plain.states, view)
        full.shift(*nominated, +1)
        crowded = np.unique(nominated[1])
        take_failures(verdicts, crowded, full.filter(crowded))
        return replace(plain, verdicts=verdicts)

    def _search(self, pod: PodInfo, view: View, filtered: Filtered) -> Candidacy:
        nodes = view.nodes
        if _is_nominated(pod, view):  # it alone need not make room for itself: of no use to others
            alone = Candidacy(nodes.count)
            alone.try_again(pod, view, filtered, every_row(nodes.count))
            return alone
        valid_for = (self.standing.built, view.objects.budgets_version, nodes.count)
        known = self._candidacies.get(pod.priority)
        if known is None or known[0] != valid_for:
            known = self._candidacies[pod.priority] = (valid_for, Candidacy(nodes.count))
            rows: RowArray | None = every_row(nodes.count)
        else:
            rows = _changed_since(known[1], nodes)
        candidacy = known[1]
        if rows is None:
            rows = every_row(nodes.count)
        if len(rows):
            candidacy.try_again(pod, view, filtered, distinct(rows))
        candidacy.usage_position = nodes.usage_changes.position
        candidacy.importance_position = nodes.importance_changes.position
        return candidacy


def _said_of(filtered: Filtered, view: View, post_filter_message: str) -> Refusal:
    return Refusal(fit_error(filtered, view, post_filter_message), filtered.rejectors(view))


def _instant(view: View) -> Instant:
    nodes = view.nodes
    return (
        nodes.spec_changes.position,
        nodes.usage_changes.position,
        nodes.importance_changes.position,
        view.objects.version,
    )


def _is_nominated(pod: PodInfo, view: View) -> bool:
    """Whether a node is kept for the pod; the cache knows no other pods that have no node."""
    return bool(pod.nominated_node_name) or pod.key in view.pods.rows_by_key


def _changed_since(candidacy: Candidacy, nodes: NodeTable) -> RowArray | None:
    """Rows with other pods than when they were tried last, or pods of another importance; None: nobody knows."""
    log = nodes.usage_changes
    same_importance = nodes.importance_changes.position == candidacy.importance_position
    if same_importance and log.position == candidacy.usage_position + 1:
        return row_array([log.last])
    usage = log.since(candidacy.usage_position)
    if usage is None or same_importance:
        return usage
    importance = nodes.importance_changes.since(candidacy.importance_position)
    return None if importance is None else np.concatenate((usage, importance))
