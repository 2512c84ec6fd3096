"""Strings (and other hashable values) become small integers once, so that arrays can hold them.

Ids are dense and never reused: an array of ids stays valid for as long as its vocabulary lives.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from bayplan.core.columns import ABSENT

Value = TypeVar("Value")


class Vocabulary(Generic[Value]):
    """A two-way table between values and ids."""

    __slots__ = ("_ids", "values")

    def __init__(self) -> None:
        self._ids: dict[Value, int] = {}
        self.values: list[Value] = []

    def __len__(self) -> int:
        return len(self.values)

    def id(self, value: Value) -> int:
        """The id of `value`, given to it now if it is new."""
        known = self._ids.get(value)
        if known is None:
            known = self._ids[value] = len(self.values)
            self.values.append(value)
        return known

    def find(self, value: Value) -> int:
        """The id of `value`, or ABSENT."""
        return self._ids.get(value, ABSENT)
