"""Which rows changed since when.

A reader remembers the position it has read up to and later asks for the rows logged since. The log is bounded:
a reader that lags too far gets None and must look at every row again.

What was done after some position can be undone (`take_back`). Readers that were away in the meantime need not look at
anything; those that read halfway through get the rows that they have read.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from bayplan.core.columns import RowArray

LOG_LENGTH_MAX = 1 << 16


class ChangeLog:
    """A log of row numbers."""

    __slots__ = ("_cells", "_length", "_rows", "_skipped", "_undone_ends", "_undone_starts", "position")

    def __init__(self) -> None:
        self._rows: RowArray = np.zeros(LOG_LENGTH_MAX, dtype=np.intp)
        self._cells = self._rows.data  # which takes single values in less time
        self._length = 0
        #: Stretches of the log that were undone, one for each time; and the same with those that touch as one.
        self._undone_starts: list[int] = []
        self._undone_ends: list[int] = []
        self._skipped: list[tuple[int, int]] = []
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
        self.position += 2  # as readers look at a single entry without asking

    def since(self, position: int) -> RowArray | None:
        """Rows logged after `position`, some perhaps several times; None when the log does not reach back that far."""
        if self._undone_ends and position < self._undone_ends[-1]:
            return self._since_undone(position)
        first = self._length - self.position + position
        return self._rows[first : self._length].copy() if first >= 0 else None

    def take_back(self, position: int) -> None:
        """All rows are again as they were at this position."""
        if self.position == position:
            return
        # Nobody must stand at its end who has read it. Two entries, as readers look at a single one without asking.
        self.append(0)
        self.append(0)
        while self._undone_starts and self._undone_starts[-1] >= position:
            del self._undone_starts[-1], self._undone_ends[-1]
        self._undone_starts.append(position)
        self._undone_ends.append(self.position)
        start = position
        while self._skipped and self._skipped[-1][1] >= position:
            start = min(start, self._skipped.pop()[0])
        self._skipped.append((start, self.position))

    def _between(self, position: int, end: int) -> RowArray | None:
        """Rows logged after one position, up to the other."""
        first = self._length - self.position
        return self._rows[first + position : first + end].copy() if first + position >= 0 else None

    def _since_undone(self, position: int) -> RowArray | None:
        """Rows to look at for a reader who comes from before something was undone."""
        pieces: list[RowArray | None] = []
        at = bisect_right(self._undone_ends, position)
        if self._undone_starts[at] < position:
            pieces.append(self._between(self._undone_starts[at], position))
            position = self._undone_ends[at]
        for start, end in self._skipped:
            if end > position:
                if start > position:
                    pieces.append(self._between(position, start))
                position = end
        pieces.append(self._between(position, self.position))
        known = [piece for piece in pieces if piece is not None]
        return np.concatenate(known) if len(known) == len(pieces) else None
