"""How many requests may be sent: client-go's `qps` and `burst`, handed out in order of importance.

Takes a rate and gives leave to send, at once or later. The most important of those who wait goes first, and of equals
the one who came first. Does not look at what is sent, nor at how many requests are under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class TokenBucket:
    """Tokens that come at a steady rate, of which some may be saved up. Times are in seconds."""

    def __init__(self, qps: float, burst: int, now: float) -> None:
        """`qps` of 0 or less means no limit."""
        self._rate = qps
        self._capacity = float(max(burst, 1))
        self._tokens = self._capacity
        self._counted_at = now

    def take(self, now: float) -> float:
        """0 if a token was taken, else how long it is until there is one."""
        if self._rate <= 0:
            return 0.0
        gained = max(now - self._counted_at, 0.0) * self._rate
        self._tokens = min(self._tokens + gained, self._capacity)
        self._counted_at = max(now, self._counted_at)
        if self._tokens >= 1.0 - 1e-9:  # a timer set to the very moment may see it a rounding error early
            self._tokens -= 1.0
            return 0.0
        return (1.0 - self._tokens) / self._rate


class Throttle:
    """Makes those who want to send wait for a token."""

    def __init__(self, bucket: TokenBucket, clock: Callable[[], float]) -> None:
        self._bucket = bucket
        self._clock = clock
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = count()
        self._timer: asyncio.TimerHandle | None = None

    async def admit(self, importance: int) -> None:
        """Returns when the request may be sent; a smaller number is more important."""
        if not self._waiting and not self._bucket.take(self._clock()):
            return
        admitted = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (importance, next(self._arrivals), admitted))
        if self._timer is None:
            self._release()
        await admitted

    def _release(self) -> None:
        self._timer = None
        while self._waiting:
            admitted = self._waiting[0][2]
            if not admitted.done():
                delay = self._bucket.take(self._clock())
                if delay:
                    self._timer = asyncio.get_running_loop().call_later(delay, self._release)
                    return
                admitted.set_result(None)
            heappop(self._waiting)
