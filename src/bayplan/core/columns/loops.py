"""The compiled loops, if they were built when the package was installed.

They compute what resource plugins and rankings need for many nodes, exactly as array code does, but without
the fixed cost of each array operation, which dominates when some hundred rows have changed. Everything works without
them. Code that has both reads `loops.compiled` at each call, so that tests can switch to array code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows, are_given

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
#: No rule takes more amounts.
AMOUNTS_MAX = 64


class Rule(NamedTuple):
    """A rule that the loops know, as it applies to a pod."""

    number: int
    amounts: LoopAmounts


#: The same with the weight of a score: number, weight, amounts.
Step: TypeAlias = tuple[int, int, LoopAmounts]
#: Where an amount goes: the name of what it is of, and what comes before and after it.
Blank: TypeAlias = tuple[str, tuple[str | int, ...], tuple[str | int, ...]]


class Outline:
    """Steps with blanks for the amounts, for pods that ask for the same resources."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Sequence[Step], names: Sequence[str]) -> None:
        """`names` are those of the columns."""
        self._steps = [(number, weight, _blanks(number, amounts, names)) for number, weight, amounts in steps]

    def steps(self, asked: Mapping[str, int]) -> tuple[Step, ...]:
        """Filled in."""
        return tuple(
            [
                (number, weight, tuple([(*before, asked[name], *after) for name, before, after in blanks]))
                for number, weight, blanks in self._steps
            ]
        )


def _blanks(rule: int, amounts: LoopAmounts, names: Sequence[str]) -> list[Blank]:
    at = 2 if rule == FIT_CODES else 1  # after the column, as _loops.c reads it
    return [(names[int(entry[at - 1])], entry[:at], entry[at + 1 :]) for entry in amounts]


def given_rows(rows: Rows, count: int) -> RowArray | None:
    """The rows as the loops take them: None for all rows of a table of this length."""
    return rows if are_given(rows, count) else None


def empty_for(rows: RowArray | None, count: int) -> IntArray:
    """(rows,) an array for a loop to fill."""
    return np.empty(count if rows is None else len(rows), dtype=np.int64)
