"""Attempts and what becomes of them: results, durations, preemptions, waits.

Looks on as a `LiveObserver`. An attempt that finds a node is under way until the API server has bound the pod or the
pod has lost its node again, which a condition on the pod says; only then is its result known. Times are those of the
observer's calls, nothing here looks at a clock.
"""

from __future__ import annotations

from bayplan.core.actions import Action, Bind, Evict, SetCondition, WriteVolumes
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, Event, EvictAnswered, ObjectRemoved, VolumesAnswered
from bayplan.core.failure_handling import SCHEDULER_ERROR
from bayplan.core.framework.timing import Stopwatch
from bayplan.core.framework.verdict import Code
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct
from bayplan.serving.metrics import families
from bayplan.serving.metrics.plugin_timings import PRE_BIND, PluginTimings
from bayplan.serving.metrics.tallies import Counts, Durations, Tally

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
SUCCESS = "success"
#: Upstream does not tell higher numbers of attempts apart.
ATTEMPTS_MAX = 15
#: Stands in the message of every attempt that preemption had a say in and did not help.
_PREEMPTION_SAYS = "preemption: "
_BINDER = "DefaultBinder"


class _UnderWay(Struct):
    """An attempt that found a node."""

    profile: str
    started_at: int
    first_at: int  # when the pod came into the active queue
    attempts: int
    was_flushed: bool
    pre_bind_ns: int  # by plugins, so far
    permit_since: int | None = None
    writing_since: int | None = None  # volumes and claims


class _Preemption(Struct):
    started_at: int
    left: set[str]  # uids of victims
    result: str = SUCCESS


class Attempts:
    """A `LiveObserver` of one scheduler."""

    def __init__(self, scheduler: Scheduler, stopwatch: Stopwatch, timings: PluginTimings) -> None:
        self._scheduler = scheduler
        self._stopwatch = stopwatch
        self._timings = timings
        self._under_way: dict[str, _UnderWay] = {}
        self._preemptions: dict[str, _Preemption] = {}  # by uid of a victim
        self._results = Counts(families.SCHEDULE_ATTEMPTS)
        self._durations = Durations(families.ATTEMPT_DURATION)
        self._algorithm = Durations(families.ALGORITHM_DURATION)
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
        if decision.pod and decision.outcome is not Outcome.SKIPPED:
            self._attempted(decision, now, took_ns)
        for action in decision.actions:
            self._look_at_action(action, now)

    def observed(self, event: Event, now: int) -> None:
        match event:
            case BindAnswered(pod, _, error):
                self._bind_answered(pod, error, now)
            case EvictAnswered(_, uid, error):
                self._evict_answered(uid, error, now)
            case VolumesAnswered(error=error, lost=False) if error:
                self._volume_errors.add("bind")
            case ObjectRemoved(Pod() as pod):
                self._under_way.pop(object_key(pod), None)

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        if isinstance(action, Bind):
            status = (Code.ERROR if error else Code.SUCCESS).value
            self._timings.plugins.add(took_ns, _BINDER, "Bind", status)
            self._timings.points.add(took_ns, "Bind", status, self._profile_of(action.pod))

    # ------------------------------------------------------------------ attempts

    def _attempted(self, decision: Decision, now: int, took_ns: int) -> None:
        outcome, profile = decision.outcome, self._profile_of(decision.pod)
        self._algorithm.add(took_ns)
        steps = self._stopwatch.finish()
        pre_bind_ns = self._timings.attempted(steps, outcome, profile) if steps is not None else 0
        if outcome in (Outcome.ASSUMED, Outcome.WAITING):
            self._found_a_node(decision, now, profile, pre_bind_ns)
        else:
            self._result(ERROR if outcome is Outcome.ERROR else UNSCHEDULABLE, profile, took_ns)
        if outcome is Outcome.NOMINATED or _PREEMPTION_SAYS in decision.message:
            self._preemption_attempts.add()
        if outcome is Outcome.NOMINATED:
            self._preempts(decision, now)

    def _found_a_node(self, decision: Decision, now: int, profile: str, pre_bind_ns: int) -> None:
        way = self._scheduler.on_the_way(decision.pod)
        if way is None:
            return
        queued = way.queued
        first_at = now if queued.initial_attempt_at is None else queued.initial_attempt_at
        under_way = _UnderWay(profile, now, first_at, queued.attempts, queued.was_flushed, pre_bind_ns)
        if decision.outcome is Outcome.WAITING:
            under_way.permit_since = now
        self._under_way[decision.pod] = under_way

    def _result(self, result: str, profile: str, took_ns: int) -> None:
        self._results.add(result, profile)
        self._durations.add(took_ns, result, profile)

    def _profile_of(self, key: str) -> str:
        """Of a pod that was just decided on: it is on its way or back in the queue, unless it is gone."""
        profiles = self._scheduler.profiles
        if len(profiles) > 1:
            way = self._scheduler.on_the_way(key)
            queued = way.queued if way is not None else self._scheduler.queue.find(key)
            if queued is not None:
                return queued.info.scheduler_name
        return next(iter(profiles))

    # ------------------------------------------------------------------ what follows from a decision

    def _look_at_action(self, action: Action, now: int) -> None:
        if isinstance(action, Bind | WriteVolumes):
            under_way = self._under_way.get(action.pod)
            if under_way is not None:
                self._goes_on(under_way, action, now)
        elif isinstance(action, SetCondition) and action.pod in self._under_way:
            self._lost_its_node(action, now)

    def _goes_on(self, under_way: _UnderWay, action: Bind | WriteVolumes, now: int) -> None:
        if under_way.permit_since is not None:
            self._permit_waits.add(now - under_way.permit_since, Code.SUCCESS.value)
            under_way.permit_since = None
        if isinstance(action, WriteVolumes):
            under_way.writing_since = now
            return
        waited = 0 if under_way.writing_since is None else now - under_way.writing_since
        self._timings.points.add(waited + under_way.pre_bind_ns, PRE_BIND, Code.SUCCESS.value, under_way.profile)
        under_way.writing_since = None

    def _lost_its_node(self, condition: SetCondition, now: int) -> None:
        under_way = self._under_way.pop(condition.pod)
        result, code = (
            (ERROR, Code.ERROR) if condition.reason == SCHEDULER_ERROR else (UNSCHEDULABLE, Code.UNSCHEDULABLE)
        )
        self._result(result, under_way.profile, now - under_way.started_at)
        if under_way.permit_since is not None:
            self._permit_waits.add(now - under_way.permit_since, code.value)
        elif under_way.writing_since is not None:
            self._timings.points.add(now - under_way.writing_since, PRE_BIND, code.value, under_way.profile)
        self._timings.points.add(0, "Unreserve", Code.SUCCESS.value, under_way.profile)

    def _bind_answered(self, pod: str, error: str, now: int) -> None:
        if error and not self._scheduler.cache.stands_on_a_node(pod):
            return  # the condition that follows says so
        if error and self._scheduler.on_the_way(pod) is not None:
            return  # the answer was lost; it is asked again
        under_way = self._under_way.pop(pod, None)
        if under_way is None:
            return
        self._result(SCHEDULED, under_way.profile, now - under_way.started_at)
        attempts = under_way.attempts
        self._pod_attempts.add(attempts)
        self._sli.add(now - under_way.first_at, str(attempts) if attempts < ATTEMPTS_MAX else f"{ATTEMPTS_MAX}+")
        if under_way.was_flushed:
            self._after_flush.add()
        self._timings.points.add(0, "PostBind", Code.SUCCESS.value, under_way.profile)

    # ------------------------------------------------------------------ preemption

    def _preempts(self, decision: Decision, now: int) -> None:
        self._victims.add(len(decision.victims))
        uids = {action.uid for action in decision.actions if isinstance(action, Evict)}
        preemption = _Preemption(now, uids)
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
            preemption.result = ERROR
        if not preemption.left:
            self._preempted(preemption, now)

    def _preempted(self, preemption: _Preemption, now: int) -> None:
        self._preemption_durations.add(now - preemption.started_at, preemption.result)
        self._preemption_executions.add(preemption.result)
