"""A scheduler whose attempts and events are timed, for the world that drives it.

Takes a scheduler and the stopwatch that its plugins were given, and starts it for some attempts and events. The
scheduler does the same with it as without: only what a timed attempt asks of plugins is noted.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Event
from bayplan.serving.metrics.stopwatch import Stopwatch
from bayplan.worlds.driving import DecidingScheduler


class MeasuredScheduler:
    """What a world needs of a scheduler. Whoever is told of a decision takes the times of its attempt."""

    def __init__(self, scheduler: DecidingScheduler, stopwatch: Stopwatch) -> None:
        self._scheduler = scheduler
        self._stopwatch = stopwatch

    def observe(self, event: Event, now: int) -> None:
        stopwatch = self._stopwatch
        if not stopwatch.start_event(now):
            self._scheduler.observe(event, now)
            return
        started = stopwatch.clock()
        self._scheduler.observe(event, now)
        stopwatch.finish_event(event, started)

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision | None:
        self._stopwatch.start(now)
        decision = self._scheduler.decide(now, clock)
        if decision is None or not decision.pod or decision.outcome is Outcome.SKIPPED:
            self._stopwatch.cancel()
        return decision

    def due_at(self, now: int) -> int | None:
        return self._scheduler.due_at(now)
