"""How many evictions a minute has, and whose turn it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.core.preemption.eviction_budget import EvictionBudget, Turn
from bayplan.model.time_units import MINUTE, SECOND


def turn(name: str, needed: int = 1, priority: int = 0, number: int = 0) -> Turn:
    return Turn(-priority, number, name, needed)


def test_what_is_spent_comes_back_after_a_minute() -> None:
    budget = EvictionBudget(3)
    budget.spend(2, 10 * SECOND)
    assert [budget.allows(turn("a", needed), 20 * SECOND) for needed in (1, 2)] == [True, False]
    assert not budget.allows(turn("a", 2), 10 * SECOND + MINUTE - 1)
    assert budget.allows(turn("a", 3), 10 * SECOND + MINUTE)


def test_nobody_waits_no_time_is_named() -> None:
    budget = EvictionBudget(1)
    budget.spend(1, 0)
    assert budget.due_at() is None
    assert budget.release(MINUTE) == []


def test_the_time_is_when_there_is_enough_for_the_first() -> None:
    budget = EvictionBudget(3)
    for second in (0, 10, 20):
        budget.spend(1, second * SECOND)
    budget.wait(turn("a", needed=2))
    assert budget.due_at() == 10 * SECOND + MINUTE
    assert budget.release(10 * SECOND + MINUTE - 1) == []
    assert budget.release(10 * SECOND + MINUTE) == ["a"]
    assert budget.due_at() is None


def test_important_pods_go_first_then_those_that_came_first() -> None:
    budget = EvictionBudget(3)
    budget.spend(3, 0)
    budget.wait(turn("late", number=3))
    budget.wait(turn("early", number=1))
    budget.wait(turn("urgent", priority=9, number=5))
    assert budget.release(MINUTE) == ["urgent", "early", "late"]


def test_many_victims_are_not_starved_by_few() -> None:
    """What the first in line needs is kept for it, from those behind it and from those that come along."""
    budget = EvictionBudget(3)
    budget.spend(1, 0)
    budget.wait(turn("many", needed=3, priority=5))
    assert not budget.allows(turn("few", priority=4), SECOND)
    assert budget.allows(turn("urgent", priority=6), SECOND)
    budget.wait(turn("few", priority=4))
    assert budget.release(MINUTE) == ["many"]
    budget.spend(3, MINUTE)
    assert budget.release(2 * MINUTE) == ["few"]


def test_who_is_gone_holds_nobody_up() -> None:
    budget = EvictionBudget(1)
    budget.spend(1, 0)
    budget.wait(turn("a", number=1))
    budget.wait(turn("b", number=2))
    budget.forget("a")
    budget.forget("nobody")
    assert budget.release(MINUTE) == ["b"]


def test_that_somebody_waits_is_news_once_a_minute() -> None:
    budget = EvictionBudget(1)
    assert [budget.mark_reported(second * SECOND) for second in (1, 2, 60, 61, 62)] == [True, False, False, True, False]


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=40),
)
def test_no_minute_has_more_than_its_limit_and_nobody_waits_for_ever(
    limit: int, arrivals: list[tuple[int, int, int]]
) -> None:
    """Preemptors come after some seconds each, need so many evictions, and wait for their turn if they must."""
    budget, spent, now = EvictionBudget(limit), list[int](), 0
    needs: dict[str, Turn] = {}

    def try_one(name: str) -> None:
        if budget.allows(needs[name], now):
            budget.spend(needs[name].needed, now)
            spent.extend([now] * needs[name].needed)
        else:
            budget.wait(needs[name])

    for number, (seconds, needed, priority) in enumerate(arrivals):
        arrives = now + seconds * SECOND
        while (due := budget.due_at()) is not None and due <= arrives:
            now = max(now, due)
            for name in budget.release(now):
                try_one(name)
        now = arrives
        needs[str(number)] = turn(str(number), min(needed, limit), priority, number)
        try_one(str(number))
    steps = 0
    while (due := budget.due_at()) is not None:
        steps += 1
        assert steps <= len(arrivals), "a turn that is given is taken"
        now = max(now, due)
        for name in budget.release(now):
            try_one(name)
    assert len(spent) == sum(one.needed for one in needs.values())
    assert all(sum(at <= other < at + MINUTE for other in spent) <= limit for at in spent)
