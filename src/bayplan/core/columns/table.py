"""A growable structure of arrays.

A table declares its columns in the body of its class; rows are added one at a time and the arrays grow by doubling. The
attributes that others read are views of exactly `count` rows. A table whose rows come and go all the time shows its
spare rows as well (`shows_spare_rows`): they hold the fill values, and making the views anew for each row is saved.
Rows are reused through a free list; what a freed row holds is the subclass's business.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bayplan.core.columns.resources import ResourceVocabulary

INITIAL_CAPACITY = 64
#: Width of a column that holds an amount of each resource.
PER_RESOURCE = -1


class _Column(NamedTuple):
    dtype: DTypeLike
    fill: Any
    width: int | None
    by_width: bool


def column(dtype: DTypeLike, fill: Any = 0, *, width: int | None = None, by_width: bool = False) -> Any:
    """Declares a column; `width` is the number of values in a row where that is not a single one.

    `by_width`: what lies side by side in memory are not the values of one row but one value of all rows.
    """
    return _Column(dtype, fill, width, by_width)


class Table:
    """Columns of equal length, addressed by row."""

    shows_spare_rows: ClassVar[bool] = False
    _columns: ClassVar[dict[str, _Column]]

    def __init_subclass__(cls) -> None:
        cls._columns = {name: value for name, value in vars(cls).items() if isinstance(value, _Column)}
        for name in cls._columns:
            delattr(cls, name)  # instances have the arrays

    def __init__(self, resources: ResourceVocabulary) -> None:
        self.resources = resources
        self.count = 0
        self._capacity = INITIAL_CAPACITY
        self._width = len(resources)
        self._buffers: dict[str, NDArray[Any]] = {}
        self._free_rows: list[int] = []
        self._resize()

    def widen(self) -> None:
        """Make room for resources that were named since the table was built."""
        if self._width < len(self.resources):
            self._width = len(self.resources)
            self._resize()

    def _new_row(self) -> int:
        """A row holding every column's fill value."""
        if self._free_rows:
            row = self._free_rows.pop()
            for buffer, fill in self._fills:
                buffer[row] = fill
            return row
        if self.count == self._capacity:
            self._capacity *= 2
            self._resize()
        row = self.count
        self.count += 1
        if not self.shows_spare_rows:
            self._expose()
        return row

    def _free_row(self, row: int) -> None:
        self._free_rows.append(row)

    def _resize(self) -> None:
        """New arrays of the present capacity and width; what is new in them holds the fill values."""
        for name, (dtype, fill, width, by_width) in self._columns.items():
            widths = () if width is None else (self._width if width == PER_RESOURCE else width,)
            new = np.full((self._capacity, *widths), fill, dtype=dtype, order="F" if by_width else "C")
            if name in self._buffers:
                old = self._buffers[name]
                new[tuple(map(slice, old.shape))] = old
            self._buffers[name] = new
        self._fills = [(self._buffers[name], declared.fill) for name, declared in self._columns.items()]
        self._expose()

    def _expose(self) -> None:
        for name, buffer in self._buffers.items():
            setattr(self, name, buffer if self.shows_spare_rows else buffer[: self.count])
