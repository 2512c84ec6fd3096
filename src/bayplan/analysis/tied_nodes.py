"""Which nodes tied, kept small: thousands of them may tie for each of thousands of pods.

Takes choices. Mostly one node changes between two decisions, so what is kept of a decision is how far the changes had
come: see `_Run`. Names are looked up and sorted when somebody asks for them. They are those of the time of the
decision, whatever becomes of the node table later.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, row_mask
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.decision import Fits, NeedsPreemption

#: A row takes 32 bits when it is kept as a number, and one when it is kept in a mask.
_BITS_PER_ROW = 32
#: Up to so many changed rows are gone through one by one, which costs less than array code for so few.
_FEW_ROWS = 8


@dataclass(slots=True)
class _Run:
    """The ties of decisions that follow from one another."""

    first: bytes  # a bit for each row: the ties of the first decision
    turned: array[int] = field(default_factory=lambda: array("i"))  # rows that came or went since, one after another

    def rows(self, turns: int) -> RowArray:
        """Those that tied after so many turns."""
        tied = np.unpackbits(np.frombuffer(self.first, dtype=np.uint8))
        tied ^= (np.bincount(self.turned[:turns], minlength=len(tied)) & 1).astype(np.uint8)
        return tied.nonzero()[0]


class TiedNodes(Collection[str]):
    """Names of nodes, sorted. Equal to another that has the same names."""

    __slots__ = ("_count", "_kept", "_names", "_turns")

    def __init__(self, kept: _Run | array[int], turns: int, count: int, names: Sequence[str]) -> None:
        self._kept = kept  # rows where they are few
        self._turns = turns
        self._count = count
        self._names = names  # of all rows; shared with others, never changed

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        rows = self._kept if isinstance(self._kept, array) else self._kept.rows(self._turns)
        return iter(sorted(self._names[row] for row in rows.tolist()))

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TiedNodes) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


class TieRecorder:
    """The ties of one decision after another on one node table. While it records, no node comes or goes."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._names = tuple(nodes.names)
        self._run = _Run(b"")
        # Of the run: the order it follows, up to where, and what counts as tied there.
        self._order: IntArray | None = None
        self._usage_position = 0
        self._tied_from = 0
        self._best = 0  # in the order, when the run began
        self._better: set[int] = set()  # rows that have become better than that
        self._tied = bytearray()  # 1 for each row that ties now
        self._count = 0

    def record(self, choice: Fits | NeedsPreemption) -> TiedNodes:
        """The ties of a choice that was made just now."""
        if isinstance(choice, NeedsPreemption) or choice.rows is not None:
            return self._apart(choice.tied_rows)
        if choice.order is self._order and self._follow(choice.order):
            if choice.tied_from == self._tied_from:
                return TiedNodes(self._run, len(self._run.turned), self._count, self._names)
            if choice.tied_from > self._tied_from:
                return self._few([row for row in self._better if choice.order.item(row) >= choice.tied_from])
        return self._begin(choice)

    def _few(self, rows: Sequence[int]) -> TiedNodes:
        return TiedNodes(array("i", rows), 0, len(rows), self._names)

    def _apart(self, rows: RowArray) -> TiedNodes:
        """Ties that nothing follows from."""
        if len(rows) * _BITS_PER_ROW < len(self._names):
            return self._few(rows.tolist())
        return TiedNodes(_Run(_bits(row_mask(rows, len(self._names)))), 0, len(rows), self._names)

    def _begin(self, choice: Fits) -> TiedNodes:
        """Ties that follow from nothing known. If they are many, a run begins with them."""
        tied = choice.order >= choice.tied_from
        count = int(np.count_nonzero(tied))
        if count * _BITS_PER_ROW < len(tied):
            return self._few(tied.nonzero()[0].tolist())
        self._run, self._tied, self._count = _Run(_bits(tied)), bytearray(tied), count
        self._order, self._usage_position = choice.order, self._nodes.usage_changes.position
        self._tied_from, self._best, self._better = choice.tied_from, choice.order.item(choice.row), set()
        return TiedNodes(self._run, 0, count, self._names)

    def _follow(self, order: IntArray) -> bool:
        """Bring the run up to date; False when too many rows have changed."""
        log = self._nodes.usage_changes
        news = log.position - self._usage_position
        if news == 1:
            rows = [log.last]
        elif news <= _FEW_ROWS and (changed := log.since(self._usage_position)) is not None:
            rows = changed.tolist()
        else:
            return False
        for row in rows:
            value = order.item(row)
            ties = value >= self._tied_from
            if ties != self._tied[row]:
                self._tied[row] = ties
                self._count += 1 if ties else -1
                self._run.turned.append(row)
            if value > self._best:
                self._better.add(row)
            else:
                self._better.discard(row)
        self._usage_position = log.position
        return True


def _bits(tied: BoolArray) -> bytes:
    return np.packbits(tied).tobytes()
