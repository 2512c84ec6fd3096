"""Amounts of one node or of many nodes behind the same arithmetic.

Takes the rows a plugin is asked about and gives the cells of a column there: a plain int when it is a single row, an
array otherwise. After most decisions exactly one row has to be looked at again, and plain ints are about ten times
faster there than arrays of length one. Rules written with operators and the few functions below hold for both, so
there is one rule and not two. Rules change their own intermediate results in place (`+=`), never what they were given.
Knows nothing of what the amounts mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows

#: A number for one node, or a (rows,) array for several.
Amounts: TypeAlias = Any

#: Amounts by resource.
Columns: TypeAlias = Sequence[Any] | IntArray

#: One row, or several.
Place: TypeAlias = Rows | int


def place_of(rows: Rows) -> Place:
    """The rows; a single one as a plain int."""
    if isinstance(rows, slice) or rows.size != 1:
        return rows
    return rows.item()


def cells(column: IntArray, place: Place) -> Amounts:
    """What a (nodes,) column holds there."""
    if isinstance(place, int):
        return column.item(place)
    return column[place] if isinstance(place, slice) else column.take(place)


def columns_at(table: IntArray, place: Place) -> Columns:
    """The columns of a (nodes, resources) table, each as `cells` gives it, by resource."""
    if isinstance(place, int):
        row: list[int] = table[place].tolist()
        return row
    # One gather of whole rows is cheaper than one for each column, up to about ten columns.
    return (table[place] if isinstance(place, slice) else table.take(place, axis=0)).T


def block_at(table: IntArray, rows: Rows, resources: RowArray) -> IntArray:
    """(resources, rows) a copy of some cells of a (nodes, resources) table, given (resources, 1) columns.

    Resources come first so that arithmetic runs along rows that lie side by side in memory, which is far faster.
    """
    if isinstance(rows, slice):
        rows = np.arange(len(table))[rows]
    block: IntArray = table.reshape(-1).take(rows * table.shape[1] + resources)
    return block


def as_numbers(held: Amounts) -> Amounts:
    """1 where a condition holds, 0 elsewhere."""
    return held.astype(np.int64) if isinstance(held, np.ndarray) else int(held)


def as_array(amounts: Amounts) -> IntArray:
    """(rows,) whatever the place was."""
    if isinstance(amounts, np.ndarray):
        return amounts
    return np.array([amounts], dtype=np.int64)


def smaller(left: Amounts, right: Amounts) -> Amounts:
    """The smaller one of each pair."""
    return np.minimum(left, right) if isinstance(left, np.ndarray) else min(left, right)


def larger(left: Amounts, right: Amounts) -> Amounts:
    """The larger one of each pair."""
    return np.maximum(left, right) if isinstance(left, np.ndarray) else max(left, right)


def somewhere(held: Amounts) -> bool:
    """Whether a condition holds at any of the rows."""
    return bool(np.count_nonzero(held) if isinstance(held, np.ndarray) else held)


def none_is_zero(amounts: Amounts) -> bool:
    """Whether every row has some of it."""
    return bool(np.count_nonzero(amounts) == amounts.size if isinstance(amounts, np.ndarray) else amounts)
