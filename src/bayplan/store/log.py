"""The watch log: every write in order, kept up to a length, read through cursors.

Each write has the resourceVersion after the one before it, so a version is also a place in the log and reading
from one costs only what is read. What falls off the end is gone: a cursor that lags behind it is told so
(`Gone`) and its owner must list again. An essential cursor belongs to somebody who cannot list again: nothing falls off
before it was read there. The log knows no objects' meaning, and no other readers.
"""

from __future__ import annotations

from collections.abc import Collection
from weakref import WeakSet

import msgspec

from bayplan.model.kinds import Object
from bayplan.store.errors import Gone, Timeout

DEFAULT_CAPACITY = 16_384


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One write. Both structs stay as they are for ever, whatever is written later."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    kind: str
    old: Object | None
    """What was stored before; None when ADDED."""
    new: Object
    """What is stored now; when DELETED, `old` with the version of its deletion, as watchers are sent it."""
    resource_version: int
    at: int
    """When it was made."""


class WatchLog:
    """The last writes; at least `capacity` of them, and a quarter more at most, or what essential cursors lack."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        assert capacity > 0
        self._capacity = capacity
        self._length_max = capacity + capacity // 4 + 1
        self.changes: list[WatchEvent] = []
        """Those that are not gone, oldest first; to be read only."""
        self._essential: WeakSet[Cursor] = WeakSet()
        self.resource_version = 0
        """Of the newest write."""
        self.expired = 0
        """Writes up to this version are gone; one may still watch from it, but not from before."""

    def __len__(self) -> int:
        return len(self.changes)

    def append(self, change: WatchEvent) -> None:
        version, changes = change.resource_version, self.changes
        assert version == self.resource_version + 1
        changes.append(change)
        self.resource_version = version
        # Cutting a stretch now and then keeps the cost of a write the same on average.
        if len(changes) >= self._length_max:
            self.expire(self.resource_version - self._capacity)
            self._length_max = len(self.changes) + self._capacity // 4 + 1

    def expire(self, through: int) -> None:
        """Forgets the writes up to this version, as far as essential cursors have read them."""
        through = min((through, self.resource_version, *(cursor.resource_version for cursor in self._essential)))
        if through > self.expired:
            del self.changes[: through - self.expired]
            self.expired = through

    def since(self, resource_version: int) -> list[WatchEvent]:
        """Every write after that version, oldest first; raises Gone, or Timeout for one still to come."""
        if resource_version < self.expired:
            raise Gone.too_old(resource_version, self.expired)
        if resource_version > self.resource_version:
            raise Timeout.too_large(resource_version, self.resource_version)
        return self.changes[resource_version - self.expired :]

    def cursor(
        self, since: int | None = None, kinds: Collection[str] | None = None, *, essential: bool = False
    ) -> Cursor:
        """Reads on after that version, or after the newest; only of those kinds, if given."""
        start = self.resource_version if since is None else since
        if start > self.resource_version:
            raise Timeout.too_large(start, self.resource_version)
        cursor = Cursor(self, start, None if kinds is None else frozenset(kinds))
        if essential:
            self._essential.add(cursor)
        return cursor


class Cursor:
    """A place in the log that moves on as it is read. Dropping it is all it takes to stop watching."""

    __slots__ = ("__weakref__", "_kinds", "_log", "resource_version")

    def __init__(self, log: WatchLog, resource_version: int, kinds: frozenset[str] | None) -> None:
        self._log = log
        self._kinds = kinds
        self.resource_version = resource_version
        """Everything up to it has been read, changes of other kinds included."""

    @property
    def behind(self) -> bool:
        """Whether anything, of whatever kind, was written since the last reading."""
        return self.resource_version < self._log.resource_version

    def read(self) -> list[WatchEvent]:
        """What was written since the last reading; raises Gone when part of that has fallen off the log.

        After Gone the cursor stays where it was, and raises again until its owner has listed and taken a new one.
        """
        log, kinds, read_up_to = self._log, self._kinds, self.resource_version
        if read_up_to < log.expired:
            raise Gone.too_old(read_up_to, log.expired)
        changes = log.changes[read_up_to - log.expired :]
        self.resource_version = log.resource_version
        return changes if kinds is None else [change for change in changes if change.kind in kinds]
