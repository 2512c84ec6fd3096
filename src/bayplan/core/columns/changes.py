"""Which rows changed since when.

A reader remembers the position it has read up to and later asks for the rows logged since. The log is bounded:
a reader that lags too far is told so (None) and must look at every row again.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray

LOG_LENGTH_MAX = 1 << 16


class ChangeLog:
    """An append-only log of row numbers."""

    __slots__ = ("_dropped", "_rows")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._dropped = 0

    @property
    def position(self) -> int:
        """Where a reader that has seen everything stands."""
        return self._dropped + len(self._rows)

    def append(self, row: int) -> None:
        self._rows.append(row)
        if len(self._rows) > LOG_LENGTH_MAX:
            keep = LOG_LENGTH_MAX // 2
            self._dropped += len(self._rows) - keep
            self._rows = self._rows[-keep:]

    def since(self, position: int) -> RowArray | None:
        """Distinct rows logged after `position`; None when the log no longer reaches back that far."""
        start = position - self._dropped
        if start < 0:
            return None
        return np.array(sorted(set(self._rows[start:])), dtype=np.intp)
