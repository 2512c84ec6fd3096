"""How long to wait before a server that refuses is asked again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

# Upstream: client-go/tools/cache/reflector.go (v1.36).
_FIRST_S = 0.8
_MAX_S = 30.0
_FORGOTTEN_AFTER_S = 120.0


class RetryDelays:
    """Doubles with each delay, with up to as much again at random; starts over after a quiet time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, draw: Callable[[], float] = random.random) -> None:
        self._clock = clock
        self._draw = draw
        self._next_s = _FIRST_S
        self._last_at = float("-inf")

    def delay_s(self) -> float:
        now = self._clock()
        if now - self._last_at > _FORGOTTEN_AFTER_S:
            self._next_s = _FIRST_S
        self._last_at = now
        delay = self._next_s
        self._next_s = min(2 * delay, _MAX_S)
        return delay * (1 + self._draw())
