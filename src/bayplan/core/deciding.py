"""Decisions at speed: the same answers as `cycle.attempt`, reusing what is known of pods of the same shape.

A `Decider` keeps a standing for each shape it has seen recently. Plugins that read the whole cluster run again for
each pod, on the nodes that pass the local filters. Anything that does not fit this pattern (a PreFilter that rejects
or narrows, a pod that fits nowhere while such plugins foresee nothing) takes the straight path of `cycle`. Answers for
kinds of pods that are gone are forgotten, and what is kept must not keep a pod's shape in use (`_like`).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from enum import IntEnum
from typing import TypeAlias

from bayplan.core.columns import row_array
from bayplan.core.columns.recent import ANSWERS_BYTES_MAX, Recent
from bayplan.core.columns.shapes import PodInfo, Shapes
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
from bayplan.core.framework.profile import Profile, Signature
from bayplan.core.framework.verdict import CycleError
from bayplan.core.ground import Ground, NothingToReuse, ground_for
from bayplan.core.kept_answers import KeptAnswers, LocalAnswers, choice_of
from bayplan.core.preemption.few_nodes import FewNodes
from bayplan.core.snapshot import View
from bayplan.core.standing import Standing, standing_for

#: What an answer takes beside its arrays, and what these take for each node.
BASE_BYTES = 4_000
GROUND_BYTES = 32
STANDING_BYTES = 64
CANDIDACY_BYTES = 64
GROUPS_BYTES = 32

#: Answers of so many kinds of pods that are gone may be kept for a while: to look for them takes time.
GONE_MAX = 16

LookedUp: TypeAlias = KeptAnswers | NothingToReuse | Fits | Unschedulable
Kept: TypeAlias = KeptAnswers | LocalAnswers | Ground | NothingToReuse


class About(IntEnum):
    """What an answer is kept for, and whose signature its key has."""

    SHAPE = 0  # of a shape: its serial
    LOCAL = 1  # of all local plugins
    NODES = 2  # of local plugins that look at node objects alone


Key: TypeAlias = tuple[int, str, int | Signature]  # `About`, the name of the profile, what pods have in common
_SHAPE, _LOCAL, _NODES = map(int, About)  # to hash a member of an enumeration takes time


class Decider:
    """Decides pod after pod on one cache."""

    def __init__(self, profiles: Mapping[str, Profile], *, reuse: bool = True) -> None:
        self._profiles = profiles
        self._reuse = reuse
        self.standings_made = 0  # where others could not be reused
        #: Keys for pods that were decided on, and under which local answers were looked for: lately, and before that.
        self._seen: set[Key] = set()
        self._seen_before: set[Key] = set()
        self._crowds = Crowds()
        self._few_nodes = FewNodes()
        self._next_start = 0  # one for all profiles, as upstream
        self._answers: Recent[Key, Kept] = Recent(ANSWERS_BYTES_MAX)
        #: When answers were last looked through: departures of shapes, and how many answers were left.
        self._looked_through = 0, 0

    def decide(self, pod: PodInfo, view: View) -> Choice:
        """The best node, ties by the smallest name. Raises CycleError when the attempt ends in an error."""
        self.forget(view.shapes)
        if not view.nodes.alive_count:
            return Unschedulable(lambda: Diagnosis(NO_NODES))
        profile = self._profiles[pod.scheduler_name]
        if pod.nominated_node_name:
            nominated = _nominated_choice(profile, pod, view)
            if nominated is not None:
                return nominated
        if self._may_reuse(profile, pod):
            try:
                found = self.look_up(profile, pod, view)
                if isinstance(found, (Unschedulable, Fits)):
                    return found
                choice = found.decide(pod, view) if isinstance(found, KeptAnswers) else None
                if choice is not None and not isinstance(choice, Fits):
                    self._count_candidacies(profile, pod, view)
            except CycleError:
                choice = None  # more was asked than had to be: the straight line tells whether it matters
            if choice is not None:
                return choice
        start = self._next_start
        outcome = attempt(profile, pod, view, start)
        self._next_start = outcome.next_start
        return choice_of(outcome, view, start)

    def _may_reuse(self, profile: Profile, pod: PodInfo) -> bool:
        """A node that the pod names itself is not part of its shape, and extenders see more of a pod than that."""
        if not self._reuse or profile.percentage_of_nodes_to_score is not None or pod.node_name:
            return False
        return not (profile.extenders and is_any_interested(profile.extenders, pod))

    def look_up(self, profile: Profile, pod: PodInfo, view: View) -> LookedUp:
        """What is known of such pods; the choice itself at first sight, or where it is what it was the last time."""
        key = (_SHAPE, profile.scheduler_name, pod.shape.serial)
        kept = self._answers.get(key)
        assert kept is None or isinstance(kept, (KeptAnswers, NothingToReuse))
        if kept is None:
            choice = self._choice_at_first_sight(profile, pod, view)
            if choice is not None:
                return choice
        elif isinstance(kept, KeptAnswers) and (unschedulable := kept.unschedulable_before(pod, view)) is not None:
            return unschedulable
        elif kept.follow(view):
            return kept
        local = self._local_for(profile, pod, view)
        if isinstance(local, NothingToReuse):
            kept = local
        elif isinstance(kept, KeptAnswers):
            kept.rest_on(local)
        else:
            kept = KeptAnswers(pod, local)
        self._answers.put(key, kept, _size(kept, view.nodes.count))
        return kept

    def _choice_at_first_sight(self, profile: Profile, pod: PodInfo, view: View) -> Fits | None:
        """None when such pods were seen before, or there is more to it."""
        key = _local_key(profile, pod)
        if key in self._seen or key in self._seen_before:
            return None
        self._seen.add(key)
        ground = self._ground_for(profile, pod, view)
        self.standings_made += 1
        return best_at_first_sight(profile, pod, view, ground) if isinstance(ground, Ground) else None

    def _local_for(self, profile: Profile, pod: PodInfo, view: View) -> LocalAnswers | NothingToReuse:
        """What the local plugins say, shared by all pods that they cannot tell apart."""
        key = _local_key(profile, pod)
        self._seen.add(key)
        local = self._answers.get(key)
        assert local is None or isinstance(local, (LocalAnswers, NothingToReuse))
        if local is None or not local.follow(view):
            self.standings_made += 1
            ground = self._ground_for(profile, pod, view)
            made = ground if isinstance(ground, NothingToReuse) else standing_for(profile, _like(pod), view, ground)
            local = LocalAnswers(made, self._crowds, self._few_nodes) if isinstance(made, Standing) else made
            self._answers.put(key, local, _size(local, view.nodes.count))
        return local

    def _ground_for(self, profile: Profile, pod: PodInfo, view: View) -> Ground | NothingToReuse:
        key = (_NODES, profile.scheduler_name, profile.signature_of_nodes(pod))
        self._seen.add(key)
        ground = self._answers.get(key)
        assert ground is None or isinstance(ground, (Ground, NothingToReuse))
        if ground is None or not ground.follow(view):
            ground = ground_for(profile, _like(pod), view)
            self._answers.put(key, ground, _size(ground, view.nodes.count))
        return ground

    def _count_candidacies(self, profile: Profile, pod: PodInfo, view: View) -> None:
        """Answers have grown by what was found out about victims."""
        key = _local_key(profile, pod)
        local = self._answers.peek(key)
        if isinstance(local, LocalAnswers):
            self._answers.resize(key, _size(local, view.nodes.count))

    def forget(self, shapes: Shapes) -> None:
        """Forget answers for shapes that are gone, once there are more than a few, and those nobody asks for."""
        departures, left_then = self._looked_through
        gone = shapes.departures - departures
        if gone <= GONE_MAX or gone <= left_then // 4:
            return
        kept = {key: answer for key in self._answers if (answer := self._answers.peek(key)) is not None}
        left = {key for key in kept if (shapes.has(key[2]) if isinstance(key[2], int) else key in self._seen)}
        needed: set[int] = set()
        for key in left:
            if isinstance(answer := kept[key], KeptAnswers):
                needed |= {id(answer.local), id(answer.local.standing.ground)}
            elif isinstance(answer, LocalAnswers):
                needed.add(id(answer.standing.ground))
        for key, answer in kept.items():
            if key not in left and id(answer) not in needed:
                self._answers.pop(key)
            elif isinstance(answer, LocalAnswers):
                answer.forget_tries()
        self._seen, self._seen_before = set(), self._seen
        self._looked_through = shapes.departures, len(self._answers)


def _size(kept: Kept, node_count: int) -> int:
    """Bytes that it takes, by estimate."""
    if isinstance(kept, LocalAnswers):
        return BASE_BYTES + node_count * (STANDING_BYTES + CANDIDACY_BYTES * kept.candidacy_count)
    if isinstance(kept, Ground):
        return BASE_BYTES + node_count * GROUND_BYTES
    return BASE_BYTES + (node_count * GROUPS_BYTES if isinstance(kept, KeptAnswers) and kept.may_group else 0)


def _local_key(profile: Profile, pod: PodInfo) -> Key:
    """Equal for pods that local plugins cannot tell apart."""
    return _LOCAL, profile.scheduler_name, profile.signature(pod)


def _like(pod: PodInfo) -> PodInfo:
    """A pod with the same look, for answers to keep: they must not keep the shape in use."""
    like = copy(pod)
    like.shape = copy(pod.shape)
    return like


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
