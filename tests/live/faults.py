"""What goes wrong between a client and an API server, drawn from a seed.

A plan says for each request whether and how it goes wrong. Nothing does from the plan's end on, so that a test can see
that what should heal heals. The seed decides what is drawn, not which request comes first: several run at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Fault(Enum):
    """How an exchange goes wrong."""

    # Of any request.
    CUT_BEFORE = "cut before the server was asked"
    REFUSED = "refused by the proxy"
    STALLED = "nothing said, and the server not asked"
    DELAYED = "late"
    # Of requests with one answer.
    CUT_AFTER = "cut after the server was asked"
    CUT_WITHIN = "cut within the answer"
    STALLED_AFTER = "nothing said, though the server was asked"
    HALF_CLOSED = "half-closed instead of an answer"
    REPEATED = "asked twice"
    # Of watches, at a drawn moment.
    WATCH_CUT = "watch cut"
    WATCH_CUT_WITHIN = "watch cut within a line"
    WATCH_ENDED = "watch ended early"
    WATCH_GONE = "watch ended with 410"
    WATCH_STALLED = "watch silent, then cut"
    WATCH_HALF_CLOSED = "watch half-closed"


_OF_WATCHES = frozenset(fault for fault in Fault if fault.name.startswith("WATCH_"))
_BEFORE = frozenset({Fault.CUT_BEFORE, Fault.REFUSED, Fault.STALLED})
_OF_READS = _BEFORE | {Fault.CUT_WITHIN, Fault.DELAYED, Fault.HALF_CLOSED}
_OF_WRITES = frozenset(Fault) - _OF_WATCHES
REFUSALS: Mapping[str, tuple[int, ...]] = {"GET": (410, 429, 500, 503), "": (409, 429, 500, 503)}
SHARES = (0.0, 0.0, 0.02, 0.05, 0.15)


@dataclass
class FaultPlan:
    """How often what goes wrong, and until when (seconds of the system clock)."""

    shares: Mapping[Fault, float] = field(default_factory=dict)
    until: float = 0.0
    draws: Random = field(default_factory=lambda: Random(0))
    delay_max_s: float = 0.3
    stall_max_s: float = 3.0
    watch_max_s: float = 3.0  # the moment at which a watch goes wrong

    def draw(self, method: str, is_watch: bool) -> Fault | None:
        if time.time() >= self.until:
            return None
        possible = _BEFORE | _OF_WATCHES if is_watch else _OF_READS if method == "GET" else _OF_WRITES
        drawn = self.draws.random()
        for fault, share in self.shares.items():
            if fault not in possible:
                continue
            if drawn < share:
                return fault
            drawn -= share
        return None

    def refusal(self, method: str) -> int:
        return self.draws.choice(REFUSALS.get(method, REFUSALS[""]))

    def moment(self, within_s: float) -> float:
        """So many seconds from now, or fewer if the plan ends before."""
        return max(0.0, min(self.draws.uniform(0.0, within_s), self.until - time.time()))


def plan_of(seed: int, lasts_s: float) -> FaultPlan:
    """Each seed has its own mixture: of most faults a few, of some many, of some none."""
    draws = Random(seed)
    shares = {fault: draws.choice(SHARES) for fault in Fault}
    return FaultPlan(shares, time.time() + lasts_s, draws)
