"""Amounts of one node or of many nodes behind the same arithmetic.

Gives (resources, rows) blocks out of (nodes, resources) tables. After most decisions exactly one row has to be looked
at again; plain ints are about ten times faster there than arrays of length one, so rules written with operators and
the few functions below hold for both. Where even that is too slow a rule has a twin for one node beside it, and tests
hold them together. Rules change their own intermediate results in place (`+=`), never what they were given. Knows
nothing of what the amounts mean.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows, every_row

#: A number for one node, or an array for several.
Amounts: TypeAlias = Any


def blocks_at(rows: Rows, resources: RowArray, *tables: IntArray) -> list[IntArray]:
    """(resources, rows) copies of the same cells of (nodes, resources) tables, given (resources, 1) columns.

    Resources come first so that arithmetic runs along rows that lie side by side in memory, which is far faster.
    """
    node_count, width = tables[0].shape
    if isinstance(rows, slice):
        rows = every_row(node_count)[rows]
    places = rows * width + resources
    return [table.reshape(-1).take(places) for table in tables]


def as_numbers(held: Amounts) -> Amounts:
    """1 where a condition holds, 0 elsewhere."""
    return held.astype(np.int64) if isinstance(held, np.ndarray) else int(held)


def smaller(left: Amounts, right: Amounts) -> Amounts:
    """The smaller one of each pair."""
    return np.minimum(left, right) if isinstance(left, np.ndarray) else min(left, right)


def larger(left: Amounts, right: Amounts) -> Amounts:
    """The larger one of each pair."""
    return np.maximum(left, right) if isinstance(left, np.ndarray) else max(left, right)


def none_is_zero(amounts: Amounts) -> bool:
    """Whether every row has some of it."""
    return bool(np.count_nonzero(amounts) == amounts.size if isinstance(amounts, np.ndarray) else amounts)
