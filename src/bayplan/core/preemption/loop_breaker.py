"""Finds workloads whose pods are evicted, recreated and evicted again for the same other workload, and breaks the loop.

For each pair of a preemptor's owner and a victim's owner, evictions are counted in rounds. The first round takes pods
that were there all along, however many; a later one takes pods that appeared after the round before it had begun, which
is to say pods that came in place of evicted ones. So a thousand preemptors of one workload that push a thousand pods of
another out are one round, and a loop is a new round each time. A pair that would begin a round more than it may within
ten minutes is paused. After the pause one round is allowed, and each further pause is twice as long as the one before.
A pair without an eviction for ten minutes is forgotten.

Only what the scheduler saw counts, by its own clock: creation times are another clock's. Takes pods as they appear and
go, and evictions; gives what is paused until when.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from bayplan.model.structs import Struct, field
from bayplan.model.time_units import HOUR, MINUTE

#: How long a round counts. A pair without an eviction for so long, from the end of a pause on, is forgotten.
REMEMBERED_NS = 10 * MINUTE
FIRST_PAUSE_NS = MINUTE
PAUSE_MAX_NS = HOUR
TIDIED_EVERY_NS = MINUTE


class EvictedOwner(NamedTuple):
    """A pod that is to be evicted."""

    namespace: str
    uid: str
    owner: str


class Pair(Struct, eq=False):
    """What one workload did to another."""

    preemptor_owner: str
    victim_owner: str
    begun_at: list[int] = field(default_factory=list)  # each round
    last_at: int = 0  # the last eviction
    pauses: int = 0
    paused_until: int = 0

    @property
    def forgotten_at(self) -> int:
        return max(self.last_at, self.paused_until) + REMEMBERED_NS

    def round_of(self, appeared_at: int | None, now: int) -> int:
        """The round in which a pod is evicted that appeared then, None: before anybody watched."""
        while self.begun_at and self.begun_at[0] + REMEMBERED_NS <= now:
            del self.begun_at[0]
        return 1 if appeared_at is None else bisect_left(self.begun_at, appeared_at) + 1

    def pause(self, now: int) -> None:
        self.paused_until = now + min(FIRST_PAUSE_NS << self.pauses, PAUSE_MAX_NS)
        self.pauses += 1
        self.begun_at.clear()


class LoopBreaker:
    """Pairs of workloads of which one evicts the other's pods; `rounds` that are no loop yet."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self._pairs: dict[tuple[str, str], Pair] = {}
        self._watched: dict[str, int] = {}  # owners of victims, and in how many pairs they are
        self._appeared_at: dict[str, int] = {}  # uid -> when, of pods of watched owners
        self._tidied_at = 0

    def paused_count(self, now: int) -> int:
        """Pairs that may not preempt now."""
        return sum(now < pair.paused_until for pair in self._pairs.values())

    def appeared(self, uid: str, owner: str, now: int) -> None:
        if owner in self._watched:
            self._appeared_at[uid] = now

    def gone(self, uid: str) -> None:
        self._appeared_at.pop(uid, None)

    def pause_if_looping(self, preemptor_owner: str, victims: list[EvictedOwner], now: int) -> tuple[Pair | None, bool]:
        """The pair that forbids these evictions, if one does, and whether it was paused only now."""
        self._forget_old(now)
        for victim in victims:
            pair = self._pairs.get((preemptor_owner, victim.owner))
            if pair is None:
                continue
            if now < pair.paused_until:
                return pair, False
            rounds = 1 if pair.pauses else self.rounds
            if pair.round_of(self._appeared_at.get(victim.uid), now) > rounds:
                pair.pause(now)
                return pair, True
        return None, False

    def note(self, preemptor_owner: str, victims: list[EvictedOwner], now: int) -> None:
        """The victims are being evicted."""
        for victim in victims:
            key = (preemptor_owner, victim.owner)
            pair = self._pairs.get(key)
            if pair is None:
                pair = self._pairs[key] = Pair(*key)
                self._watched[victim.owner] = self._watched.get(victim.owner, 0) + 1
            if pair.round_of(self._appeared_at.get(victim.uid), now) > len(pair.begun_at):
                pair.begun_at.append(now)
            pair.last_at = now

    def _forget_old(self, now: int) -> None:
        if now < self._tidied_at + TIDIED_EVERY_NS:
            return
        self._tidied_at = now
        for key, pair in list(self._pairs.items()):
            if pair.forgotten_at > now:
                continue
            del self._pairs[key]
            self._watched[pair.victim_owner] -= 1
            if not self._watched[pair.victim_owner]:
                del self._watched[pair.victim_owner]
        if not self._pairs:
            self._appeared_at.clear()
