"""Totals -> one node.

Which of several best nodes wins is arbitrary upstream; here it is a stated rule, so that the same input gives the same
answer: the smallest name, or a seeded draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TieBreak(Protocol):
    """Chooses one of several equally good node names, given in sorted order."""

    def __call__(self, names: Sequence[str]) -> str: ...


def smallest_name(names: Sequence[str]) -> str:
    return min(names)


class SeededDraw:
    """A draw that depends only on the seed and on how often it was asked.

    A small multiply-and-shift generator of its own: the core uses no library randomness, whose sequence may change.
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF

    def __call__(self, names: Sequence[str]) -> str:
        state = self._state
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        self._state = state or 1
        return sorted(names)[(state >> 11) % len(names)]


def tie_break(rule: str) -> TieBreak:
    """The rule named `name`, or `seed:N`. Raises ValueError on anything else."""
    if rule == "name":
        return smallest_name
    kind, _, seed = rule.partition(":")
    if kind == "seed" and seed.lstrip("-").isdigit():
        return SeededDraw(int(seed))
    raise ValueError(f'ties must be "name" or "seed:N", not {rule!r}')
