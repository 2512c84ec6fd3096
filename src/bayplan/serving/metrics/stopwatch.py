"""A stopwatch for what plugins take.

It adds up what each plugin took at each extension point in one attempt; whoever starts attempts takes the sums with
`finish`. What happens outside of attempts is reported at once. Under load only some attempts and events are timed: a
stopwatch costs more than the shortest calls it measures. How it gets at the plugins: see `timed_plugins`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from bayplan.core.events import Event
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.model.time_units import SECOND

#: So many attempts, and as many events, are timed in each second of the caller's clock.
TIMED_PER_SECOND = 20

PRE_ENQUEUE = "PreEnqueue"
POST_FILTER = "PostFilter"

#: Of several calls in one attempt the one with the highest rank gives the status: a filter that passes some nodes has
#: succeeded, whatever it says of others.
_RANKS = {
    Code.ERROR: 5,
    Code.SUCCESS: 4,
    Code.WAIT: 3,
    Code.PENDING: 3,
    Code.UNSCHEDULABLE: 2,
    Code.UNRESOLVABLE: 1,
    Code.SKIP: 0,
}


# To name a member of an enum takes longer than to measure.
_ERROR, _SKIP = Code.ERROR, Code.SKIP


class TimedStep:
    """One plugin ("": all of them together) at one extension point of one profile."""

    __slots__ = ("alone_ns", "calls", "plugin", "point", "profile", "status", "took_ns")

    def __init__(self, profile: str, plugin: str, point: str) -> None:
        self.profile = profile
        self.plugin = plugin
        self.point = point
        self.calls = 0  # in all timed attempts, without those in which the plugin skipped the pod
        # Of the attempt that is timed now:
        self.took_ns = 0
        self.alone_ns = 0  # without calls from within another extension point
        self.status: Code | None = None


class TimingRecorder(Protocol):
    """Is told what happens outside attempts, as soon as it is over."""

    def called(self, step: TimedStep, status: Code, took_ns: int) -> None:
        """A plugin was asked outside of an attempt."""

    def hinted(self, plugin: str, cluster_event: str, *, helps: bool, took_ns: int) -> None:
        """A plugin said whether the cluster event may help a pod that it rejected."""

    def handled(self, event: Event, took_ns: int) -> None:
        """The scheduler has taken in an event."""

    def looked_up(self, profile: str, *, reused: bool, reusable: bool, took_ns: int) -> None:
        """What is known of pods of the same shape was brought up to date (`reused`) or recomputed."""


#: The status that an answer to these arguments stands for.
StatusOf = Callable[[Any, tuple[Any, ...]], Code]


class Stopwatch:
    """Times plugins; `clock` gives nanoseconds."""

    __slots__ = (
        "_attempts",
        "_events",
        "_inside_post_filter",
        "_touched",
        "clock",
        "observing",
        "recorder",
        "running",
        "steps",
    )

    def __init__(self, clock: Callable[[], int], recorder: TimingRecorder) -> None:
        self.clock = clock
        self.recorder = recorder
        self.running = False  # in an attempt that is timed
        self.observing = False  # in an event that is timed
        self.steps: dict[tuple[str, str, str], TimedStep] = {}
        self._touched: list[TimedStep] = []
        self._inside_post_filter = False
        self._attempts = _Quota()
        self._events = _Quota()

    def step(self, profile: str, plugin: str, point: str) -> TimedStep:
        key = (profile, plugin, point)
        return self.steps.get(key) or self.steps.setdefault(key, TimedStep(*key))

    def start(self, now: int) -> None:
        """An attempt begins; it is timed unless many were in this second."""
        self.running = self._attempts.allows(now)
        if self.running:
            self._reset()

    def finish(self) -> list[TimedStep] | None:
        """The steps of the attempt, good until the next one starts; None if it was not timed."""
        if not self.running:
            return None
        self.running = False
        return self._touched

    def cancel(self) -> None:
        """There was no attempt after all."""
        if self.running:
            self.running = False
            self._attempts.give_back()

    def start_event(self, now: int) -> bool:
        """An event is observed; whether it is timed."""
        self.observing = self._events.allows(now)
        return self.observing

    def finish_event(self, event: Event, started: int) -> None:
        self.observing = False
        self.recorder.handled(event, self.clock() - started)

    def measure(self, step: TimedStep, status_of: StatusOf, ask: Callable[..., Any], *arguments: Any) -> Any:
        started = self.clock()
        try:
            answer = ask(*arguments)
        except CycleError:
            self._note(step, self.clock() - started, _ERROR)
            raise
        self._note(step, self.clock() - started, status_of(answer, arguments))
        return answer

    def measure_post_filter(self, step: TimedStep, status_of: StatusOf, ask: Callable[[], Any]) -> Any:
        """Filters that it runs count as its own time, and as that of the plugins, but not as that of Filter."""
        self._inside_post_filter = True
        try:
            return self.measure(step, status_of, ask)
        finally:
            self._inside_post_filter = False

    def measure_at_once(self, step: TimedStep, status_of: StatusOf, ask: Callable[..., Any], *arguments: Any) -> Any:
        """For a call outside of attempts."""
        started = self.clock()
        answer = ask(*arguments)
        self.recorder.called(step, status_of(answer, arguments), self.clock() - started)
        return answer

    def _note(self, step: TimedStep, took_ns: int, status: Code) -> None:
        if step.status is None:
            self._touched.append(step)
            step.status = status
        elif status is not step.status and _RANKS[status] > _RANKS[step.status]:
            step.status = status
        step.calls += status is not _SKIP
        step.took_ns += took_ns
        if not self._inside_post_filter or step.point == POST_FILTER:
            step.alone_ns += took_ns

    def _reset(self) -> None:
        for step in self._touched:
            step.took_ns = step.alone_ns = 0
            step.status = None
        self._touched = []


class _Quota:
    """So many in each second."""

    __slots__ = ("_left", "_next_second")

    def __init__(self) -> None:
        self._next_second = 0
        self._left = 0

    def allows(self, now: int) -> bool:
        if now >= self._next_second:
            self._next_second, self._left = (now // SECOND + 1) * SECOND, TIMED_PER_SECOND
        if not self._left:
            return False
        self._left -= 1
        return True

    def give_back(self) -> None:
        self._left += 1
