"""Node labels as columns: one int32 id for each node and key, -1 where the node lacks the key.

A column is built when its key is first asked for and kept up to date from then on. Ids are dense within their key, so
the same column serves as a selector's input (a lookup by value id) and as a topology (a domain id for `np.bincount`).
The columns that were not asked for the longest time go when there are many: one for each key that some pod once named
would make every change of a node slower.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayplan.core.columns import ABSENT, BoolArray, IdArray, Item, RowArray, row_array, row_mask, with_room
from bayplan.core.columns.vocabulary import Vocabulary

#: More keys than these are seldom in use at the same time.
COLUMNS_MAX = 64

NO_LABELS: Mapping[str, str] = {}


class LabelColumn:
    """The values of one label key."""

    def __init__(self, values: Sequence[str | None]) -> None:
        """Of the nodes in order; None where a node lacks the key."""
        self.values: Vocabulary[str] = Vocabulary(blank="")
        ids = [ABSENT if value is None else self.values.take(value) for value in values]
        self._buffer: IdArray = np.array(ids or [ABSENT], dtype=np.int32)
        self.ids: IdArray = self._buffer[: len(values)]
        self.version = 0  # grows when any node's value changes
        self.is_followed = True  # False: it was dropped, and does not follow nodes from now on
        self._derived: dict[str, NDArray[Any]] = {}  # from the present values
        self._domain_count: tuple[int, RowArray, int] | None = None

    @property
    def domains(self) -> int:
        """The length of an array with an entry for each value that a node has; some may be for none."""
        return len(self.values)

    def set(self, row: int, value: str | None) -> None:
        self._buffer = with_room(self._buffer, row + 1, ABSENT)
        self.ids = self._buffer[: max(len(self.ids), row + 1)]
        held, self.ids[row] = int(self.ids[row]), ABSENT if value is None else self.values.take(value)
        if held != ABSENT:
            self.values.drop(held)
        self._changed()

    def shorten(self, count: int) -> None:
        """There are no rows from `count` on."""
        self.ids = self._buffer[:count]
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._derived.clear()

    def _made_once(self, name: str, make: Callable[[], NDArray[Item]]) -> NDArray[Item]:
        """Made anew after each change that somebody asks after."""
        known = self._derived.get(name)
        if known is None:
            known = self._derived[name] = make()
        return known

    @property
    def present(self) -> BoolArray:
        """(nodes,) which nodes have the key; read-only."""
        return self._made_once("present", lambda: self.ids != ABSENT)

    @property
    def places(self) -> RowArray:
        """(nodes,) ids in which nodes without the key share that of the empty value, or `domains`; read-only."""
        return self._made_once("places", self._places)

    def _places(self) -> RowArray:
        empty = self.values.find("")
        return np.where(self.ids == ABSENT, self.domains if empty == ABSENT else empty, self.ids.astype(np.intp))

    def domain_count(self, rows: RowArray) -> int:
        """In how many `places` these nodes stand. Remembered for the rows asked about last, which stay as they are."""
        known = self._domain_count
        if known is None or known[0] != self.version or known[1] is not rows:
            held = np.bincount(self.places[rows])
            known = self._domain_count = (self.version, rows, int(np.count_nonzero(held)))
        return known[2]

    @property
    def existing(self) -> BoolArray:
        """(domains + 1,) which values some node has now; the last entry answers for id -1. Read-only."""
        return self._made_once("existing", lambda: row_mask(row_array(self.ids[self.present]), self.domains + 1))

    def where(self, accepts: Callable[[str], bool], *, absent: bool) -> BoolArray:
        """(nodes,) nodes whose value is accepted; nodes without the key count as `absent`.

        The test runs once for each distinct value. The lookup's last entry answers for id -1.
        """
        lookup = np.array([accepts(value) for value in self.values.values] + [absent], dtype=np.bool_)
        return lookup[self.ids]


class NodeLabels:
    """The labels of all nodes, as columns on demand."""

    def __init__(self) -> None:
        self._labels: list[Mapping[str, str]] = []
        self.columns: OrderedDict[str, LabelColumn] = OrderedDict()  # the one asked for last at the end

    def __getitem__(self, row: int) -> Mapping[str, str]:
        return self._labels[row]

    def column(self, key: str) -> LabelColumn:
        column = self.columns.get(key)
        if column is not None:
            self.columns.move_to_end(key)
            return column
        if len(self.columns) >= COLUMNS_MAX:
            _, dropped = self.columns.popitem(last=False)
            dropped.version += 1  # what was worked out from it is out of date from now on
            dropped.is_followed = False
        column = self.columns[key] = LabelColumn([labels.get(key) for labels in self._labels])
        return column

    def shorten(self, count: int) -> None:
        """There are no nodes from row `count` on."""
        del self._labels[count:]
        for column in self.columns.values():
            column.shorten(count)

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        while row >= len(self._labels):
            self._labels.append(NO_LABELS)
            for column in self.columns.values():
                column.set(len(self._labels) - 1, None)
        self._labels[row] = labels
        for key, column in self.columns.items():
            column.set(row, labels.get(key))
