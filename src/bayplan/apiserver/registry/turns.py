"""Whose turn it is to write: everybody's between two awaits, or that of one request that takes long.

Such a request is answered in a thread, so that the event loop goes on: others are read to meanwhile, and whoever wants
to write waits until it is done. What it reads therefore stays as it is, and its writes are made in the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from bayplan.apiserver.storage.storage import Storage

T = TypeVar("T")


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
        self._is_taken = True
        self._news.clear()
        self._storage.store_with(partial(_in_loop, asyncio.get_running_loop(), threading.get_ident()))
        return await in_thread(work, self._end)

    def _end(self) -> None:
        self._storage.store_with(None)
        self._is_taken = False
        self._news.set()


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
