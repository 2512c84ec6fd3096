"""How metrics, journals, logs, debug pages and the shadow look on while the live world runs.

Takes what the loop reports and passes it on to each observer in turn. Observers change nothing and wait for nothing:
they are called between two decisions, on the event loop, and must return at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bayplan.core.actions import Action
from bayplan.core.decision import Decision
from bayplan.core.events import Event
from bayplan.worlds.bugs import OBSERVER, BugReporter, not_survived


class LiveObserver(Protocol):
    """Looks on. Times are nanoseconds of the system clock; durations are nanoseconds."""

    def observed(self, event: Event, now: int) -> None:
        """An object's change or an answer, after the scheduler has seen it."""

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:
        """A decision, before its actions are sent."""

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        """An action was answered, or given up; `error` is empty when it was done."""


class Observers:
    """Several observers as one; a bug of one is reported and the others do not notice."""

    def __init__(self, observers: Sequence[LiveObserver] = (), on_bug: BugReporter = not_survived) -> None:
        self._observers = list(observers)
        self._on_bug = on_bug

    def add(self, observer: LiveObserver) -> None:
        self._observers.append(observer)

    def observed(self, event: Event, now: int) -> None:
        for observer in self._observers:
            try:
                observer.observed(event, now)
            except Exception as bug:
                self._on_bug(OBSERVER, type(observer).__name__, bug)

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:
        for observer in self._observers:
            try:
                observer.decided(decision, now, took_ns)
            except Exception as bug:
                self._on_bug(OBSERVER, type(observer).__name__, bug)

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        for observer in self._observers:
            try:
                observer.wrote(action, took_ns, error)
            except Exception as bug:
                self._on_bug(OBSERVER, type(observer).__name__, bug)
