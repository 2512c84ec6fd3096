"""How long placements of pod groups took to try, and preemptions to find and to carry out, for pods and for groups.

Told by the core when something begins and ends, and by `Attempts` how long evictions took. Where placements are only
counted, all together, each is taken to have cost the same. Whatever ends in an error before it is known whether the
group fits is no evaluation of a placement, as upstream has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bayplan.core.framework.group_observer import GroupObserver
from bayplan.core.framework.verdict import Code
from bayplan.serving.metrics import group_families as families
from bayplan.serving.metrics.tallies import Counts, Durations, Reading, Tally

#: What labels call a pod that belongs to no group.
POD_TYPE: Final = "pod"


class GroupTimings(GroupObserver):
    """`clock` gives nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._preemption_began = 0
        self._tried_until = 0  # placements
        self._generated = Counts(families.GENERATED_PLACEMENTS)
        self._placements = Durations(families.PLACEMENT_DURATION)
        self._evaluated = Reading(families.PLACEMENT_EVALUATIONS, self._placements.counts)
        self._evaluations = Durations(families.PREEMPTION_EVALUATION_DURATION)
        self._executions = Durations(families.PREEMPTION_EXECUTION_DURATION)

    def tallies(self) -> tuple[Tally, ...]:
        return tuple(tally for tally in vars(self).values() if isinstance(tally, Tally))

    def placements_generated(self, profile: str, count: int) -> None:
        self._generated.add((profile,), count)
        self._tried_until = self._clock()

    def placements_tried(self, profile: str, feasible: Sequence[bool]) -> None:
        began, self._tried_until = self._tried_until, self._clock()
        took_ns = (self._tried_until - began) // len(feasible)
        for fits in feasible:
            self._placements.add(took_ns, ("feasible" if fits else "infeasible", profile))

    def victims_sought(self) -> None:
        self._preemption_began = self._clock()

    def victims_found(self, code: Code) -> None:
        self._evaluations.add(self._clock() - self._preemption_began, (families.POD_GROUP_TYPE, code.value))

    def evaluated_for_pod(self, code: Code, took_ns: int) -> None:
        """Preemption was asked to make room for a single pod."""
        self._evaluations.add(took_ns, (POD_TYPE, code.value))

    def executed(self, preemptor: str, result: str, took_ns: int) -> None:
        """All victims have been answered for."""
        self._executions.add(took_ns, (preemptor, result))
