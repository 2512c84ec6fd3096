"""A heap of pods that also knows them by key.

Removal marks: the entry stays in the heap until it comes to the top or until dead entries are the majority. So every
change costs O(log n) on average, and memory stays within a small factor of what lives.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeAlias

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.queue.queued_pod import QueuedPod

Order: TypeAlias = tuple[int, ...]
#: A QueueSort plugin's key from the pod and the time it was queued, smaller first. All profiles share one. What it
#: cannot distinguish goes by order of arrival, where upstream leaves it to its heap.
SortKey: TypeAlias = Callable[[PodInfo, int], Order]
#: Order, number of arrival, number of the push (so that pods are never compared), the pod.
_Entry: TypeAlias = tuple[Order, int, int, QueuedPod]

_DEAD_TOLERATED = 64


class PodHeap:
    """Smallest order first, of equal ones the earlier arrival."""

    def __init__(self, order: Callable[[QueuedPod], Order]) -> None:
        self._order = order
        self._entries: list[_Entry] = []
        self.live: dict[str, _Entry] = {}
        """What is in the heap, by key; to be read only."""
        self._pushes = count()

    def __len__(self) -> int:
        return len(self.live)

    def __contains__(self, key: str) -> bool:
        return key in self.live

    def push(self, queued: QueuedPod) -> None:
        live, key = self.live, queued.key
        assert key not in live
        entry = (self._order(queued), queued.number, next(self._pushes), queued)
        live[key] = entry
        heappush(self._entries, entry)

    def remove(self, key: str) -> QueuedPod | None:
        entry = self.live.pop(key, None)
        if entry is None:
            return None
        if len(self._entries) > 2 * len(self.live) + _DEAD_TOLERATED:
            self._entries = list(self.live.values())
            heapify(self._entries)
        return entry[3]

    def refresh(self, queued: QueuedPod) -> None:
        """The pod changed in place: find its position again."""
        self.remove(queued.key)
        self.push(queued)

    def first(self) -> QueuedPod | None:
        entries = self._entries
        while entries and self.live.get(entries[0][3].key) is not entries[0]:
            heappop(entries)
        return entries[0][3] if entries else None

    def pop_below(self, limit: Order) -> list[QueuedPod]:
        """Take out all of smaller order than that, in order."""
        entries, live, taken = self._entries, self.live, []
        while entries and entries[0][0] < limit:
            entry = heappop(entries)
            queued = entry[3]
            if live.get(queued.key) is entry:
                del live[queued.key]
                taken.append(queued)
        return taken

    def pop(self) -> QueuedPod | None:
        entries, live = self._entries, self.live
        while entries:
            entry = heappop(entries)
            queued = entry[3]
            if live.get(queued.key) is entry:
                del live[queued.key]
                return queued
        return None
