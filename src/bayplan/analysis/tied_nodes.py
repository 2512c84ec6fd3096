"""Which nodes tied, kept small: thousands of them may tie for each of thousands of pods.

Takes choices. Mostly one node changes between two decisions on identical pods, so what is kept of a decision is how far
the changes had come: see `_Run`. Where many nodes have changed, a decision keeps a bit for each node. Names are looked
up and sorted when somebody asks for them. They are those of the time of the decision, whatever becomes of the node
table later.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bayplan.core import ranking
from bayplan.core.columns import BoolArray, IntArray, RowArray, loops, row_mask
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.decision import Fits, NeedsPreemption
from bayplan.core.ranking import Ranking

#: A row takes 32 bits when it is kept as a number, and one when it is kept in a mask.
_BITS_PER_ROW = 32
#: Up to this many changed rows are gone through one by one, which costs less than array code for so few.
_FEW_ROWS = 8
#: To look at all rows takes no longer than to follow a change of one row in this many.
_ROWS_PER_CHANGE = 64
#: What all runs that go on may take, a byte for each row.
_FOLLOWED_BYTES_MAX = 256 << 20


@dataclass(slots=True)
class _Run:
    """The ties of decisions that follow from one another."""

    first: bytes  # a bit for each row: the ties of the first decision
    turned: array[int] = field(default_factory=lambda: array("i"))  # rows that came or went since, one after another

    def rows(self, turns: int) -> RowArray:
        """Those that tied after this many turns."""
        tied = _unpacked(self.first)
        tied ^= (np.bincount(self.turned[:turns], minlength=len(tied)) & 1).astype(np.uint8)
        return tied.nonzero()[0]


def _unpacked(bits: bytes) -> NDArray[np.uint8]:
    """0 or 1 for each bit."""
    return np.unpackbits(np.frombuffer(bits, dtype=np.uint8))


def _rows_of(bits: bytes) -> RowArray:
    return _unpacked(bits).nonzero()[0]


def _ties(choice: Fits) -> tuple[int, bytes]:
    """How many of all rows tie, and a bit for each row."""
    if loops.compiled is not None:
        bounds = choice.ranking.bounds if choice.ranking is not None else None
        count, bits = loops.compiled.ties(choice.order, bounds, ranking.BLOCK_BITS, choice.tied_from)
        return count, bits
    tied = choice.order >= choice.tied_from
    return int(np.count_nonzero(tied)), _bits(tied)


class TiedNodes(Collection[str]):
    """Names of nodes, sorted. Equal to another that has the same names."""

    __slots__ = ("_count", "_kept", "_names", "_turns")

    def __init__(self, kept: _Run | array[int] | bytes, turns: int, count: int, names: Sequence[str]) -> None:
        self._kept = kept  # rows where they are few, else a bit for each, or a run
        self._turns = turns
        self._count = count
        self._names = names  # of all rows; shared with others, never changed

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        kept = self._kept
        if isinstance(kept, array):
            rows = kept.tolist()
        else:
            rows = (_rows_of(kept) if isinstance(kept, bytes) else kept.rows(self._turns)).tolist()
        return iter(sorted(self._names[row] for row in rows))

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
        self._places: RowArray = np.zeros(len(self._names), dtype=np.intp)
        self._followed: WeakKeyDictionary[Ranking, _Followed] = WeakKeyDictionary()

    def record(self, choice: Fits | NeedsPreemption) -> TiedNodes:
        """The ties of a choice that was made just now."""
        if isinstance(choice, NeedsPreemption) or (choice.ranking is None and choice.rows is not None):
            return self._apart(choice.tied_rows)
        if choice.ranking is None:
            return self._among_all(choice)
        followed = self._followed.get(choice.ranking)
        if followed is not None:
            if followed.news() * _ROWS_PER_CHANGE > len(self._names):
                return self._among_all(choice)
            if followed.follow(choice.order):
                if choice.tied_from == followed.tied_from:
                    return TiedNodes(followed.run, len(followed.run.turned), followed.count, self._names)
                if choice.tied_from > followed.tied_from:
                    return self._few([row for row in followed.better if choice.order.item(row) >= choice.tied_from])
        return self._begin(choice, choice.ranking)

    def _few(self, rows: Sequence[int]) -> TiedNodes:
        return TiedNodes(array("i", rows), 0, len(rows), self._names)

    def _apart(self, rows: RowArray) -> TiedNodes:
        """Ties that nothing follows from."""
        if len(rows) * _BITS_PER_ROW < len(self._names):
            return self._few(rows.tolist())
        return TiedNodes(_bits(row_mask(rows, len(self._names))), 0, len(rows), self._names)

    def _among_all(self, choice: Fits) -> TiedNodes:
        """Ties among all rows."""
        count, bits = _ties(choice)
        if count * _BITS_PER_ROW < len(choice.order):
            return self._few(_rows_of(bits).tolist())
        return TiedNodes(bits, 0, count, self._names)

    def _begin(self, choice: Fits, into: Ranking) -> TiedNodes:
        """Ties that follow from nothing known. If they are many, a run begins with them."""
        rows = choice.tied_rows
        if len(rows) * _BITS_PER_ROW < len(self._names):
            return self._few(rows.tolist())
        if len(self._followed) * len(self._names) > _FOLLOWED_BYTES_MAX:
            self._followed.clear()
        followed = self._followed[into] = _Followed(choice, len(rows), self._nodes, self._places)
        return TiedNodes(followed.run, 0, followed.count, self._names)


class _Followed:
    """A run that goes on: what ties in a ranking, kept up to date."""

    def __init__(self, choice: Fits, count: int, nodes: NodeTable, places: RowArray) -> None:
        """`places` (nodes,) is for scratch, whatever is in it."""
        self._places = places
        tied = choice.order >= choice.tied_from
        self.run = _Run(_bits(tied))
        self.count = count
        self.tied_from = choice.tied_from
        self.better: set[int] = set()  # rows that have become better than the best was when the run began
        self._best = choice.order.item(choice.row)
        self._tied = bytearray(tied)  # 1 for each row that ties now
        self._tied_rows: BoolArray = np.frombuffer(self._tied, dtype=np.bool_)  # the same memory
        self._log = nodes.usage_changes
        self._position = self._seen_position = self._log.position

    def news(self) -> int:
        """How often rows have changed since somebody asked this."""
        seen, self._seen_position = self._seen_position, self._log.position
        return self._seen_position - seen

    def follow(self, order: IntArray) -> bool:
        """Bring the run up to date; False when nobody knows which rows have changed."""
        log = self._log
        if log.position == self._position + 1:
            self._follow_one(log.last, order)
        else:
            changed = log.since(self._position)
            if changed is None:
                return False
            self._follow_all(changed, order)
        self._position = log.position
        return True

    def _follow_one(self, row: int, order: IntArray) -> None:
        value = order.item(row)
        ties = value >= self.tied_from
        if ties != self._tied[row]:
            self._tied[row] = ties
            self.count += 1 if ties else -1
            self.run.turned.append(row)
        if value > self._best:
            self.better.add(row)
        else:
            self.better.discard(row)

    def _follow_all(self, changed: RowArray, order: IntArray) -> None:
        if len(changed) <= _FEW_ROWS:
            for row in changed.tolist():
                self._follow_one(row, order)
            return
        values, tied = order[changed], self._tied_rows
        ties = values >= self.tied_from
        turned = changed[ties != tied[changed]]
        if len(turned):
            tied[changed] = ties
            turned = self._each_once(turned)
            self.count += 2 * int(np.count_nonzero(tied[turned])) - len(turned)
            self.run.turned.frombytes(turned.astype(np.int32).tobytes())
        if self.better:
            self.better.difference_update(changed.tolist())
        better = values > self._best
        if np.count_nonzero(better):
            self.better.update(changed[better].tolist())

    def _each_once(self, rows: RowArray) -> RowArray:
        """Without sorting them, which would take twice as long as all the rest."""
        places = np.arange(len(rows))
        self._places[rows] = places
        counts = self._places[rows] == places  # of equal rows the last one has its place there
        return rows if np.count_nonzero(counts) == len(rows) else rows[counts]


def _bits(tied: BoolArray) -> bytes:
    return np.packbits(tied).tobytes()
