"""How many requests may be sent, and who goes first."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.virtual_time import run_virtually

from bayplan.client.limits import Throttle, TokenBucket


def sent_at(bucket: TokenBucket, count: int) -> list[float]:
    """When each of so many requests may go, each as early as it can."""
    now, times = 0.0, []
    for _ in range(count):
        while delay := bucket.take(now):
            now += delay
        times.append(now)
    return times


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    times = sent_at(TokenBucket(qps=50, burst=3, now=0.0), 6)
    assert times == pytest.approx([0, 0, 0, 0.02, 0.04, 0.06])


def test_what_is_saved_up_is_not_more_than_the_burst() -> None:
    bucket = TokenBucket(qps=10, burst=2, now=0.0)
    assert [bucket.take(100.0) for _ in range(3)] == [0, 0, pytest.approx(0.1)]


@pytest.mark.parametrize("qps", [0, -1])
def test_without_a_rate_there_is_no_limit(qps: float) -> None:
    assert sent_at(TokenBucket(qps, burst=1, now=0.0), 1_000) == [0] * 1_000


def test_a_burst_of_none_still_lets_one_through_at_a_time() -> None:
    assert sent_at(TokenBucket(qps=10, burst=0, now=0.0), 2) == pytest.approx([0, 0.1])


def test_a_clock_that_is_set_back_gives_nothing_and_takes_nothing() -> None:
    bucket = TokenBucket(qps=1, burst=1, now=10.0)
    assert bucket.take(10.0) == 0
    assert bucket.take(5.0) == pytest.approx(1)
    assert bucket.take(11.0) == 0


async def admitted(importances: list[int], canceled: int | None = None) -> list[tuple[float, int]]:
    """Times at which these get their turn, when all come at once and there is one token, then ten a second."""
    loop = asyncio.get_running_loop()
    throttle = Throttle(TokenBucket(qps=10, burst=1, now=loop.time()), loop.time)
    turns: list[tuple[float, int]] = []

    async def ask(importance: int) -> None:
        await throttle.admit(importance)
        turns.append((round(loop.time(), 3), importance))

    tasks = [asyncio.create_task(ask(importance)) for importance in importances]
    if canceled is not None:
        await asyncio.sleep(0)
        tasks[canceled].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return turns


def test_the_most_important_of_those_who_wait_goes_first() -> None:
    turns = run_virtually(admitted([2, 1, 0, 1, 0]))
    assert turns == [(0, 2), (0.1, 0), (0.2, 0), (0.3, 1), (0.4, 1)]


def test_who_gives_up_waiting_takes_no_token() -> None:
    assert run_virtually(admitted([0, 0, 1], canceled=1)) == [(0, 0), (0.1, 1)]
