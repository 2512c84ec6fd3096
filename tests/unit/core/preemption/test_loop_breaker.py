"""What is a loop of evicting and recreating, and what is not."""

from __future__ import annotations

from bayplan.core.preemption.loop_breaker import (
    FIRST_PAUSE_NS,
    PAUSE_MAX_NS,
    REMEMBERED_NS,
    EvictedOwner,
    LoopBreaker,
)
from bayplan.model.time_units import SECOND

URGENT, LOW = "Job default/urgent", "ReplicaSet default/low"


def victim(number: int, owner: str = LOW) -> EvictedOwner:
    return EvictedOwner("default", f"uid-{number}", owner)


class Clock:
    """Evictions a second apart, each of a pod that came in place of the one before."""

    def __init__(self, rounds: int) -> None:
        self.breaker = LoopBreaker(rounds)
        self.now = 0
        self.number = 0

    def is_paused(self, preemptor: str = URGENT, owner: str = LOW) -> bool:
        return self.breaker.pause_if_looping(preemptor, [victim(self.number, owner)], self.now)[0] is not None

    def evict_and_recreate(self, preemptor: str = URGENT, owner: str = LOW) -> None:
        self.breaker.note(preemptor, [victim(self.number, owner)], self.now)
        self.breaker.gone(victim(self.number).uid)
        self.number += 1
        self.now += SECOND
        self.breaker.appeared(victim(self.number).uid, owner, self.now)

    def rounds_until_paused(self) -> int:
        rounds = 0
        while not self.is_paused():
            self.evict_and_recreate()
            rounds += 1
            assert rounds < 100
        return rounds


def test_a_loop_is_paused_after_its_rounds() -> None:
    assert Clock(rounds=3).rounds_until_paused() == 3


def test_a_thousand_pods_that_were_there_are_one_round() -> None:
    breaker = LoopBreaker(rounds=1)
    for second in range(1000):
        assert breaker.pause_if_looping(URGENT, [victim(second)], second * SECOND) == (None, False)
        breaker.note(URGENT, [victim(second)], second * SECOND)


def test_pods_that_appear_in_a_round_belong_to_the_next() -> None:
    """However many of them are evicted, it is one more round."""
    breaker = LoopBreaker(rounds=2)
    breaker.note(URGENT, [victim(0)], 0)
    for number in range(1, 9):
        breaker.appeared(f"uid-{number}", LOW, number * SECOND)
    for number in range(1, 9):
        assert breaker.pause_if_looping(URGENT, [victim(number)], 60 * SECOND) == (None, False)
        breaker.note(URGENT, [victim(number)], 60 * SECOND)


def test_each_pause_is_twice_as_long_and_one_more_round_follows() -> None:
    clock, pauses = Clock(rounds=2), list[int]()
    clock.rounds_until_paused()
    for _ in range(9):
        pair, is_new = clock.breaker.pause_if_looping(URGENT, [victim(clock.number)], clock.now)
        assert pair is not None
        assert not is_new, "it was paused before"
        pauses.append(pair.paused_until - clock.now)
        assert clock.breaker.paused_count(clock.now) == 1
        clock.now = pair.paused_until
        assert clock.rounds_until_paused() == 1
    expected = [min(FIRST_PAUSE_NS << number, PAUSE_MAX_NS) for number in range(9)]
    assert pauses == expected
    assert pauses[-1] == PAUSE_MAX_NS


def test_rounds_that_are_far_apart_are_no_loop() -> None:
    clock = Clock(rounds=2)
    for _ in range(20):
        assert not clock.is_paused()
        clock.evict_and_recreate()
        clock.now += REMEMBERED_NS // 2


def test_only_the_pair_is_paused() -> None:
    clock = Clock(rounds=2)
    clock.rounds_until_paused()
    assert clock.is_paused()
    assert not clock.is_paused(preemptor="Job default/another")
    assert not clock.is_paused(owner="ReplicaSet default/another")


def test_a_quiet_pair_is_forgotten() -> None:
    clock = Clock(rounds=2)
    clock.rounds_until_paused()
    clock.now += FIRST_PAUSE_NS + REMEMBERED_NS
    assert clock.rounds_until_paused() == 2


def test_one_paused_pair_among_the_victims_is_enough() -> None:
    clock = Clock(rounds=1)
    clock.rounds_until_paused()
    pair, is_new = clock.breaker.pause_if_looping(
        URGENT, [victim(77, "Pod default/x"), victim(clock.number)], clock.now
    )
    assert pair is not None
    assert (pair.preemptor_owner, pair.victim_owner, is_new) == (URGENT, LOW, False)
