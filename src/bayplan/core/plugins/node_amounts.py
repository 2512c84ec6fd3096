"""Amounts of resources on many nodes, out of (nodes, resources) tables.

Rules change their own intermediate results in place (`+=`), never what they were given. Does not know what the amounts
mean. Upstream: none, as it looks at one node at a time.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, Rows, column_at

#: A number for one node, or an array for several.
Amounts: TypeAlias = Any


def amounts_at(rows: Rows, resource: int, table: IntArray) -> IntArray:
    """(rows,) one resource out of a (nodes, resources) table. Of all rows it is the table's own column: read-only."""
    return column_at(rows, table[:, resource])


def none_is_zero(amounts: IntArray) -> bool:
    """Whether every row has some."""
    return bool(np.count_nonzero(amounts) == amounts.size)
