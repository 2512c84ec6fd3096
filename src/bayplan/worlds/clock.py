"""A clock that goes as the system's does, or faster, or not at all, and that can be put forward.

Never goes back. Whoever sleeps until something is due asks it how long that really is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from bayplan.model.time_units import SECOND


class Clock:
    """Gives the time in nanoseconds when it is called.

    Args:
        read: the clock that it goes by.
    """

    def __init__(self, read: Callable[[], int] = time.time_ns) -> None:
        self._read = read
        self._set_at = self._shown = read()
        self._rate = 1.0

    def __call__(self) -> int:
        return self._shown + int((self._read() - self._set_at) * self._rate)

    def set_rate(self, rate: float) -> None:
        """How many seconds pass in a second; 0 stops it."""
        if not 0 <= rate < math.inf:
            raise ValueError(f"a clock cannot go {rate!r} times as fast")
        self._rest_at(self())
        self._rate = rate

    def advance(self, duration_ns: int) -> None:
        """Puts the clock forward."""
        if duration_ns < 0:
            raise ValueError("a clock cannot be put back")
        self._rest_at(self() + duration_ns)

    def _rest_at(self, shown: int) -> None:
        self._set_at, self._shown = self._read(), shown

    def real_seconds(self, duration_ns: int) -> float:
        """How long it takes until so much time has passed; infinite while the clock stands still."""
        return duration_ns / SECOND / self._rate if self._rate else math.inf
