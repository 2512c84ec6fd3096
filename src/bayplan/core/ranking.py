"""A value for each node, the better the higher, in which the best is found without looking at all of them.

Rows stand in blocks, and for each block there is a bound that no value in it exceeds. A value that grows lifts the
bound of its block, one that falls leaves it where it is: a bound that has become too high is noticed, and lowered, when
its block is searched for the best. So a change costs nothing but itself, and the best is found in the highest of the
bounds and one block, or a few. Does not know what the values mean.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import IntArray, RowArray, lengthened, loops

#: A block has two to the power of this many rows: few enough to look at in no time, and so many that even the largest
#: clusters have but some thousand blocks.
BLOCK_BITS = 8
#: To look at so many blocks in one go takes no longer than to look at one alone.
BLOCKS_AT_ONCE = 8


class Ranking:
    """Values of all nodes. Different nodes have different values, unless they have the lowest there is."""

    __slots__ = ("__weakref__", "bounds", "values")

    def __init__(self, values: IntArray) -> None:
        """Takes the array as its own; what others change in it must not grow."""
        self.values = values  # (nodes,)
        #: (blocks,)
        self.bounds: IntArray = np.maximum.reduceat(values, np.arange(0, len(values), 1 << BLOCK_BITS))

    def best(self) -> int:
        """The row with the highest value."""
        values, bounds = self.values, self.bounds
        if loops.compiled is not None:
            row: int = loops.compiled.best_row(values, bounds, BLOCK_BITS)
            return row
        if len(bounds) == 1:
            return int(values.argmax())
        while True:
            block = int(bounds.argmax())
            start = block << BLOCK_BITS
            row = start + int(values[start : start + (1 << BLOCK_BITS)].argmax())
            highest = values.item(row)
            if highest == bounds.item(block):
                return row
            bounds[block] = highest

    def lengthen(self, count: int, value: int) -> None:
        """More rows, all with this value, which is the lowest there is."""
        self.values = lengthened(self.values, count, value)
        self.bounds = lengthened(self.bounds, ((count - 1) >> BLOCK_BITS) + 1, value)

    def put_all(self, rows: RowArray, values: IntArray) -> None:
        """Of a row that comes several times the value must be the same each time."""
        if loops.compiled is not None:
            loops.compiled.put_rows(self.values, self.bounds, BLOCK_BITS, rows, values)
            return
        self.values[rows] = values
        blocks = rows >> BLOCK_BITS
        above = values > self.bounds.take(blocks)
        if np.count_nonzero(above):
            np.maximum.at(self.bounds, blocks[above], values[above])

    def rows_from(self, lowest: int) -> RowArray:
        """The rows with this value or a higher one, in order."""
        blocks = (self.bounds >= lowest).nonzero()[0]
        if BLOCKS_AT_ONCE * len(blocks) > len(self.bounds):
            return (self.values >= lowest).nonzero()[0]
        starts = (blocks << BLOCK_BITS).tolist()
        found = [(self.values[at : at + (1 << BLOCK_BITS)] >= lowest).nonzero()[0] + at for at in starts]
        return np.concatenate(found) if found else blocks
