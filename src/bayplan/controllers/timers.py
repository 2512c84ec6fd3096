"""What is due when: at most one time for each key.

Takes keys with times and gives them back once these are over, earliest first and of equal times in the order in
which they were set. Only the stretch of time that comes next is kept in order: a kubelet has thousands of pods whose
end is minutes away, and one heap of all of them would cost more than all else about a timer. Canceled entries leave
when their time comes or they are the majority, so memory follows what lives. It keeps no clock: `now` is an argument.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

_DEAD_TOLERATED = 64
#: How much time is brought into order at once, about a second.
STRETCH_NS = 1 << 30


class Timers(Generic[KeyT]):
    """Times of keys, in nanoseconds."""

    def __init__(self) -> None:
        # Time, number of the setting (so that keys are never compared), key.
        self._near: list[tuple[int, int, KeyT]] = []  # a heap of all that is due before the horizon
        self._horizon = 0
        self._far: dict[int, list[tuple[int, int, KeyT]]] = {}  # the others by stretch of time, in any order
        self._stretches: list[int] = []  # a heap of these
        self._entry_count = 0  # canceled ones included
        self.live: dict[KeyT, tuple[int, int, KeyT]] = {}
        """The keys that are set, with their entries; to be read only."""
        self._numbers = count()

    def __len__(self) -> int:
        return len(self.live)

    def __contains__(self, key: KeyT) -> bool:
        return key in self.live

    def at(self, key: KeyT) -> int | None:
        """When the key is due; None if it is not set."""
        entry = self.live.get(key)
        return None if entry is None else entry[0]

    def set(self, key: KeyT, at: int) -> None:
        """Makes the key due at that time, whatever was set before."""
        entry = (at, next(self._numbers), key)
        leaves_a_dead_one = key in self.live
        self.live[key] = entry
        self._entry_count += 1
        self._put(entry)
        if leaves_a_dead_one:
            self._drop_dead()

    def set_earlier(self, key: KeyT, at: int) -> None:
        """Makes the key due at that time unless it is due before."""
        entry = self.live.get(key)
        if entry is None or at < entry[0]:
            self.set(key, at)

    def cancel(self, key: KeyT) -> None:
        if self.live.pop(key, None) is not None:
            self._drop_dead()

    def next_at(self) -> int | None:
        """When the first key is due; None if there is none."""
        if not self.live:
            return None
        while self._near or self._bring_near():
            first = self._near[0]
            if self.live.get(first[2]) is first:
                return first[0]
            heappop(self._near)
            self._entry_count -= 1
        return None

    def pop_due(self, now: int) -> Iterator[KeyT]:
        """Takes out what is due by now; what the caller sets meanwhile comes too if it is due."""
        while (key := self.pop_if_due(now)) is not None:
            yield key

    def pop_if_due(self, now: int) -> KeyT | None:
        """Takes out the first key if it is due by now; None if it is not, or there is none."""
        while self._near or self._bring_near():
            first = self._near[0]
            if first[0] > now:  # whether it was canceled or not
                return None
            heappop(self._near)
            self._entry_count -= 1
            key = first[2]
            if self.live.get(key) is first:
                del self.live[key]
                return key
        return None

    def _put(self, entry: tuple[int, int, KeyT]) -> None:
        if entry[0] < self._horizon:
            heappush(self._near, entry)
            return
        stretch = entry[0] // STRETCH_NS
        listed = self._far.get(stretch)
        if listed is None:
            self._far[stretch] = [entry]
            heappush(self._stretches, stretch)
        else:
            listed.append(entry)

    def _bring_near(self) -> bool:
        """Bring the next stretch of time into order; False if there is none."""
        if not self._stretches:
            return False
        stretch = heappop(self._stretches)
        self._near = sorted(self._far.pop(stretch))
        self._horizon = (stretch + 1) * STRETCH_NS
        return True

    def _drop_dead(self) -> None:
        if self._entry_count > 2 * len(self.live) + _DEAD_TOLERATED:
            self._near, self._far, self._stretches = [], {}, []
            self._entry_count = len(self.live)
            for entry in self.live.values():
                self._put(entry)


def earliest(*times: int | None) -> int | None:
    """The first of the times that there are."""
    first = None
    for time in times:
        if time is not None and (first is None or time < first):
            first = time
    return first
