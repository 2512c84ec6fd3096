"""A response read as it comes, on a connection of its own: watches, and lists too large to hold.

A reader that is slow slows the server: beyond a limit of unread bytes the socket is left alone. Does not look into
what it reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from bayplan.client.contract import LostError
from bayplan.client.wire import BrokenExchange, Wire

_UNREAD_MAX: Final = 4 * 1024 * 1024


class HttpStream:
    """A body in chunks; implements `Stream`, and takes what the wire receives."""

    def __init__(self, wire: Wire, idle_timeout_s: float | None, failed: Callable[[str], tuple[str, str]]) -> None:
        self.status = 0
        self._wire = wire
        self._failed = failed  # the whole message of a cause, and the cause
        self._loop = asyncio.get_running_loop()
        self._unread: list[bytes] = []
        self._unread_size = 0
        self._is_paused = False
        self._is_over = False
        self._error: BrokenExchange | None = None
        self._reader: asyncio.Future[None] | None = None
        self._idle_timeout_s = idle_timeout_s
        self._last_data_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        if idle_timeout_s is not None:
            self._timer = self._loop.call_later(idle_timeout_s, self._check_idle)

    # What a reader calls.

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._unread:
            if self._error is not None:
                raise LostError(*self._failed(str(self._error)))
            if self._is_over:
                raise StopAsyncIteration
            self._reader = self._loop.create_future()
            await self._reader
        return self._take()

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self])

    def close(self) -> None:
        """Ends the connection, wherever the body is."""
        if self._timer is not None:
            self._timer.cancel()
        self._wire.abort()

    # What the wire calls.

    def feed(self, data: bytes) -> None:
        self._last_data_at = self._loop.time()
        self._unread.append(data)
        self._unread_size += len(data)
        if self._unread_size > _UNREAD_MAX and not self._is_paused:
            self._is_paused = True
            self._wire.pause_reading()
        self._wake()

    def finish(self, error: BrokenExchange | None) -> None:
        self._is_over = True
        self._error = error
        self._wake()

    def _take(self) -> bytes:
        data = self._unread[0] if len(self._unread) == 1 else b"".join(self._unread)
        self._unread.clear()
        self._unread_size = 0
        if self._is_paused:
            self._is_paused = False
            self._last_data_at = self._loop.time()
            self._wire.resume_reading()
        return data

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _check_idle(self) -> None:
        """One timer that moves on, instead of a new one for each chunk."""
        assert self._idle_timeout_s is not None
        silent_for = self._loop.time() - self._last_data_at
        if self._is_over:
            return
        if silent_for >= self._idle_timeout_s and not self._is_paused:
            self._wire.expire()
            return
        self._timer = self._loop.call_later(max(self._idle_timeout_s - silent_for, 0.001), self._check_idle)
