"""Amounts of resources on many nodes: whole numbers out of (nodes, resources) tables, and floats out of levels.

After most decisions exactly one row has to be looked at again; plain ints are about ten times faster there than arrays
of length one, so a rule either works for both (`Amounts`) or has a twin for one node, and tests compare the two. Rules
change their own intermediate results in place (`+=`), never what they were given. Does not know what the amounts mean.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.core.columns import FloatArray, IntArray, Item, Rows, are_given, column_at
from bayplan.core.columns.levels import Levels
from bayplan.core.snapshot import View

#: A number for one node, or an array for several.
Amounts: TypeAlias = Any
#: What (resources, nodes) levels are indexed with; a slice wherever possible, which makes no copy.
Columns: TypeAlias = slice | list[int]


def amounts_at(rows: Rows, resource: int, table: IntArray) -> IntArray:
    """(rows,) one resource out of a (nodes, resources) table. Of all rows it is the table's own column: read-only."""
    return column_at(rows, table[:, resource])


def levels_of(view: View, resources: tuple[int, ...]) -> Levels | None:
    """The levels of nodes as they are; None where a node has none of a resource, or floats will not do."""
    levels = view.levels.now() if view.levels is not None else None
    return levels if levels is not None and levels.all_offer(resources) else None


@lru_cache(maxsize=64)
def columns_of(resources: tuple[int, ...]) -> Columns:
    """Where levels have these resources."""
    start, count = min(resources, default=0), len(resources)
    return slice(start, start + count) if [*resources] == [*range(start, start + count)] else [*resources]


def levels_at(rows: Rows, columns: Columns, levels: NDArray[Item]) -> NDArray[Item]:
    """(resources, rows) out of (resources, nodes). It may be the levels themselves: read-only."""
    found: NDArray[Item] = levels[columns]
    return found.take(rows, axis=1, mode="clip") if are_given(rows, levels.shape[1]) else found


def capacities_at(rows: Rows, columns: Columns, levels: Levels) -> FloatArray:
    """(resources, rows) of what nodes have."""
    capacities = levels.capacities
    return levels.capacities_at(rows, columns) if are_given(rows, capacities.shape[1]) else capacities[columns]


def none_is_zero(amounts: IntArray) -> bool:
    """Whether every row has some."""
    return bool(np.count_nonzero(amounts) == amounts.size)
