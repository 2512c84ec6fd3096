"""What a controller has to look at, and the loop that works it off.

Keys are added when something about them changed (O(1), each kept once, in the order in which they were first added) or
for a later time. `Reconciler` takes what is due, brings one key after another in order, and puts off a key whose write
the store refused, a little longer each time. After many writes it pauses, still due, so that everybody can hear of them
before the watch log forgets. What there is to do for a key is for the subclass to say, and so is observing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

from bayplan.controllers.timers import Timers
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.store import ApiError, Store

KeyT = TypeVar("KeyT", bound=Hashable)

# Upstream: client-go/util/workqueue/default_rate_limiters.go DefaultTypedControllerRateLimiter (v1.36).
RETRY_MIN_NS = 5 * MILLISECOND
RETRY_MAX_NS = 1_000 * SECOND

BURST_MAX = 500
"""How many objects a controller creates or deletes for one key before it looks at the next."""
WRITES_MAX = 2_000
"""How much is written before others get to hear of it."""

#: A time that is always over.
AT_ONCE = 0


class Refused(NamedTuple):
    """What the store does not let a controller do."""

    since: int
    why: str


class WorkQueue(Generic[KeyT]):
    """Keys to look at, now or later."""

    def __init__(self) -> None:
        self._due: dict[KeyT, None] = {}
        self._timers: Timers[KeyT] = Timers()

    def add(self, key: KeyT) -> None:
        """The key is due now."""
        self._due[key] = None

    def add_at(self, key: KeyT, at: int) -> None:
        """The key is due then, unless it is due earlier."""
        self._timers.set_earlier(key, at)

    def discard(self, key: KeyT) -> None:
        """The key is not due now any more."""
        self._due.pop(key, None)

    def take(self, now: int) -> list[KeyT]:
        """All that is due, which is then no longer in the queue."""
        for key in self._timers.pop_due(now):
            self._due[key] = None
        taken = [*self._due]
        self._due.clear()
        return taken

    def put_back(self, keys: Iterable[KeyT]) -> None:
        """Keys that were taken in vain are due again, before all others."""
        self._due = {**dict.fromkeys(keys), **self._due}

    def wake_at(self) -> int | None:
        """A time that is over if anything is due now, else when the first later key is due."""
        if self._due:
            return AT_ONCE
        timers = self._timers
        return timers.next_at() if timers.live else None  # many are asked after each write, and most wait for nothing


class Reconciler(ABC, Generic[KeyT]):
    """The part of a controller that is the same for all: working off a queue."""

    def __init__(self) -> None:
        self._queue: WorkQueue[KeyT] = WorkQueue()
        self._retry_ns: dict[KeyT, int] = {}
        self.refusals: dict[KeyT, Refused] = {}
        """Keys for which the store refuses what is due, in the order of the first refusal."""

    def reconcile(self, store: Store, now: int) -> None:
        keys = self._queue.take(now)
        enough = store.resource_version + WRITES_MAX
        for position, key in enumerate(keys):
            if store.resource_version >= enough:
                self._queue.put_back(keys[position:])
                return
            try:
                self._sync(store, key, now)
            except ApiError as error:
                self._add_rate_limited(key, now)
                since = self.refusals[key].since if key in self.refusals else now
                self.refusals[key] = Refused(since, str(error))
            else:
                self._retry_ns.pop(key, None)
                self.refusals.pop(key, None)

    def wake_at(self) -> int | None:
        return self._queue.wake_at()

    @abstractmethod
    def _sync(self, store: Store, key: KeyT, now: int) -> None:
        """Does what is due for the key; may stop with the store's refusal anywhere, and is then called again."""

    def _add_rate_limited(self, key: KeyT, now: int) -> None:
        delay = self._retry_ns.get(key, RETRY_MIN_NS)
        self._retry_ns[key] = min(2 * delay, RETRY_MAX_NS)
        self._queue.add_at(key, now + delay)
