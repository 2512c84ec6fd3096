"""Amounts of many nodes as (resources, rows) blocks out of (nodes, resources) tables.

After most decisions exactly one row has to be looked at again; plain ints are about ten times faster there than arrays
of length one, so a rule either works for both (`Amounts`) or has a twin for one node, and tests compare the two. Rules
change their own intermediate results in place (`+=`), never what they were given. Does not know what the amounts mean.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows, every_row

#: A number for one node, or an array for several.
Amounts: TypeAlias = Any


def blocks_at(rows: Rows, resources: RowArray, *tables: IntArray) -> list[IntArray]:
    """(resources, rows) copies of the same cells of (nodes, resources) tables, given (resources, 1) columns.

    Resources come first so that arithmetic runs along rows that lie side by side in memory, which is far faster. The
    tables lie so, too.
    """
    columns = resources[:, 0]
    if isinstance(rows, slice):
        return [table[rows].T[columns] for table in tables]
    if rows is every_row(len(tables[0])):
        return [table.T[columns] for table in tables]
    blocks = []
    for table in tables:
        block = np.empty((len(columns), len(rows)), dtype=np.int64)
        for place, column in enumerate(columns.tolist()):
            table[:, column].take(rows, out=block[place], mode="clip")  # no row lies outside; checking takes longer
        blocks.append(block)
    return blocks


def none_is_zero(amounts: IntArray) -> bool:
    """Whether every row has some of every resource."""
    return bool(np.count_nonzero(amounts) == amounts.size)
