"""What a scheduler may do to running pods: whom it may evict, how many in a minute, and when it stops repeating itself.

Plain settings. kube-scheduler knows none of them, so everything is off unless somebody says otherwise; `LIVE` is what
a scheduler in somebody's cluster starts from. `columns.pods` marks whose pods are never victims, and `guard` limits
what is done over time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ForeignVictims(StrEnum):
    """Whether pods of other schedulers may be evicted."""

    ALLOW = "allow"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class PreemptionSafety:
    """Limits of preemption; 0 stands for none."""

    foreign_victims: ForeignVictims = ForeignVictims.ALLOW
    evictions_per_minute: int = 0
    evictions_per_minute_per_namespace: int = 0
    preemption_loop_rounds: int = 0  # of evicting and recreating that are no loop yet

    @property
    def limits_anything(self) -> bool:
        """Whether evictions may have to wait."""
        return bool(self.evictions_per_minute or self.evictions_per_minute_per_namespace or self.preemption_loop_rounds)

    def own_schedulers(self, names: Iterable[str]) -> frozenset[str] | None:
        """Of a scheduler that goes by these names: whose pods it may evict; None: everybody's."""
        return frozenset(names) if self.foreign_victims is ForeignVictims.NEVER else None


#: As kube-scheduler.
UPSTREAM = PreemptionSafety()
#: Beside another scheduler, in a cluster that matters.
LIVE = PreemptionSafety(foreign_victims=ForeignVictims.NEVER, preemption_loop_rounds=5)
