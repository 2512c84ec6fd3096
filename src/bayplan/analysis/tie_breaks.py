"""Of equally good nodes the one that wins.

Which of several best nodes wins is arbitrary upstream; here it is a stated rule, so that the same input gives the same
answer: the smallest name, or a seeded draw. The rules look at rows; nobody has to spell out the names of all that tie.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bayplan.core.decision import Fits, NeedsPreemption
from bayplan.core.snapshot import View


class TieBreak(Protocol):
    """Chooses the row of one of several equally good nodes."""

    def __call__(self, choice: Fits | NeedsPreemption, view: View) -> int: ...


def smallest_name(choice: Fits | NeedsPreemption, view: View) -> int:  # noqa: ARG001
    """What the core chooses by itself."""
    return choice.row


class SeededDraw:
    """A draw that depends only on the seed, on how often it was asked, and on the names of the tied nodes.

    A small multiply-and-shift generator of its own: no library's randomness, whose sequence may change.
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF

    def __call__(self, choice: Fits | NeedsPreemption, view: View) -> int:
        rows = choice.tied_rows
        by_name = rows[np.argsort(view.nodes.name_ranks()[rows])]
        return by_name.item(self._next() % len(rows))

    def _next(self) -> int:
        state = self._state
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        self._state = state or 1
        return state >> 11


def tie_break(rule: str) -> TieBreak:
    """The rule named `name`, or `seed:N`. Raises ValueError on anything else."""
    if rule == "name":
        return smallest_name
    kind, _, seed = rule.partition(":")
    if kind == "seed" and seed.lstrip("-").isdigit():
        return SeededDraw(int(seed))
    raise ValueError(f'ties must be "name" or "seed:N", not {rule!r}')
