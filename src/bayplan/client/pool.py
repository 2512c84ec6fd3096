"""Connections kept open for requests: a limited number, the most recently used first, idle ones closed after a while.

Takes a way to open one. Who finds all in use waits in line. Sends nothing itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from bayplan.client.dialing import DialFailed
from bayplan.client.wire import Wire

_IDLE_SECONDS: Final = 60.0  # Go: 90; less than what servers and load balancers allow


class ConnectionPool:
    """Open connections."""

    def __init__(
        self, dial: Callable[[Callable[[Wire], None]], Awaitable[Wire]], limit: int, idle_s: float = _IDLE_SECONDS
    ) -> None:
        self._dial = dial
        self._limit = limit
        self._idle_s = idle_s
        self._idle: list[Wire] = []  # the longest idle first
        self._waiting: deque[asyncio.Future[Wire | None]] = deque()
        self._count = 0  # open or about to be
        self._sweep: asyncio.TimerHandle | None = None
        self._in_use: set[Wire] = set()
        self._is_closed = False

    def take(self) -> Wire | None:
        """An idle connection that the server has not closed, if there is one."""
        while self._idle:
            wire = self._idle.pop()
            if wire.is_open and wire.is_silent():
                self._in_use.add(wire)
                return wire
            wire.abort()
        return None

    async def wait(self) -> Wire:
        """A connection: a new one, or if there are enough, the next that is free. Raises DialFailed."""
        if self._count >= self._limit:
            wire = await self._next_free()
            if wire is not None:
                return wire
        else:
            self._count += 1
        try:
            if self._is_closed:
                raise DialFailed("the client is closed")
            wire = await self._dial(self._lost)
        except BaseException:
            self._leave_room()
            raise
        self._in_use.add(wire)
        return wire

    def give(self, wire: Wire) -> None:
        """The connection is free again; one that is not fit for another request is closed."""
        self._in_use.discard(wire)
        if not wire.is_open:
            wire.close()
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._in_use.add(wire)
                waiter.set_result(wire)
                return
        loop = asyncio.get_running_loop()
        wire.idle_since = loop.time()
        self._idle.append(wire)
        if self._sweep is None:
            self._sweep = loop.call_later(self._idle_s, self._close_idle)

    def close_idle(self) -> None:
        """For credentials that have changed: those in use end with their exchange."""
        for wire in self._idle:
            wire.close()
        self._idle.clear()

    async def close(self) -> None:
        """For good: exchanges under way break, and nobody gets a connection any more. All are gone afterwards."""
        self._is_closed = True
        wires = [*self._idle, *self._in_use]
        self._idle.clear()
        for wire in wires:
            wire.abort()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        # With TLS it takes several turns, which an event loop that ends next would not have.
        for wire in wires:
            await wire.is_lost.wait()

    async def _next_free(self) -> Wire | None:
        """A connection of somebody who is done, or None: there is room for another."""
        waiter: asyncio.Future[Wire | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                wire = waiter.result()
                self._leave_room() if wire is None else self.give(wire)
            raise

    def _leave_room(self) -> None:
        """There is one connection less; who waits may open another."""
        self._count -= 1
        while self._waiting and self._count < self._limit:
            waiter = self._waiting.popleft()
            if not waiter.done():
                self._count += 1
                waiter.set_result(None)

    def _lost(self, wire: Wire) -> None:
        self._in_use.discard(wire)
        if wire in self._idle:
            self._idle.remove(wire)
        self._leave_room()

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        since = loop.time() - self._idle_s
        old = [wire for wire in self._idle if wire.idle_since <= since]
        self._idle = self._idle[len(old) :]
        for wire in old:
            wire.close()
        self._sweep = loop.call_later(self._idle_s, self._close_idle) if self._idle else None
