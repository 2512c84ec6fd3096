"""Whose turn it is to write: everybody's between two awaits, that of one request that takes long, or the world's.

Such a request is answered in a thread, so that the event loop goes on: others are read to meanwhile, and whoever wants
to write waits until it is done. What it reads therefore stays as it is, and its writes are made in the event loop.

Work that is short as a rule, and nobody knows when it is not, is `done_beside`: the event loop stands still for a
moment, in which most of it is done; only what takes longer goes on like a long request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

from bayplan.apiserver.storage.storage import Storage

T = TypeVar("T")

#: So long the event loop stands still for work that is done beside it.
STANDSTILL_S = 0.01


class WritingTurns:
    """The turns of those who write to one storage. Everything here is called in the event loop."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._is_taken = False
        self._news = asyncio.Event()

    async def free(self) -> None:
        """Returns when nobody has a turn of its own; until the next await, the caller may write."""
        while self._is_taken:
            await self._news.wait()

    async def alone(self, work: Callable[[], T]) -> T:
        """What the work gives, which is done in a thread while nobody else writes."""
        await self.free()
        self._begin(partial(_in_loop, asyncio.get_running_loop(), threading.get_ident()))
        return await in_thread(work, self._end)

    async def done_beside(self, thread: WorkingThread, work: Callable[[], T]) -> T:
        """What the work gives, which that thread does while nobody else writes.

        If the caller is cancelled, so is the work at its next write.
        """
        await self.free()
        job = _Job(work, asyncio.get_running_loop())
        self._begin(job.store)
        thread.begin(job)
        if job.is_done_within(STANDSTILL_S):
            self._end()
            return job.outcome()
        try:
            return await job.finished(self._end)
        except asyncio.CancelledError:
            job.abandon()
            raise

    def _begin(self, store: Callable[[Callable[[], None]], None]) -> None:
        self._is_taken = True
        self._news.clear()
        self._storage.store_with(store)

    def _end(self) -> None:
        self._storage.store_with(None)
        self._is_taken = False
        self._news.set()


class WorkingThread:
    """A thread that does one job after another, and does not keep the process from ending."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        threading.Thread(target=self._run, name="beside the event loop", daemon=True).start()

    def begin(self, job: _Job[Any]) -> None:
        self._jobs.put(job)

    def close(self) -> None:
        """Ends it after its last job."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()


class _Abandoned(BaseException):
    """Ends work that nobody waits for."""


class _Job(Generic[T]):
    """A piece of work. Its writes are made in its own thread while the event loop stands still, and then there."""

    def __init__(self, work: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._context = copy_context()
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._outcome: Callable[[], T]
        self._done = threading.Lock()
        self._done.acquire()
        self._switch = threading.Lock()  # held where it matters whether the event loop stands still
        self._stands_still = True
        self._stands_still_until = monotonic() + STANDSTILL_S
        self._is_abandoned = False
        self._when_done: Callable[[], None] | None = None

    # In its thread.

    def run(self) -> None:
        try:
            result = self._context.run(self._work)
        except BaseException as error:  # raised again where it is awaited
            self._outcome = partial(_raise, error)
        else:
            self._outcome = lambda: result
        with self._switch:
            self._done.release()
            when_done = self._when_done
        if when_done is not None:
            with suppress(RuntimeError):  # the event loop may have ended
                self._loop.call_soon_threadsafe(when_done)

    def store(self, write: Callable[[], None]) -> None:
        with self._switch:
            # The event loop may not have been able to end it: threads that let go of Python's lock ever so often, as
            # for random numbers, get it back before others are awake.
            if self._stands_still and monotonic() < self._stands_still_until:
                write()
                return
        if self._is_abandoned:
            raise _Abandoned
        _in_loop(self._loop, self._loop_thread, write)

    # In the event loop.

    def is_done_within(self, seconds: float) -> bool:
        """Stands still until it is, or for that long."""
        try:
            return self._done.acquire(timeout=seconds)
        finally:
            self._stands_still = False  # first, as work that writes on and on would hardly let go of the lock
            with self._switch:  # not in the middle of a write
                pass

    def outcome(self) -> T:
        return self._outcome()

    def finished(self, then: Callable[[], None]) -> asyncio.Future[T]:
        """The outcome, some time; then the rest, whether anybody still waits or not."""
        future: asyncio.Future[T] = self._loop.create_future()

        def settle() -> None:
            then()
            if not future.done():
                try:
                    future.set_result(self._outcome())
                except BaseException as error:  # raised again where it is awaited
                    future.set_exception(error)

        with self._switch:
            is_done = self._done.acquire(blocking=False)
            self._when_done = settle
        if is_done:
            settle()
        return future

    def abandon(self) -> None:
        self._is_abandoned = True


def _raise(error: BaseException) -> Any:
    raise error


def in_thread(work: Callable[[], T], when_done: Callable[[], None] = lambda: None) -> asyncio.Future[T]:
    """What the work gives, in a thread that does not keep the process from ending; then the rest in the event loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def finish(settle: Callable[[], None]) -> None:
        when_done()
        if not future.done():  # whoever waited may have left
            settle()

    def run() -> None:
        try:
            settle = partial(future.set_result, context.run(work))
        except BaseException as error:  # raised again where it is awaited
            settle = partial(future.set_exception, error)
        with suppress(RuntimeError):  # the event loop may have ended
            loop.call_soon_threadsafe(finish, settle)

    threading.Thread(target=run, name="long request", daemon=True).start()
    return future


def _in_loop(loop: asyncio.AbstractEventLoop, its_thread: int, write: Callable[[], None]) -> None:
    """Has the event loop make a write, and waits for it."""
    if threading.get_ident() == its_thread:
        write()
        return
    outcome: Future[None] = Future()

    def make() -> None:
        try:
            write()
        except BaseException as error:  # raised again in the thread that waits
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    loop.call_soon_threadsafe(make)
    outcome.result()
