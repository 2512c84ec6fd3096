"""Draws from tables, all from one seed, with an account of what was offered and what was drawn.

The account is what keeps a random world from becoming dull unnoticed: a test asks over many seeds whether everything
that could be drawn was drawn. Nothing here knows what is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Table: TypeAlias = Sequence[tuple[int, Callable[..., T]]]
"""Weights, and functions that make something."""


class Draw:
    """One seed's draws."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.offered: set[str] = set()
        self.drawn: Counter[str] = Counter()
        self._names: Counter[str] = Counter()

    def name(self, stem: str) -> str:
        """A new name: node-1, node-2, pod-1, …"""
        self._names[stem] += 1
        return f"{stem}-{self._names[stem]}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def number(self, low: int, high: int) -> int:
        """Both ends included."""
        return self.random.randint(low, high)

    def any_of(self, options: Sequence[T]) -> T:
        """One of several that need no account."""
        return self.random.choice(options)

    def pick(self, what: str, *options: T) -> T:
        """One of several, each of which a test wants to see drawn."""
        self.offer(what, options)
        drawn = self.random.choice(options)
        self.note(what, drawn)
        return drawn

    def function(self, what: str, table: Table[T]) -> Callable[..., T]:
        """A function of the table, as often as its weight says; whoever calls it notes whether it did something."""
        functions = [function for _, function in table]
        self.offer(what, functions)
        return self.random.choices(functions, [weight for weight, _ in table])[0]

    def offer(self, what: str, options: Sequence[Any]) -> None:
        self.offered.update(f"{what}: {_shown(option)}" for option in options)

    def note(self, what: str, drawn: Any) -> None:
        self.drawn[f"{what}: {_shown(drawn)}"] += 1


def _shown(option: Any) -> str:
    return option.__name__ if callable(option) else str(option)
