"""What upstream has no name for: `bayplan_*`. Decisions in microseconds, and how long writes take.

Other parts add theirs with `Metrics.own_counter` and `Metrics.own_gauge`.
"""

from __future__ import annotations

from bayplan.core.actions import Action
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Event
from bayplan.serving.metrics.tallies import Durations, Family, Labels, Tally

PREFIX = "bayplan_"

DECISION_DURATION = Family(
    "bayplan_decision_duration_seconds",
    "histogram",
    "Time to decide on a pod, by outcome, in finer buckets than upstream's.",
    ("outcome",),
    (1e-05, 2e-05, 5e-05, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.1, 1.0),
)
WRITE_DURATION = Family(
    "bayplan_write_duration_seconds",
    "histogram",
    "From a decision to the answer to a write, with the wait for its turn.",
    ("kind", "outcome"),
    (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
)


def own_family(name: str, kind: str, help_text: str, labels: Labels = ()) -> Family:
    if not name.startswith(PREFIX):
        raise ValueError(f"{name}: metrics of bayplan's own start with {PREFIX}")
    return Family(name, kind, help_text, labels)


class OwnTallies:
    """A `LiveObserver`."""

    def __init__(self) -> None:
        self._decisions = Durations(DECISION_DURATION)
        self._write_durations = Durations(WRITE_DURATION)

    def tallies(self) -> tuple[Tally, ...]:
        return self._decisions, self._write_durations

    def observed(self, event: Event, now: int) -> None:
        """Nothing to count."""

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:  # noqa: ARG002
        if decision.outcome is not Outcome.NO_POD:
            self._decisions.add(took_ns, decision.outcome.value)

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        self._write_durations.add(took_ns, type(action).__name__, "failed" if error else "done")
