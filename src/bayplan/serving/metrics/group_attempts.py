"""Attempts on pod groups: results, durations and preemptions.

`tried` is given to the scheduler as what is told of each attempt, while the cache is still as it was; as a
`LiveObserver` it learns what became of it and how long it took.
"""

from __future__ import annotations

from bayplan.core.actions import Action
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Event
from bayplan.core.groups.cycle import GroupAttempt
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.core.snapshot import View
from bayplan.serving.metrics import group_families as families
from bayplan.serving.metrics.tallies import Counts, Durations, Reading, Tally

_RESULTS = {
    Outcome.ASSUMED: "scheduled",
    Outcome.NOMINATED: "waiting_on_preemption",
    Outcome.UNSCHEDULABLE: "unschedulable",
    Outcome.ERROR: "error",
}


class GroupAttempts:
    """A `LiveObserver` of one scheduler."""

    def __init__(self) -> None:
        self._profile = ""  # of the last attempt
        self._durations = Durations(families.GROUP_ATTEMPT_DURATION)
        self._results = Reading(families.GROUP_ATTEMPTS, self._durations.counts)
        self._algorithm = Durations(families.GROUP_ALGORITHM_DURATION)
        self._preemptions = Counts(families.GROUP_PREEMPTIONS)
        self._victims = Durations(families.GROUP_VICTIMS, unit=1)
        self._disruptions = Durations(families.GROUP_DISRUPTIONS, unit=1)
        self._violations = Counts(families.BUDGET_VIOLATIONS)

    def tallies(self) -> tuple[Tally, ...]:
        return tuple(tally for tally in vars(self).values() if isinstance(tally, Tally))

    def tried(self, attempt: GroupAttempt, view: View) -> None:  # noqa: ARG002
        """What an attempt came to."""
        self._profile = attempt.outcomes[0].member.info.scheduler_name
        preemption = attempt.preemption
        if preemption is not None:
            self._preemptions.add((preemption.status.code.value,))
            if preemption.ran:
                self._victims.add(len(preemption.victims))
                self._disrupted(preemption)

    def _disrupted(self, preemption: GroupPreemption) -> None:
        units = sum(each.unit.is_group and not each.may_stay for each in preemption.units)
        if units:
            self._disruptions.add(units, (families.POD_GROUP_TYPE,))
        if preemption.violations:
            self._violations.add((families.POD_GROUP_TYPE,), preemption.violations)

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:  # noqa: ARG002
        if decision.group:
            self._durations.add(took_ns, (_RESULTS[decision.outcome], self._profile))
            self._algorithm.add(took_ns)

    def observed(self, event: Event, now: int) -> None:
        """What happens between attempts does not matter."""

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        """As for pods."""
