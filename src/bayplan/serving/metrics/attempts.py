"""Attempts and what becomes of them: results, durations, preemptions, waits.

Looks on as a `LiveObserver`. An attempt that finds a node is under way until the API server has bound the pod or the
pod has lost its node again, which a condition on the pod says; only then is its result known. Times are those of the
observer's calls, nothing here looks at a clock.
"""

from __future__ import annotations

from bayplan.core.actions import Action, Bind, Evict, SetCondition, SetGroupCondition, WriteVolumes
from bayplan.core.decision import Decision, Outcome
from bayplan.core.diagnosis import NO_NODES
from bayplan.core.events import BindAnswered, Event, EvictAnswered, ObjectRemoved, VolumesAnswered
from bayplan.core.failure_handling import SCHEDULER_ERROR
from bayplan.core.framework.verdict import Code
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct
from bayplan.serving.metrics import families
from bayplan.serving.metrics.group_families import POD_GROUP_TYPE
from bayplan.serving.metrics.group_timings import POD_TYPE, GroupTimings
from bayplan.serving.metrics.own import DECISION_DURATION, WRITE_DURATION
from bayplan.serving.metrics.plugin_timings import PRE_BIND, PluginTimings
from bayplan.serving.metrics.stopwatch import Stopwatch
from bayplan.serving.metrics.tallies import Counts, Durations, Reading, Tally

#: Upstream does not tell higher numbers of attempts apart.
ATTEMPTS_MAX = 15
_ATTEMPTS = [*((str(number),) for number in range(ATTEMPTS_MAX)), (f"{ATTEMPTS_MAX}+",)]
#: Stands in the message of every attempt that preemption had a say in and did not help.
_PREEMPTION_SAYS = "preemption: "
_BINDER = "DefaultBinder"

# To name a member of an enum takes longer than all the rest of an entry.
_ASSUMED, _WAITING, _NOMINATED = Outcome.ASSUMED, Outcome.WAITING, Outcome.NOMINATED
_SKIPPED, _ERROR = Outcome.SKIPPED, Outcome.ERROR
_OK = Code.SUCCESS.value

# What is looked at; of everything else there is much more.
_ANSWERS = frozenset({BindAnswered, EvictAnswered, VolumesAnswered, ObjectRemoved})
_CONSEQUENCES = frozenset({Bind, WriteVolumes, SetCondition})


class _UnderWay(Struct):
    """An attempt that found a node."""

    profile: str
    started_at: int
    first_at: int  # when the pod came into the active queue
    attempts: int
    was_flushed: bool
    pre_bind_ns: int | None  # by plugins, so far; None where the attempt is not timed
    permit_since: int | None = None
    writing_since: int | None = None  # volumes and claims


class _Preemption(Struct):
    preemptor: str  # its type
    started_at: int
    left: set[str]  # uids of victims
    result: str = "success"


class Attempts:
    """A `LiveObserver` of one scheduler."""

    def __init__(
        self, scheduler: Scheduler, stopwatch: Stopwatch, timings: PluginTimings, groups: GroupTimings
    ) -> None:
        self._scheduler = scheduler
        self._stopwatch = stopwatch
        self._timings = timings
        self._groups = groups
        self._only_profile = next(iter(scheduler.profiles)) if len(scheduler.profiles) == 1 else ""
        self._under_way: dict[str, _UnderWay] = {}
        self._preemptions: dict[str, _Preemption] = {}  # by uid of a victim
        self._durations = Durations(families.ATTEMPT_DURATION)
        self._results = Reading(families.SCHEDULE_ATTEMPTS, self._durations.counts)
        self._algorithm = Durations(families.ALGORITHM_DURATION)
        self._decisions = Durations(DECISION_DURATION)
        self._writes = Durations(WRITE_DURATION)
        self._sli = Durations(families.SLI_DURATION)
        self._pod_attempts = Durations(families.POD_ATTEMPTS, unit=1)
        self._after_flush = Counts(families.SCHEDULED_AFTER_FLUSH)
        self._permit_waits = Durations(families.PERMIT_WAIT)
        self._preemption_attempts = Counts(families.PREEMPTION_ATTEMPTS)
        self._victims = Durations(families.PREEMPTION_VICTIMS, unit=1)
        self._preemption_durations = Durations(families.PREEMPTION_DURATION)
        self._preemption_executions = Counts(families.PREEMPTION_EXECUTIONS)
        self._volume_errors = Counts(families.VOLUME_ERRORS)

    def tallies(self) -> tuple[Tally, ...]:
        return tuple(tally for tally in vars(self).values() if isinstance(tally, Tally))

    # ------------------------------------------------------------------ LiveObserver

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:
        if decision.pod or decision.group:
            self._decisions.add(took_ns, (str(decision.outcome),))  # an enum is slow to hash
        if decision.pod and decision.outcome is not _SKIPPED:
            self._attempted(decision, now, took_ns)
        if decision.group and decision.outcome is _NOMINATED:
            self._preempts(decision, POD_GROUP_TYPE, now)
        for member in decision.members:
            if member.outcome is not _SKIPPED:
                self._ended(member, now, took_ns, None)
        if self._under_way:
            for action in decision.actions:
                if type(action) in _CONSEQUENCES:
                    self._look_at_action(action, now)

    def observed(self, event: Event, now: int) -> None:
        if type(event) not in _ANSWERS:  # most are not
            return
        # For each pod: patterns would take several times as long.
        if isinstance(event, BindAnswered):
            self._bind_answered(event.pod, event.error, now)
        elif isinstance(event, EvictAnswered):
            self._evict_answered(event.uid, event.error, now)
        elif isinstance(event, ObjectRemoved):
            if isinstance(event.old, Pod):
                self._under_way.pop(object_key(event.old), None)
        elif isinstance(event, VolumesAnswered) and event.error and not event.lost:
            self._volume_errors.add(("bind",))

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        self._writes.add(took_ns, (type(action).__name__, "failed" if error else "done"))
        under_way = self._under_way.get(action.pod) if isinstance(action, Bind) else None
        if under_way is not None and under_way.pre_bind_ns is not None:
            status = (Code.ERROR if error else Code.SUCCESS).value
            self._timings.plugins.add(took_ns, (_BINDER, "Bind", status))
            self._timings.points.add(took_ns, ("Bind", status, under_way.profile))

    # ------------------------------------------------------------------ attempts

    def _attempted(self, decision: Decision, now: int, took_ns: int) -> None:
        outcome, profile = decision.outcome, self._profile_of(decision.pod)
        self._algorithm.add(took_ns)
        steps = self._stopwatch.finish()
        is_timed = steps is not None and decision.message != NO_NODES  # then it ends before any extension point
        pre_bind_ns = self._timings.attempted(steps or (), outcome, profile) if is_timed else None
        self._ended(decision, now, took_ns, pre_bind_ns)
        if outcome is _NOMINATED or _PREEMPTION_SAYS in decision.message:
            self._preemption_attempts.add()
        if outcome is _NOMINATED:
            self._victims.add(len(decision.victims))
            self._preempts(decision, POD_TYPE, now)

    def _ended(self, decision: Decision, now: int, took_ns: int, pre_bind_ns: int | None) -> None:
        """An attempt on a pod, alone or with its group; one that found a node goes on."""
        outcome, profile = decision.outcome, self._profile_of(decision.pod)
        if outcome in (_ASSUMED, _WAITING):
            self._found_a_node(decision, now, profile, pre_bind_ns)
        else:
            self._durations.add(took_ns, ("error" if outcome is _ERROR else "unschedulable", profile))

    def _found_a_node(self, decision: Decision, now: int, profile: str, pre_bind_ns: int | None) -> None:
        way = self._scheduler.on_the_way(decision.pod)
        if way is None:
            return
        queued = way.queued
        first_at = now if queued.initial_attempt_at is None else queued.initial_attempt_at
        under_way = _UnderWay(profile, now, first_at, queued.attempts, queued.was_flushed, pre_bind_ns)
        if decision.outcome is _WAITING:
            under_way.permit_since = now
        self._under_way[decision.pod] = under_way

    def _profile_of(self, key: str) -> str:
        """Of a pod that was just decided on: it is on its way or back in the queue, unless it is gone."""
        if self._only_profile:
            return self._only_profile
        way = self._scheduler.on_the_way(key)
        queued = way.queued if way is not None else self._scheduler.queue.find(key)
        return queued.info.scheduler_name if queued is not None else next(iter(self._scheduler.profiles))

    # ------------------------------------------------------------------ what follows from a decision

    def _look_at_action(self, action: Action, now: int) -> None:
        under_way = None if isinstance(action, SetGroupCondition) else self._under_way.get(action.pod)
        if under_way is None:
            return
        if isinstance(action, SetCondition):
            self._lost_its_node(action, now)
        else:
            self._goes_on(under_way, isinstance(action, WriteVolumes), now)

    def _goes_on(self, under_way: _UnderWay, to_write_volumes: bool, now: int) -> None:
        if under_way.permit_since is not None:
            self._permit_waits.add(now - under_way.permit_since, (_OK,))
            under_way.permit_since = None
        if to_write_volumes:
            under_way.writing_since = now
            return
        if under_way.pre_bind_ns is not None:
            waited = 0 if under_way.writing_since is None else now - under_way.writing_since
            labels = (PRE_BIND, _OK, under_way.profile)
            self._timings.points.add(waited + under_way.pre_bind_ns, labels)
        under_way.writing_since = None

    def _lost_its_node(self, condition: SetCondition, now: int) -> None:
        under_way = self._under_way.pop(condition.pod)
        is_error = condition.reason == SCHEDULER_ERROR
        result, code = ("error", Code.ERROR) if is_error else ("unschedulable", Code.UNSCHEDULABLE)
        self._durations.add(now - under_way.started_at, (result, under_way.profile))
        if under_way.permit_since is not None:
            self._permit_waits.add(now - under_way.permit_since, (code.value,))
        elif under_way.writing_since is not None:
            self._timings.points.add(now - under_way.writing_since, (PRE_BIND, code.value, under_way.profile))
        self._timings.points.add(0, ("Unreserve", _OK, under_way.profile))

    def _bind_answered(self, pod: str, error: str, now: int) -> None:
        if error and not self._scheduler.cache.stands_on_a_node(pod):
            return  # the condition that follows says so
        if error and self._scheduler.on_the_way(pod) is not None:
            return  # the answer was lost; it is asked again
        under_way = self._under_way.pop(pod, None)
        if under_way is None:
            return
        self._durations.add(now - under_way.started_at, ("scheduled", under_way.profile))
        self._pod_attempts.add(under_way.attempts)
        self._sli.add(now - under_way.first_at, _ATTEMPTS[min(under_way.attempts, ATTEMPTS_MAX)])
        if under_way.was_flushed:
            self._after_flush.add()
        if under_way.pre_bind_ns is not None:
            self._timings.points.add(0, ("PostBind", _OK, under_way.profile))

    # ------------------------------------------------------------------ preemption

    def _preempts(self, decision: Decision, preemptor: str, now: int) -> None:
        uids = {action.uid for action in decision.actions if isinstance(action, Evict)}
        preemption = _Preemption(preemptor, now, uids)
        for uid in uids:
            self._preemptions[uid] = preemption
        if not uids:  # others have asked for all of them to go
            self._preempted(preemption, now)

    def _evict_answered(self, uid: str, error: str, now: int) -> None:
        preemption = self._preemptions.pop(uid, None)
        if preemption is None:
            return
        preemption.left.discard(uid)
        if error:
            preemption.result = "error"
        if not preemption.left:
            self._preempted(preemption, now)

    def _preempted(self, preemption: _Preemption, now: int) -> None:
        took_ns = now - preemption.started_at
        self._groups.executed(preemption.preemptor, preemption.result, took_ns)
        self._preemption_durations.add(took_ns, (preemption.result,))
        self._preemption_executions.add((preemption.result,))
