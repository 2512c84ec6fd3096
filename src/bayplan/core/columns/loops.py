"""The compiled loops, if they were built when the package was installed.

They compute what resource plugins and rankings need for many nodes, exactly as array code does, but without
the fixed cost of each array operation, which dominates when some hundred rows have changed. Everything works without
them. Code that has both reads `loops.compiled` at each call, so that tests can switch to array code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows, every_row

if TYPE_CHECKING:
    from types import ModuleType

compiled: ModuleType | None
try:
    from bayplan.core.columns import _loops as compiled
except ImportError:
    compiled = None


#: What a pod asks for, as a rule takes it: see _loops.c.
LoopAmounts: TypeAlias = tuple[tuple[str | int, ...], ...]

#: Numbers of the rules that can be applied together, in one pass.
FIT_CODES, LEAST_ALLOCATED, MOST_ALLOCATED, BALANCED = range(4)
#: In the codes of FIT_CODES: the node has too many pods; even an empty node would not do. Resources have bits between.
TOO_MANY_PODS_BIT, UNRESOLVABLE_BIT = 1, 1 << 62
#: No rule takes more amounts.
AMOUNTS_MAX = 64


class Rule(NamedTuple):
    """A rule that the loops know, as it applies to a pod."""

    number: int
    amounts: LoopAmounts


#: A rule as the loops take it: its number, the weight of its score, and its amounts.
Step: TypeAlias = tuple[int, int, LoopAmounts]
#: For pods that ask for the same resources: instead of an amount, its place among those that such a pod asks for.
Outline: TypeAlias = tuple[Step, ...]


def outline_of(steps: Sequence[Step], columns: Sequence[str], asked: Sequence[str]) -> Outline | None:
    """None if a rule looks at more than such pods ask for.

    `columns` are the names of all columns, `asked` those of what is asked for, in this order.
    """
    outline: list[Step] = []
    for number, weight, amounts in steps:
        at = 2 if number == FIT_CODES else 1  # after the column, as _loops.c reads it
        names = [columns[int(entry[at - 1])] for entry in amounts]
        if not set(names) <= set(asked):
            return None
        places = map(asked.index, names)
        entries = zip(amounts, places, strict=True)
        outline.append((number, weight, tuple((*entry[:at], place, *entry[at + 1 :]) for entry, place in entries)))
    return tuple(outline)


def add_to_row(table: IntArray, row: int, amounts: bytes, sign: int) -> None:
    """Add an amount to each value of a row (sign +1), or subtract it (-1)."""
    if compiled is not None:
        compiled.add_to_row(table, row, amounts, sign)
    elif sign > 0:
        table[row] += np.frombuffer(amounts, dtype=np.int64)
    else:
        table[row] -= np.frombuffer(amounts, dtype=np.int64)


def rows_to_fill(rows: Rows, count: int) -> tuple[RowArray | None, IntArray]:
    """The rows as the loops take them, None for all rows of a table of this length; and (rows,) for a loop to fill."""
    if isinstance(rows, slice) or rows is every_row(count):
        return None, np.empty(count, dtype=np.int64)
    return rows, np.empty(len(rows), dtype=np.int64)
