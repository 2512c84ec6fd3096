"""What is due when: at most one time for each key.

Takes keys with times and gives them back once these are over, earliest first and of equal times in the order in
which they were set. Setting and cancelling cost O(log n) on average; cancelled entries leave the heap when they come
to its top or are the majority, so memory follows what lives. It keeps no clock: `now` is an argument.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

_DEAD_TOLERATED = 64


class Timers(Generic[KeyT]):
    """Times of keys, in nanoseconds."""

    def __init__(self) -> None:
        # Time, number of the setting (so that keys are never compared), key.
        self._heap: list[tuple[int, int, KeyT]] = []
        self._live: dict[KeyT, tuple[int, int, KeyT]] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: KeyT) -> bool:
        return key in self._live

    def at(self, key: KeyT) -> int | None:
        """When the key is due; None if it is not set."""
        entry = self._live.get(key)
        return None if entry is None else entry[0]

    def set(self, key: KeyT, at: int) -> None:
        """Makes the key due at that time, whatever was set before."""
        entry = (at, next(self._numbers), key)
        leaves_a_dead_one = key in self._live
        self._live[key] = entry
        heappush(self._heap, entry)
        if leaves_a_dead_one:
            self._drop_dead()

    def set_earlier(self, key: KeyT, at: int) -> None:
        """Makes the key due at that time unless it is due before."""
        entry = self._live.get(key)
        if entry is None or at < entry[0]:
            self.set(key, at)

    def cancel(self, key: KeyT) -> None:
        if self._live.pop(key, None) is not None:
            self._drop_dead()

    def next_at(self) -> int | None:
        """When the first key is due; None if there is none."""
        heap = self._heap
        while heap and self._live.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: int) -> Iterator[KeyT]:
        """Takes out what is due by now; what the caller sets meanwhile comes too if it is due."""
        while (key := self.pop_if_due(now)) is not None:
            yield key

    def pop_if_due(self, now: int) -> KeyT | None:
        """Takes out the first key if it is due by now; None if it is not, or there is none."""
        heap, live = self._heap, self._live
        while heap and heap[0][0] <= now:
            entry = heappop(heap)
            if live.get(entry[2]) is entry:
                del live[entry[2]]
                return entry[2]
        return None

    def _drop_dead(self) -> None:
        if len(self._heap) > 2 * len(self._live) + _DEAD_TOLERATED:
            self._heap = list(self._live.values())
            heapify(self._heap)


def earliest(*times: int | None) -> int | None:
    """The first of the times that there are."""
    first = None
    for time in times:
        if time is not None and (first is None or time < first):
            first = time
    return first
