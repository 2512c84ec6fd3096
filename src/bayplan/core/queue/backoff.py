"""Pods that pay a penalty for failing, which doubles from the first to the last second of its range.

There are two heaps: after an error, nobody may be tried before the penalty is over; after a rejection, the pod may be
popped early when nothing else is active. Penalties end in whole seconds of the wall clock, so that pods of one second
compete by priority. Both ends are rounded down and equality still waits: a pod comes out at the whole second after
the one in which its penalty ends. Where nobody may be popped early (the gate SchedulerPopFromBackoffQ is off) penalties
end at any time, nobody competes, and pods come out at a clock that ticks each second since the scheduler started.
Upstream: backend/queue/backoff_queue.go (v1.36, v1.37).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from bayplan.core.queue.pod_heap import Item, PodHeap, SortKey
from bayplan.model.time_units import SECOND

#: Before any time there is: a pod that never failed does not back off.
_NEVER = -(2**63)


class Backoff(Generic[Item]):
    """Two heaps by the end of the penalty."""

    def __init__(
        self, sort_key: SortKey, initial_ns: int, max_ns: int, *, started_at: int = 0, pops_early: bool = True
    ) -> None:
        self.pops_early = pops_early
        self._initial_ns = initial_ns
        self._max_ns = max_ns
        self._started_at = started_at
        self._sort_key = sort_key
        self._rejected: PodHeap[tuple[int, ...], Item] = PodHeap()
        self._failed: PodHeap[int, Item] = PodHeap()

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def holds_off(self, queued: Item, now: int) -> bool:
        """Whether the pod is still backing off."""
        if queued.timestamp + self._max_ns <= now - SECOND:
            return False  # whatever its penalty is: most that come back have waited for minutes
        return self._ends_at(queued) >= self._aligned(now)

    def push(self, queued: Item) -> None:
        ends_at = self._ends_at(queued)
        if not queued.rejectors:
            self._failed.push(queued, ends_at)
        elif self.pops_early:  # those of one second compete
            self._rejected.push(queued, (ends_at, *self._sort_key(queued.info, queued.timestamp)))
        else:
            self._rejected.push(queued, (ends_at,))

    def remove(self, queued: Item) -> None:
        self._heap_of(queued).remove(queued)

    def refresh(self, queued: Item) -> None:
        """The pod changed in place: find its position again."""
        self.remove(queued)
        self.push(queued)

    def _heap_of(self, queued: Item) -> PodHeap[tuple[int, ...], Item] | PodHeap[int, Item]:
        """While a pod backs off, nothing changes what rejected it."""
        return self._rejected if queued.rejectors else self._failed

    @property
    def can_pop_early(self) -> bool:
        return self.pops_early and self._rejected.count > 0

    def pop_early(self) -> Item | None:
        """The pod that would come out first, unless it failed by error."""
        return self._rejected.pop() if self.pops_early else None

    def pop_finished(self, now: int) -> Iterator[Item]:
        """Take out whoever no longer backs off."""
        flushed_at = now if self.pops_early else self._tick_before(now)
        for heap in (self._rejected, self._failed):
            while (queued := heap.first()) is not None and not self.holds_off(queued, flushed_at):
                heap.pop()
                yield queued

    def wake_at(self) -> int | None:
        """When the next pod comes out."""
        if not self._rejected.count and not self._failed.count:
            return None
        heads = [queued for heap in (self._rejected, self._failed) if (queued := heap.first()) is not None]
        return min((self.out_at(queued) for queued in heads), default=None)

    def out_at(self, queued: Item) -> int:
        """When it comes out by itself."""
        ends_at = self._ends_at(queued)
        return ends_at + SECOND if self.pops_early else self._tick_before(ends_at) + SECOND

    def _tick_before(self, at: int) -> int:
        """The last tick that is not after that time."""
        return at - (at - self._started_at) % SECOND

    def _aligned(self, at: int) -> int:
        return at - at % SECOND if self.pops_early else at

    def _ends_at(self, queued: Item) -> int:
        if queued.backoff_second is None:
            duration_ns = self._duration_ns(queued)
            queued.backoff_second = self._aligned(queued.timestamp + duration_ns) if duration_ns else _NEVER
        return queued.backoff_second

    def _duration_ns(self, queued: Item) -> int:
        failures = queued.consecutive_errors or queued.unschedulable_count
        if not failures or not self._max_ns:
            return 0
        doublings, longest_ns = failures - 1, self._longest_for(queued)
        # Compared from the other side, as shifting the first duration up would overflow upstream's integers.
        return longest_ns if self._initial_ns > longest_ns >> doublings else self._initial_ns << doublings

    def _longest_for(self, queued: Item) -> int:  # noqa: ARG002
        return self._max_ns
