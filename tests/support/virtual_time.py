"""An event loop whose time passes at once: minutes take no longer than what happens in them.

Time passes only when there is nothing else to do: no socket to be read, no thread at work. Sockets may be real ones,
also to a server on the same loop.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: When a test begins, in nanoseconds: 2026-11-15T20:38:06Z.
BEGIN = 1_794_775_086_000_000_000


_LOOKS_AT_THREADS_S, _IN_FLIGHT_S, _GIVES_UP_AFTER_S = 0.005, 0.0003, 5.0


class _Impatient(selectors.SelectSelector):
    """Hardly ever waits, but for threads; what it was asked to wait is noted."""

    passed = 0.0
    threads = 0  # at work

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.threads and timeout != 0:
            return super().select(_LOOKS_AT_THREADS_S)
        # A thread may still be ending, and what was written to a socket may take a moment to get to its other end.
        has_sockets = len(self.get_map()) > 1  # besides the one that wakes the loop
        ready = super().select(_GIVES_UP_AFTER_S if timeout is None else _IN_FLIGHT_S if timeout and has_sockets else 0)
        if not ready and timeout is None:
            raise AssertionError("nothing will ever happen again")
        if not ready and timeout:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes only when there is nothing else to do, and then at once."""

    def __init__(self, begin: int = BEGIN) -> None:
        self._impatient = _Impatient()
        self._begin = begin
        super().__init__(self._impatient)

    def time(self) -> float:
        return self._impatient.passed

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        """While a thread is at work, time stands still."""
        working = super().run_in_executor(executor, func, *args)
        self._impatient.threads += 1
        working.add_done_callback(self._note_end)
        return working

    def _note_end(self, _: object) -> None:
        self._impatient.threads -= 1

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """The timeout, which Python 3.12 brought, would pass at once here while threads are still ending."""
        await super().shutdown_default_executor()

    def sleep_in_thread(self, seconds: float) -> None:
        """For a thread: wait while that much time passes here."""
        over = threading.Event()

        def begin() -> None:
            self._impatient.threads -= 1
            self.call_later(seconds, end)

        def end() -> None:
            self._impatient.threads += 1
            over.set()

        self.call_soon_threadsafe(begin)
        over.wait()

    def time_ns(self) -> int:
        return self._begin + round(self.time() * 1e9)


def run_virtually(test: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns when it runs in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(test)


def virtual_ns() -> int:
    """The time of day in the running virtual loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.time_ns()
