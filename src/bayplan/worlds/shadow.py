"""A scheduler that decides what another one decides, does nothing, and compares.

Stands between a live world and its scheduler in three places. What the watch shows passes through `incoming`, where the
other scheduler's bindings, nominations, evictions and messages are held against ours. Actions end in `perform_all`: a
binding counts as made until the watch shows where the pod really is, an eviction as under way until the victim is seen
to leave. And `overdue` gives way to reality where nothing of the kind is seen: the pod is taken from the scheduler as
if it were gone, so that the room it was given is free again, and comes back with the next change of it.

The scheduler sees nothing but events of objects and answers, so a journal of it replays like any other. Nothing is
written to the API, and nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from bayplan.core.actions import Action, Bind, Evict, WriteVolumes
from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Choice, Decision, Fits, NeedsPreemption, Outcome
from bayplan.core.diagnosis import without_preemption
from bayplan.core.events import (
    BindAnswered,
    Event,
    EvictAnswered,
    ObjectAdded,
    ObjectChanged,
    ObjectRemoved,
    VolumesAnswered,
)
from bayplan.core.failure_handling import UNSCHEDULABLE
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.groups.cycle import GroupAttempt
from bayplan.core.snapshot import View
from bayplan.model.conditions import FALSE, find_condition
from bayplan.model.kinds import object_key
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import Struct
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import POD_SCHEDULED
from bayplan.worlds.shadow_findings import (
    Agreement,
    Findings,
    MessageDifference,
    PlacementDifference,
    PreemptionDifference,
)
from bayplan.worlds.shadow_judging import Judge, JudgedPreemption, preemption_for_group, preemption_of
from bayplan.worlds.shadow_placements import OurPlacement, Placements
from bayplan.worlds.shadow_preemptions import Preempted, SeenPreemptions, ShadowVictim, are_interchangeable, is_marked

#: How long a pod keeps the room that we gave it and that the other scheduler did not.
GIVES_WAY_NS: Final = 3 * SECOND
#: How long the other scheduler may take to do what we have decided, before that is a difference.
PATIENCE_NS: Final = 30 * SECOND


class _Followed(Struct, eq=False):
    """A pod that waits for its node, and what we think of it."""

    pod: Pod
    uid: str
    decided_at: int = 0
    outcome: Outcome = Outcome.NO_POD
    node: str = ""  # that we chose
    message: str = ""
    tied_rows: RowArray | None = None  # nodes with the same total
    preemption: JudgedPreemption | None = None  # our last
    judged: JudgedPreemption | None = None  # ours, when theirs was seen
    their_message: str = ""  # that ours has not been held against yet
    is_set_aside: bool = False  # the scheduler believes that it is gone


class _AskedFor(Struct, frozen=True):
    """A pod that we would have evicted."""

    pod: str
    node: str
    preemptor: str
    until: int


class Shadow:
    """Compares. All times are those of the caller."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        gates: FeatureGates,
        *,
        started_at: int,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        self.findings = Findings(started_at=format_time(started_at))
        self._profiles = profiles
        self._judge = Judge(profiles, gates)
        self._patience_ns = patience_ns
        self._placements = Placements(self._judge, self.findings)
        self._theirs = SeenPreemptions()
        self._pods: dict[str, _Followed] = {}  # by key: without a node
        self._asked_for: dict[str, _AskedFor] = {}  # by uid
        self._answer: Callable[[Event], None] = _nobody

    def answer_to(self, answer: Callable[[Event], None]) -> None:
        """Who is told what became of actions."""
        self._answer = answer

    def finish(self, now: int) -> Findings:
        """What was found out, at the end."""
        self._placements.look_again(now, at_all=True)
        self.findings.ended_at = format_time(now)
        return self.findings

    # ------------------------------------------------------------------ what the watch shows

    def incoming(self, event: Event, now: int) -> Iterator[Event]:
        """What the scheduler is to observe instead of the event."""
        self._placements.look_again(now)
        before, after = _pods_of(event)
        if before is None and after is not None:
            self._appeared(after)
        elif before is not None and after is not None:
            self._changed(before, after, now)
        elif before is not None:
            self._gone(object_key(before), now)
        self._judge.observe(event)
        followed = self._set_aside(before)
        if followed is None:
            yield event
        elif after is not None:
            followed.is_set_aside, followed.outcome = False, Outcome.NO_POD
            yield ObjectAdded(after)
        if before is not None:
            self._drop_if_over(before, after)
            yield from self._answered(before, after)
            yield from self._refused(before, after)

    def _set_aside(self, pod: Pod | None) -> _Followed | None:
        followed = self._pods.get(object_key(pod)) if pod is not None else None
        return followed if followed is not None and followed.is_set_aside else None

    def _appeared(self, pod: Pod) -> None:
        if not pod.spec.node_name and pod.status.phase not in FINISHED_PHASES and self._is_ours(pod):
            key = object_key(pod)
            self._pods[key] = _Followed(pod, pod.metadata.uid)
            if pod.status.nominated_node_name:
                self._theirs.nominated(key, pod.status.nominated_node_name)

    def _changed(self, old: Pod, new: Pod, now: int) -> None:
        key = object_key(new)
        if is_marked(new, self._profiles) and not is_marked(old, self._profiles) and new.spec.node_name:
            self._theirs.marked(self._judge.victim(key), new.spec.node_name, now)
        followed = self._pods.get(key)
        if followed is None or followed.uid != new.metadata.uid:
            self._placements.changed(new)
            return
        nominated = new.status.nominated_node_name
        if nominated and nominated != old.status.nominated_node_name:
            self._theirs.nominated(key, nominated)
            followed.judged = self._judge.preemption(old, now)
        if new.spec.node_name:
            self._bound(followed, new, now)
        else:
            self._said(followed, old, new, now)
        followed.pod = new

    def _gone(self, key: str, now: int) -> None:
        self._placements.gone(key)
        followed = self._pods.get(key)
        if followed is not None:
            self._over(followed, key, now, was_bound=False)

    def _drop_if_over(self, before: Pod, after: Pod | None) -> None:
        """After the scheduler has been told; a set-aside pod that is gone is gone for it already."""
        if after is None or after.spec.node_name or after.status.phase in FINISHED_PHASES:
            self._pods.pop(object_key(before), None)
        elif before.metadata.uid != after.metadata.uid:
            self._appeared(after)

    def _answered(self, before: Pod, after: Pod | None) -> Iterator[Event]:
        """An eviction that we asked for is over when the victim is seen to leave, whoever's doing it is; or when the
        preemptor is seen to wait for another node."""
        is_leaving = after is None or after.metadata.deletion_timestamp is not None
        if is_leaving and before.metadata.uid in self._asked_for:
            asked = self._asked_for.pop(before.metadata.uid)
            yield EvictAnswered(asked.pod, before.metadata.uid)
        nominated = after.status.nominated_node_name if after is not None else ""
        if nominated and nominated != before.status.nominated_node_name:
            key = object_key(before)
            for uid, asked in list(self._asked_for.items()):
                if asked.preemptor == key and asked.node != nominated:
                    del self._asked_for[uid]
                    yield EvictAnswered(asked.pod, uid)

    def _refused(self, before: Pod, after: Pod | None) -> Iterator[Event]:
        """The other scheduler has found no node and nobody to evict: neither room nor victims are the pod's."""
        if after is None or not _unschedulable_message(after) or after.status.nominated_node_name:
            return
        if _unschedulable_message(after) != _unschedulable_message(before):
            followed = self._pods.get(object_key(after))
            if followed is not None and followed.outcome in (Outcome.ASSUMED, Outcome.NOMINATED):
                yield from self._put_aside(object_key(after))

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._profiles

    # ------------------------------------------------------------------ their decisions

    def _bound(self, followed: _Followed, bound: Pod, now: int) -> None:
        was_placed = followed.outcome in (Outcome.ASSUMED, Outcome.WAITING)
        ours = OurPlacement(followed.node, followed.tied_rows) if was_placed else OurPlacement()
        self._placements.bound(followed.pod, bound, ours, now)
        self._over(followed, object_key(bound), now, was_bound=True)

    def _over(self, followed: _Followed, key: str, now: int, *, was_bound: bool) -> None:
        """The pod has its node, or is gone: whom each has evicted for it is settled."""
        theirs = self._theirs.victims_of(key)
        has_theirs = theirs is not None and bool(theirs.victims)
        # Of a pod that is gone nobody knows whether they would have evicted somebody for it.
        has_ours = followed.preemption is not None and bool(followed.preemption.victims)
        if has_theirs or (has_ours and was_bound):
            agreement = self._preemptions_agree(followed, theirs)
            self.findings.preempted(_preemptions_compared(followed, key, theirs, agreement, format_time(now)))
        self._theirs.over(key)
        self._settle_message(followed, key, now)
        self.findings.only_ours.pop(followed.uid, None)

    def _preemptions_agree(self, followed: _Followed, theirs: Preempted | None) -> Agreement:
        if theirs is None:
            return Agreement.ONLY_OURS
        for ours, agreement in ((followed.preemption, Agreement.TIED), (followed.judged, Agreement.MOVED)):
            if ours is None or theirs.node not in ours.by_node:
                continue
            found = self._victims_agree(ours.by_node[theirs.node], theirs)
            if found is Agreement.SAME:
                return Agreement.SAME if ours.node == theirs.node else agreement
            if found is Agreement.TIED:
                return agreement
        if not theirs.victims:
            return Agreement.ONLY_OURS
        has_none = followed.preemption is None and followed.judged is None
        return Agreement.ONLY_THEIRS if has_none else Agreement.DIFFERENT

    def _victims_agree(self, ours: Sequence[ShadowVictim], theirs: Preempted) -> Agreement:
        """Of the victims on one node."""
        # Some of ours may have been going already, for somebody else.
        left = [victim for victim in ours if not self._theirs.has_marked(victim.key)]
        instead = [victim for victim in theirs.victims if victim.key not in _keys(ours)]
        if not left and (theirs.is_shared or not instead):
            return Agreement.SAME
        return Agreement.TIED if are_interchangeable(left, instead) else Agreement.DIFFERENT

    def _said(self, followed: _Followed, old: Pod, new: Pod, now: int) -> None:
        """Why the pod fits nowhere, if that is news."""
        message = _unschedulable_message(new)
        if not message or message == _unschedulable_message(old):
            return
        followed.their_message = message
        if followed.message == message:
            self._settle_message(followed, object_key(new), now)

    def _settle_message(self, followed: _Followed, key: str, now: int) -> None:
        if not followed.their_message:
            return
        theirs, followed.their_message = followed.their_message, ""
        if not followed.message:
            return  # they were faster
        # What is said about preemption depends on how far it has come.
        is_moved = without_preemption(theirs) == without_preemption(followed.message)
        otherwise = Agreement.MOVED if is_moved else Agreement.DIFFERENT
        agreement = Agreement.SAME if theirs == followed.message else otherwise
        self.findings.said(
            MessageDifference(at=format_time(now), pod=key, agreement=agreement, ours=followed.message, theirs=theirs)
        )

    # ------------------------------------------------------------------ our decisions

    def chosen(self, info: PodInfo, view: View, choice: Choice | CycleError) -> None:
        """Given to the scheduler as `on_choice`."""
        self._placements.node_rows = view.nodes.rows_by_name
        followed = self._pods.get(info.key)
        if followed is None:
            return
        followed.tied_rows = choice.tied_rows.copy() if isinstance(choice, Fits) else None
        if isinstance(choice, NeedsPreemption):
            followed.preemption = preemption_of(choice, view)

    def tried_group(self, attempt: GroupAttempt, view: View) -> None:
        """Given to the scheduler as `on_group_attempt`."""
        self._placements.node_rows = view.nodes.rows_by_name
        tried = {each.member.key: each for each in (attempt.found.placed.tried if attempt.found is not None else ())}
        for outcome in attempt.outcomes:
            followed = self._pods.get(outcome.member.key)
            if followed is None:
                continue
            how = tried.get(outcome.member.key)
            followed.tied_rows = how.tied_rows if how is not None and outcome.node else None
            node = attempt.preemption.proposed.get(outcome.member.key) if attempt.preemption is not None else None
            if node is not None and attempt.preemption is not None:
                followed.preemption = preemption_for_group(node, attempt.preemption, view)

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:  # noqa: ARG002
        """Remember it until the other scheduler's is seen."""
        preemptor = decision.pod
        if decision.pod:
            self._decided(decision, now)
        for member in decision.members:
            self._decided(member, now)
            preemptor = preemptor or member.pod
        for action in decision.actions:
            if isinstance(action, Evict):
                self._asked_for[action.uid] = _AskedFor(action.pod, action.node, preemptor, now + self._patience_ns)

    def _decided(self, decision: Decision, now: int) -> None:
        self.findings.decisions += 1
        followed = self._pods.get(decision.pod)
        if followed is None:
            return
        followed.decided_at, followed.outcome, followed.node = now, decision.outcome, decision.node
        if decision.message:
            followed.message = decision.message
            if followed.their_message == followed.message:
                self._settle_message(followed, decision.pod, now)

    def observed(self, event: Event, now: int) -> None:
        """All that counts has passed through `incoming`."""

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        """Nothing is ever written."""

    def perform_all(self, actions: Sequence[Action], now: int) -> None:  # noqa: ARG002
        """Leave everything undone. Evictions are answered when the victims are seen to leave."""
        for action in actions:
            match action:
                case Bind(pod, uid, _):
                    self._answer(BindAnswered(pod, uid))
                case WriteVolumes(pod, uid, objects):
                    claims = tuple(obj for obj in objects if isinstance(obj, ResourceClaim))
                    self._answer(VolumesAnswered(pod, uid, claims=claims))
                case _:
                    pass

    async def drain(self, timeout_s: float) -> None:
        """Nothing is under way that could be finished."""

    # ------------------------------------------------------------------ giving way

    def overdue(self, now: int) -> list[Event]:
        """What the scheduler is to be told because the other one has not done what it decided."""
        events: list[Event] = []
        for uid, asked in list(self._asked_for.items()):
            if asked.until <= now:
                del self._asked_for[uid]
                events.append(EvictAnswered(asked.pod, uid))
                events += self._put_aside(asked.preemptor)
        for key, followed in self._pods.items():
            if followed.outcome is Outcome.ASSUMED:
                if followed.decided_at + GIVES_WAY_NS <= now:
                    events += self._put_aside(key)
                if followed.decided_at + self._patience_ns <= now:
                    self._only_ours(followed, key, now)
        self._placements.look_again(now)
        self._theirs.forget_before(now - self._patience_ns)
        return events

    def _only_ours(self, followed: _Followed, key: str, now: int) -> None:
        """The other scheduler has left the pod alone. It counts if there is room for it not only in our mind."""
        followed.outcome = Outcome.NO_POD
        if self._judge.fits(followed.pod, now):
            self.findings.only_ours[followed.uid] = PlacementDifference(
                at=format_time(followed.decided_at),
                pod=key,
                agreement=Agreement.ONLY_OURS,
                ours=followed.node,
                theirs="",
                why=_unschedulable_message(followed.pod),
            )

    def _put_aside(self, key: str) -> list[Event]:
        followed = self._pods.get(key)
        if followed is None or followed.is_set_aside or followed.pod.status.nominated_node_name:
            return []  # one that the other scheduler has nominated waits as it does there
        followed.is_set_aside = True
        asked_for = [uid for uid, asked in self._asked_for.items() if asked.preemptor == key]
        answers = [EvictAnswered(self._asked_for.pop(uid).pod, uid) for uid in asked_for]
        return [*answers, ObjectRemoved(followed.pod)]


def _preemptions_compared(
    followed: _Followed, key: str, theirs: Preempted | None, agreement: Agreement, at: str
) -> PreemptionDifference:
    ours = followed.preemption or followed.judged
    return PreemptionDifference(
        at=at,
        pod=key,
        agreement=agreement,
        our_node="" if ours is None else ours.node,
        our_victims=() if ours is None else _keys(ours.victims),
        their_node="" if theirs is None else theirs.node,
        their_victims=() if theirs is None else _keys(theirs.victims),
    )


def _keys(victims: Sequence[ShadowVictim]) -> tuple[str, ...]:
    return tuple(victim.key for victim in victims)


def _pods_of(event: Event) -> tuple[Pod | None, Pod | None]:
    """Before and after, of an event that is about a pod."""
    match event:
        case ObjectAdded(Pod() as pod):
            return None, pod
        case ObjectChanged(Pod() as old, Pod() as new):
            return old, new
        case ObjectRemoved(Pod() as pod):
            return pod, None
    return None, None


def _unschedulable_message(pod: Pod) -> str:
    condition = find_condition(pod.status.conditions, POD_SCHEDULED)
    if condition is None or (condition.status, condition.reason) != (FALSE, UNSCHEDULABLE):
        return ""
    return condition.message


def _nobody(event: Event) -> None:
    """Until somebody wants to know."""
