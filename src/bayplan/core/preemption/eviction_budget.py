"""How many pods may be evicted in any minute, and who waits for that.

A preemption happens as a whole or not at all. One that finds too little left takes its turn: the more important pod
first, then the one that came first. What those before it need is kept for them, so that a preemption of many victims
is not starved by those of few. Takes times and pods; gives who may go ahead, and when it is worth asking again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

from bayplan.model.time_units import MINUTE


class Turn(NamedTuple):
    """A preemptor that waits, in the order in which turns are given."""

    priority_below: int  # the priority with its sign turned: the highest comes first
    number: int  # order of arrival
    preemptor: str
    needed: int  # evictions


class EvictionBudget:
    """At most `limit` evictions in any minute."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._spent_at: list[int] = []  # of the last minute
        self._waiting: list[Turn] = []  # in order
        self._turns: dict[str, Turn] = {}  # by preemptor
        self._news_at = 0

    def allows(self, turn: Turn, now: int) -> bool:
        """Whether the preemption may happen now, with those before it served."""
        before = sum(other.needed for other in self._waiting[: bisect_left(self._waiting, turn)])
        return self._left(now) >= before + turn.needed

    def spend(self, evictions: int, now: int) -> None:
        self._spent_at += [now] * evictions

    def wait(self, turn: Turn) -> None:
        """The preemptor waits until `release` names it; one that needs more than there ever is would wait in vain."""
        assert turn.needed <= self.limit
        self._turns[turn.preemptor] = turn
        insort(self._waiting, turn)

    def mark_reported(self, now: int) -> bool:
        """Note that it is said that somebody waits; False if that was said within the last minute."""
        if now < self._news_at:
            return False
        self._news_at = now + MINUTE
        return True

    def forget(self, preemptor: str) -> None:
        """It is being tried, or gone."""
        turn = self._turns.pop(preemptor, None)
        if turn is not None:
            del self._waiting[bisect_left(self._waiting, turn)]

    def due_at(self) -> int | None:
        """When there is enough for the first that waits; None when nobody does."""
        if not self._waiting:
            return None
        too_many = len(self._spent_at) + self._waiting[0].needed - self.limit
        return self._spent_at[too_many - 1] + MINUTE if too_many > 0 else 0

    def release(self, now: int) -> list[str]:
        """Those whose turn it is; they wait no longer."""
        left, released = self._left(now), list[str]()
        while self._waiting and self._waiting[0].needed <= left:
            turn = self._waiting[0]
            left -= turn.needed
            released.append(turn.preemptor)
            self.forget(turn.preemptor)
        return released

    def _left(self, now: int) -> int:
        spent = self._spent_at
        del spent[: next((place for place, at in enumerate(spent) if at + MINUTE > now), len(spent))]
        return self.limit - len(spent)
