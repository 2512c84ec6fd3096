"""What follows from an attempt on a group: members are bound together, or all go back, and units may have to go.

Takes a group that was popped; gives the decision with everything that is to be done. `cycle` says what becomes of each
member, `binding` takes those that got a node, the queue takes back the others with their group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayplan.core.actions import GROUP_PREFIX, Action, Evict, SetGroupCondition
from bayplan.core.binding import Binding
from bayplan.core.cache import Cache
from bayplan.core.columns.pods import owner_of
from bayplan.core.deciding import Decider
from bayplan.core.decision import Decision, Outcome
from bayplan.core.evictions import Evictions
from bayplan.core.failure_handling import SCHEDULER_ERROR, failed_event, return_member
from bayplan.core.framework.group_observer import GroupObserver
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code
from bayplan.core.groups.cycle import GroupAttempt, PodOutcome, attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.preemption.guard import PreemptionGuard, Preemptor, Withheld
from bayplan.core.preemption.prepare import evict
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.queued_group import QueuedGroup
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.snapshot import View
from bayplan.model.structs import replace

#: Is given what came of an attempt on a group, and the view, before anything changes.
AttemptObserver = Callable[[GroupAttempt, View], None]


class GroupScheduling:
    """Decides on groups, for a scheduler."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        cache: Cache,
        queue: SchedulingQueue,
        binding: Binding,
        evictions: Evictions,
        guard: PreemptionGuard,
        *,
        leaves_out_strays: bool,
        in_full: bool,
        observer: GroupObserver,
    ) -> None:
        self._profiles = profiles
        self._cache = cache
        self._queue = queue
        self._binding = binding
        self._evictions = evictions
        self._guard = guard
        self._in_full = in_full
        self._observer = observer
        self._leaves_out_strays = leaves_out_strays
        self._decider = Decider(profiles)
        self.interrupted: QueuedGroup | None = None
        """The group whose attempt has raised before anything has changed; to be read only."""

    def decide(self, queued_group: QueuedGroup, now: int, on_attempt: AttemptObserver | None) -> Decision:
        """Try the group; it goes on to be bound, or back to the queue."""
        by_key = {queued.key: queued for queued in queued_group.members}
        for key in by_key if self._guard.withholds else ():
            self._guard.forget(key)
        self.interrupted = queued_group
        attempt = attempt_group(
            self._cache,
            self._profiles,
            queued_group.group,
            [self._member(queued) for queued in queued_group.members],
            decider=self._decider,
            leaves_out_strays=self._leaves_out_strays,
            in_full=self._in_full,
            observer=self._observer,
        )
        self.interrupted = None
        if on_attempt is not None:
            on_attempt(attempt, self._cache.view())
        evictions, withheld = self._prepare(attempt, queued_group, now)
        told = [self._tell(each, by_key[each.member.key], withheld, now) for each in attempt.outcomes]
        self._binding.ask_about_waiting(now)
        told = [self._unless_let_go(each) for each in told]
        actions = [action for each in told for action in each.actions]
        actions += self._binding.take_actions()
        actions += self._condition(attempt, withheld)
        if attempt.preemption is not None:
            actions += attempt.preemption.actions
        for eviction in evictions:
            if self._binding.is_waiting(eviction.pod):
                actions += self._binding.stop(eviction, now)
            elif self._evictions.ask(GROUP_PREFIX + queued_group.key, eviction.uid):
                actions.append(eviction)
        if withheld is not None:
            actions += withheld.events
        root = attempt.root
        self._queue.return_group(queued_group, has_placed=root.ok, has_failed=root.failed, now=now)
        return Decision(
            "",
            _outcome_of(attempt, is_preempting=bool(evictions)),
            message=attempt.root.message,
            victims=tuple(attempt.preemption.victims) if evictions and attempt.preemption is not None else (),
            actions=tuple(actions),
            group=queued_group.key,
            members=tuple([replace(each, actions=()) for each in told]),
        )

    def abandon(self, message: str, now: int) -> Decision | None:
        """The group whose attempt raised goes back; None if there is none, or something had changed by then."""
        queued_group, self.interrupted = self.interrupted, None
        if queued_group is None:
            return None
        told = [
            return_member(self._queue, queued, SCHEDULER_ERROR, message, (), "", now) for queued in queued_group.members
        ]
        self._queue.return_group(queued_group, has_placed=False, has_failed=True, now=now)
        actions = tuple([action for each in told for action in each.actions])
        members = tuple([replace(each, actions=()) for each in told])
        return Decision("", Outcome.ERROR, message=message, actions=actions, group=queued_group.key, members=members)

    def _member(self, queued: QueuedPod) -> Member:
        info = queued.info
        kept = self._queue.nominations.node_of(info)
        if kept and kept != info.nominated_node_name:
            info = replace(info, nominated_node_name=kept)
        return Member(queued.pod, info, queued.attempts, queued.timestamp)

    def _tell(self, outcome: PodOutcome, queued: QueuedPod, withheld: Withheld | None, now: int) -> Decision:
        if outcome.is_skipped:
            note = f"skip schedule deleting pod: {queued.key}"
            self._queue.skip(queued, now)
            return Decision(queued.key, Outcome.SKIPPED, message=note, actions=(failed_event(queued, note),))
        if outcome.node:
            return self._binding.take(queued, self._profiles[queued.info.scheduler_name], outcome.node, now)
        nominated = outcome.nominated if withheld is None else None
        rejectors = outcome.rejectors
        return return_member(self._queue, queued, outcome.reason, outcome.message, rejectors, nominated, now)

    def _unless_let_go(self, decision: Decision) -> Decision:
        """A member that waited at Permit only for those after it goes on with them, and need not be announced."""
        way = self._binding.find(decision.pod) if decision.outcome is Outcome.WAITING else None
        if way is None or way.waits:
            return decision
        return replace(decision, outcome=Outcome.ASSUMED, actions=())

    def _condition(self, attempt: GroupAttempt, withheld: Withheld | None) -> tuple[Action, ...]:
        """What is to be written about the group, if it is news."""
        group, after = attempt.group, attempt.condition
        if after is None or not attempt.is_news:
            return ()
        message = after.message if withheld is None else f"{after.message} {withheld.message}"
        return (
            SetGroupCondition(
                attempt.key, group.metadata.uid, after.status, after.reason, message, after.observed_generation
            ),
        )

    def _prepare(
        self, attempt: GroupAttempt, queued_group: QueuedGroup, now: int
    ) -> tuple[list[Evict], Withheld | None]:
        """The evictions that the attempt needs, or why they are withheld."""
        preemption = attempt.preemption
        if preemption is None or preemption.status.code is not Code.SUCCESS or not preemption.evicted:
            return [], None
        first, view = queued_group.members[0], self._cache.view()
        scheduler_name, rows = first.info.scheduler_name, view.pods.rows_by_key
        whom, note = "a higher priority podgroup", f"Preempted by podgroup {attempt.group.metadata.uid} on node cluster"
        evictions = [evict(view, rows[key], scheduler_name, whom, note) for key in preemption.evicted]
        owner = owner_of(first.pod.metadata)
        preemptor = Preemptor(first.key, first.info.uid, owner, queued_group.info.priority, queued_group.number)
        withheld = self._guard.ask(preemptor, self._binding.news_among(evictions, self._evictions), now)
        return ([], withheld) if withheld is not None else (evictions, None)


def _outcome_of(attempt: GroupAttempt, *, is_preempting: bool) -> Outcome:
    if attempt.root.ok:
        return Outcome.ASSUMED
    if is_preempting:
        return Outcome.NOMINATED
    return Outcome.ERROR if attempt.root.failed else Outcome.UNSCHEDULABLE
