"""The last word on a preemption: not when the budget of evictions is used up, nor when it goes round in circles.

Takes a preemptor with those it would evict, and the time; gives leave, or says why it is withheld. A preemptor that has
to wait is named by `release` when it is worth another try: the caller brings it back to the queue. Nothing is looked
for here: which pods would have to go is settled, and no other node is tried instead.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from bayplan.core.actions import Emit
from bayplan.core.columns.pods import owner_of
from bayplan.core.preemption.eviction_budget import EvictionBudget, Turn
from bayplan.core.preemption.loop_breaker import EvictedOwner, LoopBreaker, Pair
from bayplan.core.preemption.safety import PreemptionSafety
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND

#: Why a preemption is withheld, as metrics name it.
BUDGET, NAMESPACE_BUDGET, LOOP = "evictions-per-minute", "evictions-per-minute-per-namespace", "preemption-loop"
#: The key of the budget for all namespaces together; no namespace has that name.
EVERYWHERE = ""


class Preemptor(NamedTuple):
    """A pod that needs others to go."""

    key: str  # namespace/name
    uid: str
    owner: str
    priority: int
    number: int  # order of arrival


class Withheld(NamedTuple):
    """Why a preemption does not happen now."""

    message: str
    events: tuple[Emit, ...] = ()  # if it is news


@dataclass(slots=True)
class GuardFigures:
    """What the guard counts for metrics: preemptions withheld by reason, evictions allowed, loops found."""

    withheld: Counter[str] = field(default_factory=Counter)
    evictions: int = 0
    loops: int = 0


class PreemptionGuard:
    """Allows preemptions, within the limits there are."""

    def __init__(self, safety: PreemptionSafety) -> None:
        self.figures = GuardFigures()
        self._safety = safety
        self._breaker = LoopBreaker(safety.preemption_loop_rounds) if safety.preemption_loop_rounds else None
        self._budgets: dict[str, EvictionBudget] = {}  # by namespace
        self._waiting: dict[str, EvictionBudget | Pair] = {}  # by preemptor
        self.withholds = safety.limits_anything
        """Whether there is a limit at all; if not, nobody ever waits for leave."""
        self._due_at: int | None = None  # what `due_at` says; recomputed when something changes
        self._is_stale = False

    @property
    def waiting(self) -> int:
        """Preemptors that are withheld at present."""
        return len(self._waiting)

    def paused_pairs(self, now: int) -> int:
        """Pairs of workloads that are kept from going round in circles at present."""
        return self._breaker.paused_count(now) if self._breaker is not None else 0

    # ------------------------------------------------------------------ pods come and go

    def appeared(self, pod: Pod, now: int) -> None:
        """A pod is seen for the first time."""
        if self._breaker is not None:
            self._breaker.appeared(pod.metadata.uid, owner_of(pod.metadata), now)

    def gone(self, pod: Pod) -> None:
        if self._breaker is not None:
            self._breaker.gone(pod.metadata.uid)

    def forget(self, preemptor: str) -> None:
        """It is being tried, or waits for no node any more."""
        if preemptor in self._waiting:
            self._is_stale = True
            waits_for = self._waiting.pop(preemptor)
            if isinstance(waits_for, EvictionBudget):
                waits_for.forget(preemptor)

    # ------------------------------------------------------------------ leave

    def ask(self, preemptor: Preemptor, victims: list[EvictedOwner], now: int) -> Withheld | None:
        """Whether these pods may be evicted for that one. None: they may, and are counted as evicted."""
        if not victims:
            return None
        self._is_stale = True
        withheld = self._loop(preemptor, victims, now) or self._too_many(preemptor, victims, now)
        if withheld is None:
            for _, budget, needed in self._budgets_of(victims):
                budget.spend(needed, now)
            if self._breaker is not None:
                self._breaker.note(preemptor.owner, victims, now)
            self.figures.evictions += len(victims)
        return withheld

    def _loop(self, preemptor: Preemptor, victims: list[EvictedOwner], now: int) -> Withheld | None:
        if self._breaker is None:
            return None
        pair, is_new = self._breaker.pause_if_looping(preemptor.owner, victims, now)
        if pair is None:
            return None
        self._waiting[preemptor.key] = pair
        self.figures.withheld[LOOP] += 1
        self.figures.loops += is_new
        message = f"pods of {pair.victim_owner} are recreated as often as they are evicted for {pair.preemptor_owner}."
        note = f"Preemption of pods of {pair.victim_owner} for {pair.preemptor_owner} is paused for"
        seconds = (pair.paused_until - now) // SECOND
        event = _event(preemptor, "PreemptionPaused", f"{note} {seconds} s: they are recreated as often as evicted")
        return Withheld(_withheld(message), (event,) if is_new else ())

    def _too_many(self, preemptor: Preemptor, victims: list[EvictedOwner], now: int) -> Withheld | None:
        for namespace, budget, needed in self._budgets_of(victims):
            turn = Turn(-preemptor.priority, preemptor.number, preemptor.key, needed)
            if budget.allows(turn, now):
                continue
            self.figures.withheld[NAMESPACE_BUDGET if namespace else BUDGET] += 1
            where = f" in namespace {namespace}" if namespace else ""
            limit = f"evictions{where} are limited to {budget.limit} a minute"
            if needed > budget.limit:
                return Withheld(_withheld(f"{limit}, and it takes {needed}."))
            budget.wait(turn)
            self._waiting[preemptor.key] = budget
            event = _event(preemptor, "EvictionBudgetExhausted", f"Preemption has to wait: {limit}")
            return Withheld(_withheld(f"{limit}."), (event,) if budget.mark_reported(now) else ())
        return None

    def _budgets_of(self, victims: list[EvictedOwner]) -> list[tuple[str, EvictionBudget, int]]:
        """The budgets that evicting these pods takes from: of which namespace, and how much."""
        limit, namespace_limit = self._safety.evictions_per_minute, self._safety.evictions_per_minute_per_namespace
        needs: list[tuple[str, int, int]] = [(EVERYWHERE, limit, len(victims))] if limit else []
        if namespace_limit:
            counts = Counter(victim.namespace for victim in victims)
            needs += [(namespace, namespace_limit, count) for namespace, count in counts.items()]
        return [(namespace, self._budget(namespace, most), count) for namespace, most, count in needs]

    def _budget(self, namespace: str, limit: int) -> EvictionBudget:
        if namespace not in self._budgets:
            self._budgets[namespace] = EvictionBudget(limit)
        return self._budgets[namespace]

    # ------------------------------------------------------------------ another try

    def due_at(self) -> int | None:
        """When `release` next names somebody; None if never."""
        if self._is_stale:
            times = [budget.due_at() for budget in self._budgets.values()]
            times += [pair.paused_until for pair in self._waiting.values() if isinstance(pair, Pair)]
            self._due_at = min((time for time in times if time is not None), default=None)
            self._is_stale = False
        return self._due_at

    def release(self, now: int) -> list[str]:
        """Preemptors that are worth another try."""
        due_at = self.due_at()
        if due_at is None or due_at > now:
            return []
        self._is_stale = True
        released = [key for key, pair in self._waiting.items() if isinstance(pair, Pair) and pair.paused_until <= now]
        for budget in self._budgets.values():
            released += budget.release(now)
        for key in released:
            del self._waiting[key]
        return released


def _withheld(why: str) -> str:
    return f"preemption: withheld: {why}"


def _event(preemptor: Preemptor, reason: str, note: str) -> Emit:
    return Emit(preemptor.key, preemptor.uid, "Warning", reason, "Preempting", note)
