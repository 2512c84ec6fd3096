"""What is kept of the answers for pods of one shape, and how a choice is made from it.

`LocalAnswers` are shared by all pods that the local plugins cannot tell apart, `KeptAnswers` by those of one shape, for
which the plugins that read the whole cluster are asked again. Who gets which, and for how long, is up to the `Decider`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bayplan.core.appraisal import RANKS, tied_from, total_of
from bayplan.core.columns import ALL_ROWS, BoolArray, IntArray, RowArray, distinct, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.crowding import CrowdedOut, Crowds
from bayplan.core.cycle import Attempt, attempt
from bayplan.core.decision import Choice, Fits, NeedsPreemption, Unschedulable
from bayplan.core.diagnosis import Diagnosis, diagnose
from bayplan.core.filtering import (
    Filtered,
    PreFilterResult,
    Verdicts,
    WhatIfWorlds,
    nominated_pods,
    passing,
    take_failures,
)
from bayplan.core.framework.contract import (
    SKIP,
    Ready,
    State,
)
from bayplan.core.framework.verdict import SUCCESS, unresolvable
from bayplan.core.grouped_scores import GroupedScores
from bayplan.core.preemption.candidacy import Candidacy
from bayplan.core.preemption.few_nodes import FewNodes
from bayplan.core.preemption.foresight import Foreseen, FurtherFilters
from bayplan.core.preemption.post_filter import (
    PostFilterResult,
    Search,
    first_by_name,
    run_post_filters,
)
from bayplan.core.scoring import final_scores
from bayplan.core.snapshot import View
from bayplan.core.standing import Standing

#: Candidates are kept for preemptors of this many priorities.
PRIORITIES_MAX = 8


def choice_of(found: Attempt, view: View, start: int = 0) -> Choice:
    """The choice a full attempt leads to. Raises the error it ended in."""
    if found.error is not None:
        raise found.error
    if found.scored is not None:
        if found.scored.totals is None:  # a lone feasible node
            row = int(found.scored.rows[0])
            return Fits(row, None, row_array([0]), 0, found.scored.rows)
        totals, rows = found.scored.totals, found.scored.rows
        best = int(totals.max())
        return Fits(first_by_name(found.scored.best_rows(), view), best, totals, best, rows)
    filtered, post_filter = found.filtered, found.post_filter
    assert filtered is not None, "there are nodes"
    assert post_filter is not None, "nothing fits"
    return _nothing_fits(post_filter, view, lambda: Diagnosis(found.message, filtered.rejectors(view)), start)


def _nothing_fits(
    result: PostFilterResult, view: View, diagnose: Callable[[], Diagnosis], start: int = 0
) -> NeedsPreemption | Unschedulable:
    """Perhaps there is a node that can be cleared."""
    found = result.found
    if found is None or not result.status.ok or not len(found.tied_rows):
        return Unschedulable(diagnose, result.keeps_nomination, actions=result.actions)
    row = first_by_name(found.tied_rows, view)
    return NeedsPreemption(diagnose, row, found.tied_rows, found, start, actions=result.actions)


class LocalAnswers:
    """A standing with what else follows from local filters alone."""

    def __init__(self, standing: Standing, crowds: Crowds, few_nodes: FewNodes) -> None:
        profile = standing.profile
        self.standing = standing
        self._crowds = crowds
        self._few_nodes = few_nodes
        self._crowded_out: CrowdedOut | None = None  # for the priority asked about last
        self._candidacies: dict[int, Candidacy] = {}  # by priority
        #: Of nodes that were tried with all filters, for the pods that did so last: their shape and priority, and when.
        self._tried: tuple[tuple[int, ...], Candidacy] | None = None
        self._diagnosis: tuple[int, Diagnosis] | None = None
        # The standing's verdicts as an outcome; it follows them.
        pre = PreFilterResult(SUCCESS, ran={plugin.name for plugin in profile.pre_filter})
        states = [*standing.states, *[SKIP] * len(profile.later_filters)]
        self._filtered = Filtered(profile.filter, states, pre, standing.verdicts, unresolvable(), row_array([]))

    def follow(self, view: View) -> bool:
        """Bring the standing up to date; False when it has to be made anew."""
        return self.standing.follow(view)

    @property
    def candidacy_count(self) -> int:
        return len(self._candidacies) + (self._tried is not None)

    def forget_tries(self) -> None:
        """Forget what was tried for pods of one shape, which would keep that shape in use."""
        self._tried = None

    def crowded_out(self, pod: PodInfo, view: View) -> CrowdedOut | None:
        """Where a pod that is not nominated itself fits only without those that are; None if that is not known here."""
        if not self.standing.sees_usage_alone:
            return None
        usage, known = self._crowds.seen_by(pod, view), self._crowded_out
        if known is None or known.usage is not usage or not known.follow(view):
            known = self._crowded_out = CrowdedOut(self.standing, usage, view)
        return known

    def preempt(
        self, pod: PodInfo, view: View, nominated: tuple[RowArray, RowArray] | None, later_states: list[State] | None
    ) -> Choice:
        """Nothing fits. `later_states` are those of the filters behind the local ones; None: they all skip."""
        profile = self.standing.profile
        if profile.preemption is not None or not profile.shares_post_filters:
            return choice_of(attempt(profile, pod, view), view)
        local = self._filtered if nominated is None else self._filtered_with(view, nominated)
        if later_states is None:
            return self._look_for_victims(pod, view, local, self._choose)
        further = FurtherFilters(self._filtered, self.standing.feasible_rows, later_states, view, nominated)

        def search(*_: object) -> Foreseen:
            return further.search(self._search(pod, view, local), partial(self._tried_for, pod, view), pod, view)

        return self._look_for_victims(pod, view, further.filtered, search)

    def _look_for_victims(self, pod: PodInfo, view: View, filtered: Filtered, search: Search) -> Choice:
        result = run_post_filters(self.standing.profile, pod, view, filtered, search)
        return _nothing_fits(result, view, lambda: self._diagnose(filtered, view, result.reported(view).message))

    def _diagnose(self, filtered: Filtered, view: View, post_filter_message: str) -> Diagnosis:
        """What is said of the nodes is remembered for as long as no verdict changes."""
        if filtered is not self._filtered:
            return diagnose(filtered, view, post_filter_message)
        if self._diagnosis is None or self._diagnosis[0] != self.standing.version:
            self._diagnosis = (self.standing.version, diagnose(filtered, view, ""))
        of_nodes = self._diagnosis[1]
        if not post_filter_message:
            return of_nodes
        return of_nodes._replace(message=f"{of_nodes.message} {post_filter_message}")

    def _filtered_with(self, view: View, nominated: tuple[RowArray, RowArray]) -> Filtered:
        """What the local filters say where nodes must have room for the nominated pods as well."""
        plain = self._filtered
        verdicts = Verdicts(plain.verdicts.rejected_by.copy(), plain.verdicts.codes.copy())
        full = WhatIfWorlds(plain.plugins, plain.states, view)
        full.shift(*nominated, +1)
        crowded = distinct(nominated[1])
        take_failures(verdicts, crowded, full.filter(crowded))
        return replace(plain, verdicts=verdicts)

    def _search(self, pod: PodInfo, view: View, filtered: Filtered) -> Candidacy:
        """Candidates as far as local filters go."""
        candidacy = self._candidacies.get(pod.priority)
        if _is_nominated(pod, view):  # it alone need not make room for itself: of no use to others
            candidacy = Candidacy(view, self._few_nodes)
        elif candidacy is None or not candidacy.can_follow(view):
            if candidacy is None and len(self._candidacies) == PRIORITIES_MAX:
                self._candidacies.clear()
            candidacy = self._candidacies[pod.priority] = Candidacy(view, self._few_nodes)
        candidacy.follow(pod, view, filtered)
        return candidacy

    def _choose(self, pod: PodInfo, view: View, filtered: Filtered) -> Candidacy:
        """The cheapest candidates, where local filters alone have a say."""
        candidacy = self._search(pod, view, filtered)
        candidacy.choose(pod)
        return candidacy

    def _tried_for(self, pod: PodInfo, view: View) -> Candidacy:
        """Candidates with all filters in play, of nodes that were tried for pods of this shape and priority."""
        if _is_nominated(pod, view):
            return Candidacy(view, self._few_nodes)
        key = (pod.shape.serial, pod.priority, view.objects.version, view.nodes.spec_changes.position)
        if self._tried is None or self._tried[0] != key or not self._tried[1].can_follow(view):
            self._tried = (key, Candidacy(view, self._few_nodes))
        return self._tried[1]


class KeptAnswers:
    """What is known of pods of one shape."""

    def __init__(self, pod: PodInfo, local: LocalAnswers) -> None:
        profile = self.profile = local.standing.profile
        self.rest_on(local)
        #: PreFilters that read the cluster and may have something to do for such pods.
        self._later_pre_filters = profile.later_pre_filters_for(pod)
        self._prepared = {plugin.name for plugin in profile.later_pre_filters}
        #: Score plugins that read the cluster and may tell nodes apart for such pods.
        self._later_scorers = profile.later_scorers_for(pod)
        #: Of those what asks whether they have something to say now; None: some always have.
        speak = [scorer.speaks for scorer in self._later_scorers if scorer.speaks is not None]
        self._speak = speak if len(speak) == len(self._later_scorers) else None
        self._grouping = GroupedScores(profile)
        self._spoke = True  # whether any of them had something to say the last time
        self._all_skip: list[State] = [SKIP] * len(profile.later_filters)
        self._unschedulable: dict[tuple[int, str], Unschedulable] = {}  # by priority and policy

    @property
    def may_group(self) -> bool:
        """Whether scores for groups of nodes may be kept."""
        return bool(self._later_scorers)

    def rest_on(self, local: LocalAnswers) -> None:
        """What the local plugins say, from now on."""
        self.local = local

    def follow(self, view: View) -> bool:
        """Bring what the local plugins say up to date; False when it has to be made anew."""
        return self.local.standing.follow(view)

    def decide(self, pod: PodInfo, view: View) -> Choice | None:
        """None when the straight line has to be taken. Has followed, and there is no answer from before."""
        states = self._later_states(pod, view)
        if states is None:
            return None
        standing = self.local.standing
        only_local = states is self._all_skip
        if only_local and standing.passed_count and view.nominated and not _is_nominated(pod, view):
            choice = self._best_beside_nominated(pod, view)
            if choice is not None:
                return choice
        nominated = nominated_pods(pod, view) if view.nominated else None
        if nominated is not None and not len(nominated[0]):
            nominated = None
        if standing.passed_count:
            if only_local and nominated is None:
                return self._best_of_all(pod, view)
            passed = self._filter_further(view, states, nominated)
            rows = passed.nonzero()[0]
            if len(rows):
                return self._best(pod, view, rows)
        if only_local:
            return self._remember(pod, view, self.local.preempt(pod, view, nominated, None))
        if self._foresees(states):
            return self._remember(pod, view, self.local.preempt(pod, view, nominated, states))
        return None

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
        if known is None or known.for_all_at != view.instant or _is_nominated(pod, view):
            return None
        return known

    def _remember(self, pod: PodInfo, view: View, choice: Choice) -> Choice:
        """Keep the answer: filters that are local, or foresee what they say, see nothing of a pod but its shape."""
        if isinstance(choice, Unschedulable) and not choice.actions and not _is_nominated(pod, view):
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
        standing = self.local.standing
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
            self._make_room_for(nominated, passed, states, view)
        return passed

    def _best_beside_nominated(self, pod: PodInfo, view: View) -> Fits | None:
        """The best of all nodes that have room for the pods nominated there as well; None if there is none."""
        crowded_out = self.local.crowded_out(pod, view)
        if crowded_out is None:
            return None
        rows = crowded_out.rows_left()
        if rows is None:
            return self._best_of_all(pod, view)
        return self._best(pod, view, rows) if len(rows) else None

    def _best_of_all(self, pod: PodInfo, view: View) -> Fits:
        """The best of all nodes that pass the local filters."""
        standing = self.local.standing
        # All rows are looked at only for a plugin that wants to see them; who spoke last time mostly does so again.
        if (self._spoke and standing.knows_feasible_rows) or self._any_speaks(pod, view):
            return self._best(pod, view, standing.feasible_rows)
        return _first_of(standing)

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
        full = WhatIfWorlds(self.profile.filter, [*self.local.standing.states, *states], view)
        full.shift(pod_rows[matter], node_rows[matter], +1)
        passed[crowded] = full.filter(crowded).passed

    def _best(self, pod: PodInfo, view: View, rows: RowArray) -> Fits:
        """The best of the feasible `rows`."""
        standing = self.local.standing
        more = self._later_scores(pod, view, rows)
        self._spoke = more is not None
        if more is None and len(rows) == standing.passed_count:
            return _first_of(standing)
        order = standing.order_among(rows) if more is None else standing.order_with(more, rows)
        best = int(order.argmax())
        total = total_of(order.item(best))
        return Fits(rows.item(best), total + standing.ground.constant, order, tied_from(total), rows)

    def _later_scores(self, pod: PodInfo, view: View, rows: RowArray) -> IntArray | None:
        """(rows,) what the score plugins that read the cluster add to places in a ranking; None when all skip."""
        profile, sums = self.profile, None
        # Only rows that stay the same array are worth being grouped.
        groups_pay = rows is self.local.standing.feasible_rows
        for scorer in self._later_scorers:
            plugin = scorer.plugin
            grouped = self._grouping.weighted(scorer, pod, view, rows) if groups_pay else None
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


def _first_of(standing: Standing) -> Fits:
    """The node that comes first by what the local plugins say."""
    ranking = standing.ranking
    row = ranking.best()
    total = total_of(ranking.values.item(row))
    return Fits(row, total + standing.ground.constant, ranking.values, tied_from(total), None, ranking)


def _is_nominated(pod: PodInfo, view: View) -> bool:
    """Whether a node is kept for the pod; the cache knows no other pods that have no node."""
    return bool(pod.nominated_node_name) or (bool(view.nominated) and pod.key in view.pods.rows_by_key)
