"""A growable structure of arrays.

A table declares its columns in the body of its class; rows are added one at a time and the arrays grow by doubling. The
attributes that others read are views of exactly `count` rows. A table whose rows come and go all the time shows its
spare rows as well (`shows_spare_rows`): they hold the fill values, and making the views anew for each row is saved.
Rows are reused through a free list; what a freed row holds is the subclass's business. Columns that are written
together can be parts of one wider column, so that it takes one step to write them.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayplan.core.columns.resources import ResourceVocabulary

INITIAL_CAPACITY = 64
#: Rows that nobody uses between the columns of a table: were they a power of two apart, a processor's cache could hold
#: the same rows of a few columns only.
APART = 24
#: Width of a column that holds an amount of each resource.
PER_RESOURCE = -1


class _Column(NamedTuple):
    dtype: DTypeLike
    fill: Any
    width: int | None
    by_width: bool
    more: int


class _Part(NamedTuple):
    column: str
    place: int | slice


def column(dtype: DTypeLike, fill: Any = 0, *, width: int | None = None, by_width: bool = False, more: int = 0) -> Any:
    """Declares a column; `width` is the number of values in a row where that is not a single one.

    `by_width`: what lies side by side in memory are not the values of one row but one value of all rows.
    `more`: so many values come before those that `width` says.
    """
    return _Column(dtype, fill, width, by_width, more)


def part(column: str, place: int | slice) -> Any:
    """Declares a column that is no more than some of the values in a wider one."""
    return _Part(column, place)


class ColumnTable:
    """Columns of equal length, addressed by row."""

    shows_spare_rows: ClassVar[bool] = False
    _columns: ClassVar[dict[str, _Column]]
    _parts: ClassVar[dict[str, _Part]]

    def __init_subclass__(cls) -> None:
        cls._columns = {name: value for name, value in vars(cls).items() if isinstance(value, _Column)}
        cls._parts = {name: value for name, value in vars(cls).items() if isinstance(value, _Part)}
        for name in (*cls._columns, *cls._parts):
            delattr(cls, name)  # instances have the arrays

    def __init__(self, resources: ResourceVocabulary) -> None:
        self.resources = resources
        self.count = 0
        self._capacity = INITIAL_CAPACITY
        self._width = 0
        self._buffers: dict[str, NDArray[Any]] = {}
        self._free_rows: list[int] = []
        resources.on_new_width(self._set_width)

    def _set_width(self, width: int) -> None:
        self._width = width
        self._resize()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All columns by name, as they are shown."""
        return {name: getattr(self, name) for name in (*self._columns, *self._parts)}

    def _new_row(self) -> int:
        """A row that nobody has: one holding every column's fill value, or as it was left by whoever had it."""
        if self._free_rows:
            return self._free_rows.pop()
        if self.count == self._capacity:
            self._capacity *= 2
            self._resize()
        row = self.count
        self.count += 1
        if not self.shows_spare_rows:
            self._expose()
        return row

    def _clear_row(self, row: int) -> None:
        for name, declared in self._columns.items():
            self._buffers[name][row] = declared.fill

    def _free_row(self, row: int) -> None:
        self._free_rows.append(row)

    def _give_room_back(self) -> None:
        """New arrays that are no larger than the rows need."""
        self._capacity = INITIAL_CAPACITY
        while self._capacity < self.count:
            self._capacity *= 2
        self._resize()

    def _resize(self) -> None:
        """New arrays of the present capacity and width; what is new in them holds the fill values."""
        for name, (dtype, fill, width, by_width, more) in self._columns.items():
            widths = () if width is None else (more + (self._width if width == PER_RESOURCE else width),)
            if by_width:
                new = np.full((self._capacity + APART, *widths), fill, dtype=dtype, order="F")[: self._capacity]
            else:
                new = np.full((self._capacity, *widths), fill, dtype=dtype)
            if name in self._buffers:
                old = self._buffers[name][: self._capacity]
                new[tuple(map(slice, old.shape))] = old
            self._buffers[name] = new
        self._expose()

    def _expose(self) -> None:
        for name, buffer in self._buffers.items():
            setattr(self, name, buffer if self.shows_spare_rows else buffer[: self.count])
        for name, (column, place) in self._parts.items():
            setattr(self, name, getattr(self, column)[:, place])
