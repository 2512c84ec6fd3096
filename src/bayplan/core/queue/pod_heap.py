"""A heap of pods, or of groups of them, each of which knows its entry.

To look them up by key would take longer than all else here: of many that wait, none is in the CPU's caches.
Removal marks: the entry stays in the heap until it comes to the top or until dead entries are the majority. So every
change costs O(log n) on average, and memory stays within a small factor of what lives.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeAlias, TypeVar

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.queue.queued_group import QueuedGroup
from bayplan.core.queue.queued_pod import QueuedPod

#: A plain number where that is enough, as it is compared faster.
Order = TypeVar("Order", int, tuple[int, ...])
Item = TypeVar("Item", QueuedPod, QueuedGroup)
#: A QueueSort plugin's key from the pod and the time it was queued, smaller first. All profiles share one. What it
#: cannot distinguish goes by order of arrival, where upstream leaves it to its heap.
SortKey: TypeAlias = Callable[[PodInfo, int], tuple[int, ...]]

_DEAD_TOLERATED = 64


class PodHeap(Generic[Order, Item]):
    """Smallest order first, of equal ones the earlier arrival. An item is in one heap at a time."""

    def __init__(self) -> None:
        #: Order, number of arrival, number of the push (so that items are never compared), the item.
        self._entries: list[tuple[Order, int, int, Item]] = []
        self.count = 0
        """How many are in the heap; to be read only."""
        self._pushes = count()

    def __len__(self) -> int:
        return self.count

    def push(self, queued: Item, order: Order) -> None:
        assert queued.heap_entry is None
        entry = queued.heap_entry = (order, queued.number, next(self._pushes), queued)
        self.count += 1
        heappush(self._entries, entry)

    def remove(self, queued: Item) -> None:
        assert queued.heap_entry is not None
        queued.heap_entry = None
        self.count -= 1
        if len(self._entries) > 2 * self.count + _DEAD_TOLERATED:
            self._entries = [entry for entry in self._entries if entry[3].heap_entry is entry]
            heapify(self._entries)

    def first(self) -> Item | None:
        entries = self._entries
        while entries and entries[0][3].heap_entry is not entries[0]:
            heappop(entries)
        return entries[0][3] if entries else None

    def pop_below(self, limit: Order) -> list[Item]:
        """Take out all of smaller order than that, in order."""
        entries, taken = self._entries, []
        while entries and entries[0][0] < limit:
            entry = heappop(entries)
            queued = entry[3]
            if queued.heap_entry is entry:
                queued.heap_entry = None
                taken.append(queued)
        self.count -= len(taken)
        return taken

    def pop(self) -> Item | None:
        entries = self._entries
        while entries:
            entry = heappop(entries)
            queued = entry[3]
            if queued.heap_entry is entry:
                queued.heap_entry = None
                self.count -= 1
                return queued
        return None
