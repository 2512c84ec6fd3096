"""Amounts of one resource on many nodes, out of (nodes, resources) tables.

After most decisions exactly one row has to be looked at again; plain ints are about ten times faster there than arrays
of length one, so a rule either works for both (`Amounts`) or has a twin for one node, and tests compare the two. Rules
change their own intermediate results in place (`+=`), never what they were given. Does not know what the amounts mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, Rows, every_row
from bayplan.core.columns.levels import Levels
from bayplan.core.snapshot import View

#: A number for one node, or an array for several.
Amounts: TypeAlias = Any


def amounts_at(rows: Rows, resource: int, table: IntArray) -> IntArray:
    """(rows,) one resource out of a (nodes, resources) table. Of all rows it is the table's own column: read-only."""
    column = table[:, resource]
    if isinstance(rows, slice) or rows is every_row(len(table)):
        return column
    return column.take(rows, mode="clip")  # no row lies outside; checking takes longer


def levels_of(view: View, rows: Rows, resources: Iterable[int]) -> Levels | None:
    """The levels of all nodes; None unless `rows` are all, every node has some of each resource, and floats will do."""
    if view.levels is None or not (isinstance(rows, slice) or rows is every_row(view.nodes.count)):
        return None
    levels = view.levels.now()
    if levels is None or not all(levels.offered_by_all[resource] for resource in resources):
        return None
    return levels


def none_is_zero(amounts: IntArray) -> bool:
    """Whether every row has some."""
    return bool(np.count_nonzero(amounts) == len(amounts))
