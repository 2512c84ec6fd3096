"""Which candidate is cheapest. Criteria in order; each keeps the nodes with the best value, until one node is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.preemption.candidates import Candidates
from bayplan.core.snapshot import View

#: Makes every summand positive, so that one victim less usually counts for more than any priority.
PRIORITY_OFFSET = 1 << 31

VIOLATIONS = "fewest PDB violations"
HIGHEST_PRIORITY = "lowest highest victim priority"
PRIORITY_SUM = "smallest sum of victim priorities"
VICTIM_COUNT = "fewest victims"
START_TIME = "latest start of the highest-priority victims"

#: In order, each with whether the lowest value is best.
CRITERIA = (
    (VIOLATIONS, True),
    (HIGHEST_PRIORITY, True),
    (PRIORITY_SUM, True),
    (VICTIM_COUNT, True),
    (START_TIME, False),
)


@dataclass(frozen=True, slots=True)
class CriterionStep:
    """One criterion as it was applied."""

    criterion: str
    values: IntArray  # (in the running before,) what was compared
    before: RowArray  # positions in Candidates
    kept: RowArray  # positions in Candidates


@dataclass(frozen=True, slots=True)
class Selection:
    """The nodes that the criteria leave, and how they came to be left."""

    tied: RowArray  # positions in Candidates
    steps: tuple[CriterionStep, ...]


def select(candidates: Candidates, view: View) -> Selection:
    left = np.arange(len(candidates.rows))
    steps: list[CriterionStep] = []
    if len(left) > 1:
        for (criterion, lowest_wins), values in zip(CRITERIA, criteria_of(candidates, view), strict=True):
            compared = values[left]
            best = compared.min() if lowest_wins else compared.max()
            kept = left[compared == best]
            steps.append(CriterionStep(criterion, compared, left, kept))
            left = kept
            if len(left) == 1:
                break
    return Selection(left, tuple(steps))


def criteria_of(candidates: Candidates, view: View) -> IntArray:
    """(criteria, candidates) what is compared."""
    pods, starts = view.pods, candidates.bounds[:-1]
    counts = np.diff(candidates.bounds)
    priorities = pods.priorities[candidates.victim_rows]
    highest = priorities[starts]
    started_at = pods.started_at[candidates.victim_rows]
    # Only victims of the highest priority count for the start time; the others are made later than any. It is that of
    # the first victim, unless an extender put them into another order.
    top = np.maximum.reduceat(priorities, starts)
    relevant = np.where(priorities == np.repeat(top, counts), started_at, np.iinfo(np.int64).max)
    return np.stack(
        [
            candidates.violations,
            highest,
            np.add.reduceat(priorities + PRIORITY_OFFSET, starts),
            counts.astype(np.int64),
            np.minimum.reduceat(relevant, starts),
        ]
    )
