"""In which order jobs run, and how many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.support.virtual_time import run_virtually

from bayplan.client.lanes import EVENTS_BESIDE_OTHERS, Lane, Lanes, LaneTask


class Log:
    """Jobs that take a second each, and when they ran."""

    def __init__(self, in_flight: int, is_sending: Callable[[], bool] = lambda: False) -> None:
        self.lanes = Lanes(in_flight, is_sending)
        self.started: list[tuple[float, str]] = []
        self.running = [0, 0, 0]
        self.most = [0, 0, 0]

    def put(self, lane: Lane, key: str, name: str = "") -> None:
        self.lanes.put(LaneTask(lane, key, self._work, name or key, 0))

    async def _work(self, job: LaneTask) -> None:
        self.started.append((round(asyncio.get_running_loop().time(), 3), str(job.subject)))
        self.running[job.lane] += 1
        self.most = [max(pair) for pair in zip(self.most, self.running, strict=True)]
        await asyncio.sleep(1)
        self.running[job.lane] -= 1

    async def finish(self) -> None:
        while self.lanes.is_busy(Lane.EVENTS):
            await asyncio.sleep(0.1)
        await self.lanes.stop()


def test_jobs_with_one_key_run_one_after_the_other() -> None:
    async def play() -> list[tuple[float, str]]:
        log = Log(8)
        for name in ("1", "2", "3"):
            log.put(Lane.BINDINGS, "a", name)
        log.put(Lane.BINDINGS, "b")
        await log.finish()
        return log.started

    assert run_virtually(play()) == [(0, "1"), (0, "b"), (1, "2"), (2, "3")]


def test_what_something_important_waits_for_becomes_important() -> None:
    async def play() -> list[str]:
        log = Log(1)
        for key in ("x", "y", "z"):
            log.put(Lane.STATUSES, key)
        log.put(Lane.STATUSES, "a", "condition of a")
        log.put(Lane.BINDINGS, "a", "binding of a")
        await log.finish()
        return [name for _, name in log.started]

    assert run_virtually(play()) == ["condition of a", "binding of a", "x", "y", "z"]


def test_less_important_jobs_leave_room_for_others() -> None:
    async def play() -> list[int]:
        log = Log(8)
        for number in range(50):
            log.put(Lane.STATUSES, f"s{number}")
            log.put(Lane.EVENTS, f"e{number}")
        await log.finish()
        return log.most

    assert run_virtually(play()) == [0, 6, 2]


def test_events_trickle_while_other_requests_are_under_way() -> None:
    async def play() -> list[int]:
        log = Log(8, is_sending=lambda: True)
        for number in range(10):
            log.put(Lane.EVENTS, f"e{number}")
        await log.finish()
        return log.most

    assert run_virtually(play()) == [0, 0, EVENTS_BESIDE_OTHERS]


def test_as_many_run_as_may() -> None:
    async def play() -> list[int]:
        log = Log(8)
        for number in range(50):
            log.put(Lane.BINDINGS, f"b{number}")
        await log.finish()
        return log.most

    assert run_virtually(play()) == [8, 0, 0]


def test_stopping_abandons_what_is_not_done() -> None:
    async def play() -> Log:
        log = Log(1)
        log.put(Lane.BINDINGS, "a")
        log.put(Lane.BINDINGS, "b")
        await asyncio.sleep(0.5)
        await log.lanes.stop()
        await asyncio.sleep(5)
        return log

    assert run_virtually(play()).started == [(0, "a")]
