"""Counts of marked things that cost nothing to keep: how many pods of an owner are active, ready, and so on.

Marks are bits. The last marks of every name are remembered, so that being told the same twice counts once, and a
controller can tell at once whether a change means anything to it. A name without marks is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator


class Tally:
    """The marks of names, and how many names have each."""

    __slots__ = ("_counts", "_marks")

    def __init__(self) -> None:
        self._marks: dict[str, int] = {}
        # By the whole set of marks: there are only a few combinations, and a change touches two of them.
        self._counts: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._marks)

    def __len__(self) -> int:
        return len(self._marks)

    def __iter__(self) -> Iterator[str]:
        return iter(self._marks)

    def marks(self, name: str) -> int:
        return self._marks.get(name, 0)

    def note(self, name: str, marks: int) -> bool:
        """Gives the name these marks instead of its old ones; says whether they differ."""
        before = self._marks.get(name, 0)
        if before == marks:
            return False
        if before:
            self._counts[before] -= 1
        if marks:
            self._marks[name] = marks
            self._counts[marks] = self._counts.get(marks, 0) + 1
        else:
            del self._marks[name]
        return True

    def having(self, wanted: int) -> int:
        """How many names have all of these marks, and perhaps others."""
        return sum(count for marks, count in self._counts.items() if marks & wanted == wanted)

    def names_having(self, wanted: int) -> list[str]:
        """The names with all of these marks, in the order in which they were first noted."""
        return [name for name, marks in self._marks.items() if marks & wanted == wanted]
