"""Nodes and pods as arrays.

Shape vocabulary used in every docstring and comment of the core:

    (nodes,)             one value for each row of the node table, ghosts included
    (nodes, resources)   resources as numbered by `ResourceVocabulary`
    (pods,)              one value for each row of the pod table
    rows                 positions in a table; `Rows` is whatever a column can be indexed with
    id                   an interned value (label value, taint set, pod shape); -1 means absent
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
IdArray: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
RowArray: TypeAlias = NDArray[np.intp]

Item = TypeVar("Item", bound=np.generic)

#: What a column is indexed with: every row (a slice, no copy) or the given ones.
Rows: TypeAlias = RowArray | slice

ALL_ROWS = slice(None)

ABSENT = -1

#: Rows are many where at least one in so many is among them.
DENSE = 32


def row_array(rows: Any) -> RowArray:
    """Rows given as any sequence, in the dtype NumPy indexes with."""
    return np.asarray(rows, dtype=np.intp)


def row_mask(rows: RowArray, count: int) -> BoolArray:
    """(count,) True for the given rows."""
    mask = np.zeros(count, dtype=np.bool_)
    mask[rows] = True
    return mask


@lru_cache(maxsize=4)
def every_row(count: int) -> RowArray:
    """All rows of a table of this length, one by one. Always the same array, so that `is` recognises it."""
    rows = np.arange(count, dtype=np.intp)
    rows.flags.writeable = False
    return rows


def are_given(rows: Rows, count: int) -> TypeGuard[RowArray]:
    """Whether rows are given one by one; False where they are all, in order."""
    return not isinstance(rows, slice) and rows is not every_row(count)


def column_at(rows: Rows, column: NDArray[Item]) -> NDArray[Item]:
    """(rows,) out of (nodes,), which may be the column itself: read-only."""
    # No row lies outside; checking takes longer.
    return column.take(rows, mode="clip") if are_given(rows, len(column)) else column


def with_room(array: NDArray[Item], length: int, fill: int = 0) -> NDArray[Item]:
    """The array if it is that long; else a copy at least twice as long, in which what is new holds `fill`."""
    if length <= len(array):
        return array
    longer = np.full(max(length, 2 * len(array)), fill, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def lengthened(array: NDArray[Item], length: int, fill: Any) -> NDArray[Item]:
    """The array with more rows at its end, which hold `fill`. For arrays that nobody else has a part of.

    The first time it is copied, with room for a sixteenth more, so that most of the time nothing has to move.
    """
    room = array.base
    if not isinstance(room, np.ndarray) or len(room) < length:
        room = np.empty(length + length // 16 + 1, dtype=array.dtype)
        room[: len(array)] = array
    room[len(array) : length] = fill
    longer: NDArray[Item] = room[:length]
    return longer


_FEW = 32


def distinct(rows: RowArray) -> RowArray:
    """The rows in order, each once. Fast where all are the same one, as after most decisions, or very many."""
    if len(rows) < 2:
        return rows
    if len(rows) < _FEW:  # arrays would take longer
        return row_array(sorted(set(rows.tolist())))
    if np.count_nonzero(rows == rows[0]) == len(rows):
        return rows[:1]
    # To count them takes little time, but for each row there could be; to sort them takes time for each row given.
    if rows.max() < DENSE * len(rows):
        return np.flatnonzero(np.bincount(rows))
    # As `np.unique` does it, without the table of hashes that it makes for whole numbers.
    ordered = np.sort(rows)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def all_differ(rows: RowArray) -> bool:
    """Whether no row is there twice."""
    if len(rows) < _FEW:  # arrays would take longer
        return len(set(rows.tolist())) == len(rows)
    ordered = np.sort(rows)
    return not (ordered[1:] == ordered[:-1]).any()
