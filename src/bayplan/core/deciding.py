"""Decisions at speed: the same answers as `cycle.attempt`, reusing what is known of pods of the same shape.

A `Decider` keeps a standing for each shape it has seen recently. Plugins that read the whole cluster run again for
each pod, on the nodes that pass the local filters. Anything that does not fit this pattern (a PreFilter that rejects
or narrows, a pod that fits nowhere while such plugins foresee nothing) takes the straight path of `cycle`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from bayplan.core.columns import row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.crowding import Crowds
from bayplan.core.cycle import attempt
from bayplan.core.decision import Choice, Fits, Unschedulable
from bayplan.core.diagnosis import NO_NODES, Diagnosis
from bayplan.core.extending import ask_filters
from bayplan.core.filtering import (
    filter_states,
    filter_with_nominated,
    run_pre_filters,
)
from bayplan.core.first_sight import best_at_first_sight
from bayplan.core.framework.extender import is_any_interested
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.timing import Stopwatch
from bayplan.core.framework.verdict import CycleError
from bayplan.core.ground import Ground, NothingToReuse, ground_for
from bayplan.core.kept_answers import KeptAnswers, LocalAnswers, choice_of
from bayplan.core.snapshot import View
from bayplan.core.standing import Standing, standing_for

#: Bytes that all standings together may take, by estimate.
STANDINGS_BYTES_MAX = 512 << 20
BYTES_PER_ROW = 32

Recent = TypeVar("Recent")
LookedUp: TypeAlias = KeptAnswers | NothingToReuse | Fits | Unschedulable


class Decider:
    """Decides pod after pod on one cache."""

    def __init__(
        self, profiles: Mapping[str, Profile], *, reuse: bool = True, stopwatch: Stopwatch | None = None
    ) -> None:
        self._profiles = profiles
        self._stopwatch = stopwatch
        self._look_up = self._kept_for if stopwatch is None else self._timed_look_up
        self._reuse = reuse
        self._standings_made = 0
        self._seen: set[tuple[str, int]] = set()  # what pods were about so far
        self._crowds = Crowds()
        self._next_start = 0  # one for all profiles, as upstream
        self._kept: OrderedDict[tuple[str, int], KeptAnswers | NothingToReuse] = OrderedDict()  # by shape
        self._locals: OrderedDict[tuple[str, int], LocalAnswers | NothingToReuse] = OrderedDict()  # by demands
        self._grounds: OrderedDict[tuple[str, int], Ground | NothingToReuse] = OrderedDict()

    def decide(self, pod: PodInfo, view: View) -> Choice:
        """The best node, ties by the smallest name. Raises CycleError when the attempt ends in an error."""
        if not view.nodes.alive_count:
            return Unschedulable(lambda: Diagnosis(NO_NODES))
        profile = self._profiles[pod.scheduler_name]
        if pod.nominated_node_name:
            nominated = _nominated_choice(profile, pod, view)
            if nominated is not None:
                return nominated
        if self._may_reuse(profile, pod):
            try:
                found = self._look_up(profile, pod, view)
                if isinstance(found, (Unschedulable, Fits)):
                    return found
                choice = found.decide(pod, view) if isinstance(found, KeptAnswers) else None
            except CycleError:
                choice = None  # more was asked than had to be: the straight line tells whether it matters
            if choice is not None:
                return choice
        start = self._next_start
        outcome = attempt(profile, pod, view, start)
        self._next_start = outcome.next_start
        return choice_of(outcome, view, start)

    def _timed_look_up(self, profile: Profile, pod: PodInfo, view: View) -> LookedUp:
        stopwatch = self._stopwatch
        assert stopwatch is not None
        if not stopwatch.running:
            return self._kept_for(profile, pod, view)
        made_before = self._standings_made
        started = stopwatch.clock()
        kept = self._kept_for(profile, pod, view)
        took_ns = stopwatch.clock() - started
        reusable = not isinstance(kept, NothingToReuse)
        reused = reusable and self._standings_made == made_before
        stopwatch.recorder.looked_up(profile.scheduler_name, reused=reused, reusable=reusable, took_ns=took_ns)
        return kept

    def _may_reuse(self, profile: Profile, pod: PodInfo) -> bool:
        """A node that the pod names itself is not part of its shape, and extenders see more of a pod than that."""
        if not self._reuse or profile.percentage_of_nodes_to_score is not None or pod.node_name:
            return False
        return not (profile.extenders and is_any_interested(profile.extenders, pod))

    def _kept_for(self, profile: Profile, pod: PodInfo, view: View) -> LookedUp:
        """What is known of such pods; the choice itself at first sight, or where it is what it was the last time."""
        key = (profile.scheduler_name, pod.shape.id)
        kept = self._kept.get(key)
        if kept is None:
            choice = self._choice_at_first_sight(profile, pod, view)
            if choice is not None:
                return choice
        elif isinstance(kept, KeptAnswers) and (unschedulable := kept.unschedulable_before(pod, view)) is not None:
            self._kept.move_to_end(key)
            return unschedulable
        elif kept.follow(view):
            self._kept.move_to_end(key)
            return kept
        local = self._local_for(profile, pod, view)
        if isinstance(local, NothingToReuse):
            kept = local
        elif isinstance(kept, KeptAnswers):
            kept.local = local
        else:
            kept = KeptAnswers(pod, local)
        _put(self._kept, key, kept, view.nodes.count)
        return kept

    def _choice_at_first_sight(self, profile: Profile, pod: PodInfo, view: View) -> Fits | None:
        """None when such pods were seen before, or there is more to it."""
        key = _local_key(profile, pod)
        if key in self._seen:
            return None
        self._seen.add(key)
        ground = self._ground_for(profile, pod, view)
        self._standings_made += 1
        return best_at_first_sight(profile, pod, view, ground) if isinstance(ground, Ground) else None

    def _local_for(self, profile: Profile, pod: PodInfo, view: View) -> LocalAnswers | NothingToReuse:
        """What the local plugins say, shared by all pods that they cannot tell apart."""
        key = _local_key(profile, pod)
        local = self._locals.get(key)
        if local is None or not local.follow(view):
            self._standings_made += 1
            ground = self._ground_for(profile, pod, view)
            made = ground if isinstance(ground, NothingToReuse) else standing_for(profile, pod, view, ground)
            local = LocalAnswers(made, self._crowds) if isinstance(made, Standing) else made
        _put(self._locals, key, local, view.nodes.count)
        return local

    def _ground_for(self, profile: Profile, pod: PodInfo, view: View) -> Ground | NothingToReuse:
        key = (profile.scheduler_name, pod.shape.constraints_id if profile.shares_grounds else ~pod.shape.id)
        ground = self._grounds.get(key)
        if ground is None or not ground.follow(view):
            ground = ground_for(profile, pod, view)
        _put(self._grounds, key, ground, view.nodes.count)
        return ground


def _local_key(profile: Profile, pod: PodInfo) -> tuple[str, int]:
    """Equal for pods that local plugins cannot tell apart."""
    # Ids of shapes are kept apart from those of what is shared by being negative.
    return profile.scheduler_name, pod.shape.demands_id if profile.shares_standings else ~pod.shape.id


def _put(recent: OrderedDict[tuple[str, int], Recent], key: tuple[str, int], value: Recent, node_count: int) -> None:
    """Keep it as the one used last; what was not used for the longest time goes when there are too many."""
    recent[key] = value
    recent.move_to_end(key)
    if len(recent) * node_count * BYTES_PER_ROW > STANDINGS_BYTES_MAX and len(recent) > 1:
        recent.popitem(last=False)


def _nominated_choice(profile: Profile, pod: PodInfo, view: View) -> Fits | None:
    """The node the pod was nominated to, if it fits there now: it is taken without looking at any other."""
    row = view.nodes.rows_by_name.get(pod.nominated_node_name)
    if row is None or not view.nodes.alive[row]:
        return None
    rows = row_array([row])
    try:
        pre = run_pre_filters(profile, pod, view)
        if not pre.status.ok:
            return None
        found = filter_with_nominated(profile.filter, filter_states(profile, pod, view, pre.states), pod, view, rows)
        fits = found.passed[0] and len(ask_filters(profile.extenders, pod, view, rows).rows)
    except CycleError:
        return None  # as upstream: all nodes are looked at instead
    return Fits(row, None, found.codes, 0, rows) if fits else None
