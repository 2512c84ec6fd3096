"""Work that is to be done soon, in order of importance, much of it at once.

Takes jobs, each with a lane and a key; runs them on a fixed number of tasks. A more important lane goes first, and less
important ones never take up all tasks, so that a server that stalls on events does not hold up a binding. Jobs with the
same key run one after the other, in the order in which they came. Sends nothing itself, and repeats nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import Final

from bayplan.model.structs import Struct


class Lane(IntEnum):
    """In order of importance."""

    BINDINGS = 0  # and what is written before a pod can be bound
    STATUSES = 1  # conditions, nominations, evictions
    EVENTS = 2


#: Events wait while more important requests are under way, but for this many at a time: they are not to wait for ever.
EVENTS_BESIDE_OTHERS: Final = 1


class LaneTask(Struct, eq=False):
    """Something to do; what it is about is up to whoever does it."""

    lane: Lane
    key: str
    work: Callable[[LaneTask], Awaitable[None]]
    subject: object
    now: int
    then: Callable[[str], None] | None = None  # gets the error
    is_started: bool = False


class Lanes:
    """Jobs that wait, and the tasks that run them."""

    def __init__(
        self,
        in_flight_max: int,
        is_sending: Callable[[], bool],
        on_raised: Callable[[LaneTask, Exception], None] | None = None,
    ) -> None:
        """`in_flight_max` jobs at once, and a quarter as many events; `is_sending`: something else than events.

        `on_raised` is told of a job that has raised something. Without it that ends the task.
        """
        self._on_raised = on_raised
        #: How many jobs of each lane may run at once.
        self._most = (in_flight_max, max(in_flight_max * 3 // 4, 1), max(in_flight_max // 4, 1))
        self._size = in_flight_max + self._most[Lane.EVENTS]
        self._is_sending = is_sending
        self._waiting: tuple[deque[LaneTask], ...] = (deque(), deque(), deque())
        self._running = [0, 0, 0]
        self._behind: dict[str, deque[LaneTask]] = {}  # by key, behind the one that runs or waits in its lane
        self._first: dict[str, LaneTask] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._idle: list[asyncio.Future[None]] = []

    def put(self, job: LaneTask) -> None:
        """Run it when it is its turn."""
        first = self._first.get(job.key)
        if first is None:
            self._first[job.key] = job
            self._waiting[job.lane].append(job)
        else:
            self._behind.setdefault(job.key, deque()).append(job)
            if first.is_started or job.lane >= first.lane:
                return
            # Something important waits for it.
            first.lane = job.lane
            self._waiting[job.lane].append(first)
        self._wake()

    def waiting(self, lane: Lane) -> int:
        """How many jobs of that lane have not been started."""
        return len(self._waiting[lane])

    def is_busy(self, least: Lane) -> bool:
        """Whether there is anything to do in that lane or a more important one."""
        return any(self._running[: least + 1]) or any(self._waiting[: least + 1]) or bool(self._behind)

    async def stop(self) -> None:
        """Abandon what is not done."""
        workers, self._workers = self._workers, set()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def _wake(self) -> None:
        while self._idle:
            sleeper = self._idle.pop()
            if not sleeper.done():
                sleeper.set_result(None)
                return
        if len(self._workers) < self._size:
            self._workers.add(asyncio.get_running_loop().create_task(self._work()))

    async def _work(self) -> None:
        while True:
            job = self._next()
            if job is None:
                sleeper = asyncio.get_running_loop().create_future()
                self._idle.append(sleeper)
                await sleeper
                continue
            if self._lane() is not None:
                self._wake()  # one after the other, as many as there is work for
            lane = job.lane
            self._running[lane] += 1
            try:
                await job.work(job)
            except Exception as error:
                if self._on_raised is None:
                    raise
                self._on_raised(job, error)
            finally:
                self._running[lane] -= 1
                self._over(job)

    def _over(self, job: LaneTask) -> None:
        behind = self._behind.get(job.key)
        if behind is None:
            del self._first[job.key]
            return
        following = behind.popleft()
        if not behind:
            del self._behind[job.key]
        self._first[job.key] = following
        self._waiting[following.lane].append(following)

    def _next(self) -> LaneTask | None:
        while (lane := self._lane()) is not None:
            job = self._waiting[lane].popleft()
            if not job.is_started:  # it may have been moved to a more important lane
                job.is_started = True
                return job
        return None

    def _lane(self) -> Lane | None:
        """The most important one that has something to do and is not doing as much as it may."""
        bindings, statuses, events = self._running
        if bindings + statuses < self._most[Lane.BINDINGS]:
            if self._waiting[Lane.BINDINGS]:
                return Lane.BINDINGS
            if self._waiting[Lane.STATUSES] and statuses < self._most[Lane.STATUSES]:
                return Lane.STATUSES
        if self._waiting[Lane.EVENTS]:
            most = EVENTS_BESIDE_OTHERS if self._is_sending() else self._most[Lane.EVENTS]
            return Lane.EVENTS if events < most else None
        return None
