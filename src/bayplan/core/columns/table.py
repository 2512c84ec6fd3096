"""A growable structure of arrays.

A table declares its columns once; rows are added one at a time and the arrays grow by doubling. The attributes that
others read are views of exactly `count` rows. A table whose rows come and go all the time shows its spare rows as well
(`shows_spare_rows`): they hold the fill values, and making the views anew for each row is saved.
Rows are reused through a free list; what a freed row holds is the subclass's business.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

INITIAL_CAPACITY = 64


class Table:
    """Columns of equal length, addressed by row."""

    shows_spare_rows: ClassVar[bool] = False

    def __init__(self) -> None:
        self.count = 0
        self._capacity = INITIAL_CAPACITY
        self._buffers: dict[str, NDArray[Any]] = {}
        self._fills: dict[str, Any] = {}
        self._free_rows: list[int] = []

    def _declare(self, name: str, dtype: DTypeLike, fill: Any = 0, width: int | None = None) -> None:
        shape = (self._capacity,) if width is None else (self._capacity, width)
        self._buffers[name] = np.full(shape, fill, dtype=dtype)
        self._fills[name] = fill
        self._expose(name)

    def _expose(self, name: str) -> None:
        buffer = self._buffers[name]
        setattr(self, name, buffer if self.shows_spare_rows else buffer[: self.count])

    def _new_row(self) -> int:
        """A row holding every column's fill value."""
        if self._free_rows:
            row = self._free_rows.pop()
            for name, buffer in self._buffers.items():
                buffer[row] = self._fills[name]
            return row
        if self.count == self._capacity:
            self._grow()
        row = self.count
        self.count += 1
        if not self.shows_spare_rows:
            self._expose_all()
        return row

    def _expose_all(self) -> None:
        for name in self._buffers:
            self._expose(name)

    def _free_row(self, row: int) -> None:
        self._free_rows.append(row)

    def _grow(self) -> None:
        self._capacity *= 2
        for name, old in self._buffers.items():
            new = np.full((self._capacity, *old.shape[1:]), self._fills[name], dtype=old.dtype)
            new[: old.shape[0]] = old
            self._buffers[name] = new
        self._expose_all()

    def _widen(self, name: str, width: int) -> None:
        """Give a two-dimensional column more columns; the new ones hold the fill value."""
        old = self._buffers[name]
        new = np.full((self._capacity, width), self._fills[name], dtype=old.dtype)
        new[:, : old.shape[1]] = old
        self._buffers[name] = new
        self._expose(name)
