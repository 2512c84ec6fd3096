"""Which rows changed since when.

A reader remembers the position it has read up to and later asks for the rows logged since. The log is bounded:
a reader that lags too far gets None and must look at every row again.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray

LOG_LENGTH_MAX = 1 << 16


class ChangeLog:
    """An append-only log of row numbers."""

    __slots__ = ("_cells", "_length", "_rows", "position")

    def __init__(self) -> None:
        self._rows: RowArray = np.zeros(LOG_LENGTH_MAX, dtype=np.intp)
        self._cells = self._rows.data  # which takes single values in less time
        self._length = 0
        self.position = 0
        """Where a reader that has seen everything stands; to be read only."""

    @property
    def last(self) -> int:
        """The row logged most recently."""
        return self._cells[self._length - 1]

    def append(self, row: int) -> None:
        if self._length == LOG_LENGTH_MAX:
            keep = LOG_LENGTH_MAX // 2
            self._rows[:keep] = self._rows[-keep:]
            self._length = keep
        self._cells[self._length] = row
        self._length += 1
        self.position += 1

    def break_off(self) -> None:
        """Every row may have changed."""
        self._length = 0
        self.position += 1

    def since(self, position: int) -> RowArray | None:
        """Rows logged after `position`, some perhaps several times; None when the log does not reach back that far."""
        start = self._length - (self.position - position)
        return self._rows[start : self._length].copy() if start >= 0 else None
