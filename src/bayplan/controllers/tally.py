"""Counts of marked things that cost nothing to keep: how many pods of an owner are active, ready, and so on.

Marks are bits. The last marks of every name are remembered, so that being told the same twice counts once, and a
controller can tell at once whether a change means anything to it. A name without marks is forgotten. Asking for names
costs as much as there are names to answer with.
"""

from __future__ import annotations


class Tally:
    """The marks of names, and the names that have each."""

    __slots__ = ("_marks", "_names")

    def __init__(self) -> None:
        self._marks: dict[str, int] = {}
        # By the whole set of marks: there are only a few combinations, and a change touches two of them.
        self._names: dict[int, dict[str, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._marks)

    def marks(self, name: str) -> int:
        return self._marks.get(name, 0)

    def note(self, name: str, marks: int) -> bool:
        """Gives the name these marks instead of its old ones; says whether they differ."""
        before = self._marks.get(name, 0)
        if before == marks:
            return False
        if before:
            del self._names[before][name]
        if marks:
            self._marks[name] = marks
            self._names.setdefault(marks, {})[name] = None
        else:
            del self._marks[name]
        return True

    def having(self, wanted: int) -> int:
        """How many names have all of these marks, and perhaps others."""
        return sum(len(names) for marks, names in self._names.items() if marks & wanted == wanted)

    def names_having(self, wanted: int) -> list[str]:
        """The names with all of these marks, those alike together, in the order in which they came to be so."""
        return [name for marks, names in self._names.items() if marks & wanted == wanted for name in names]
