"""Numbers in the order of names, for ties between nodes.

Numbers lie apart, so that a node that joins gets one between those of its neighbours and all others keep theirs. Only
when there is no number left between two neighbours are all numbered again. Numbers of rows without a node mean nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping

import numpy as np

from bayplan.core.columns import IntArray, with_room

#: Every number is smaller.
RANKS_END = 1 << 32
#: Where at least one name in so many is new, to sort them all takes less time than to insert each.
MANY = 8


class NameRanks:
    """The numbers of all rows of a node table."""

    def __init__(self, rows_by_name: Mapping[str, int]) -> None:
        self._rows_by_name = rows_by_name
        self._sorted: list[str] = []  # names that have a number
        self._new: set[str] = set()  # names that have none yet
        self._ranks: IntArray = np.zeros(0, dtype=np.int64)
        self._shown = self._ranks
        self._step = RANKS_END // 2
        self.version = 0  # grows when all are numbered again

    def add(self, name: str) -> None:
        self._new.add(name)

    def remove(self, name: str) -> None:
        if name in self._new:
            self._new.remove(name)
        else:
            del self._sorted[bisect_left(self._sorted, name)]

    def put_back(self, name: str, version: int) -> None:
        """A name that was removed, since when none has come that is still there: it has the number that it had."""
        if version == self.version and name not in self._new:
            insort(self._sorted, name)
        else:
            self._new.add(name)

    def of_rows(self, count: int) -> IntArray:
        """(count,) the smaller the number, the smaller the name. Changes in place when a row gets another name."""
        if not self._new and len(self._shown) == count:
            return self._shown
        self._ranks = with_room(self._ranks, count)
        if self._new:
            if MANY * len(self._new) > len(self._sorted) or not all(map(self._insert, sorted(self._new))):
                self._number_all()
            self._new.clear()
        self._shown = self._ranks[:count]
        return self._shown

    def _insert(self, name: str) -> bool:
        """False if there is no number left between its neighbours."""
        names, place = self._sorted, bisect_left(self._sorted, name)
        low = self._rank_of(names[place - 1]) if place else -1
        high = self._rank_of(names[place]) if place < len(names) else RANKS_END
        if high - low < 2:
            return False
        half = (high - low) // 2
        if place == len(names):  # nodes are often named in the order in which they join
            half = min(half, self._step)
        insort(names, name)
        self._ranks[self._rows_by_name[name]] = low + half
        return True

    def _rank_of(self, name: str) -> int:
        return self._ranks.item(self._rows_by_name[name])

    def _number_all(self) -> None:
        self._sorted = sorted({*self._sorted, *self._new})
        # Half of all numbers are left for names that come after the last one.
        self._step = max(RANKS_END // 2 // (len(self._sorted) + 1), 1)
        rows = [self._rows_by_name[name] for name in self._sorted]
        self._ranks[rows] = np.arange(1, len(rows) + 1) * self._step
        self.version += 1
