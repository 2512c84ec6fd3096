"""What goes wrong in a simulated world, drawn from the seed.

Probabilities are for each action or delivery. All faults end at `until`, so that a test can see that what should heal
heals.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random

CONFLICT = "Operation cannot be fulfilled: the object has been modified"
TIMEOUT = "request timed out"


class Spoiled(Enum):
    """How an action goes wrong."""

    REFUSED = "refused"  # not done, and answered so
    LOST_REQUEST = "lost request"  # not done, and all that is known is a timeout
    LOST_ANSWER = "lost answer"  # done, and all that is known is a timeout


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often what goes wrong."""

    refused: float = 0.0
    lost_request: float = 0.0
    lost_answer: float = 0.0
    watch_gap: float = 0.0  # the watch breaks and the scheduler lists anew
    slow_watch: float = 0.0  # a delivery takes a hundred times as long
    until: int = 1 << 62  # nanoseconds; nothing goes wrong from then on

    def spoil(self, draws: Random, now: int) -> Spoiled | None:
        """Whether and how the next action goes wrong."""
        if now >= self.until:
            return None
        drawn = draws.random()
        if drawn >= self.refused + self.lost_request + self.lost_answer:
            return None
        for share, outcome in (
            (self.refused, Spoiled.REFUSED),
            (self.lost_request, Spoiled.LOST_REQUEST),
            (self.lost_answer, Spoiled.LOST_ANSWER),
        ):
            if drawn < share:
                return outcome
            drawn -= share
        return None

    def happens(self, share: float, draws: Random, now: int) -> bool:
        return now < self.until and share > 0 and draws.random() < share


NO_FAULTS = FaultRates()
