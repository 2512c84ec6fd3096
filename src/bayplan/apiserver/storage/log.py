"""What changed, in order: the last writes of all kinds, for watchers that resume and for lists of the past.

Each write has the version after the one before it. The log keeps a number of writes and of bytes, whichever is reached
first: large objects leave room for fewer. What falls off the end is gone, and a watcher that asks for it is answered
`Gone`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bayplan.apiserver.storage.entries import Entry
from bayplan.store.errors import Gone
from bayplan.store.log import DEFAULT_CAPACITY

#: Of the JSON of all objects in the log.
BYTES_MAX = 32 * 1024 * 1024


class DocumentChange:
    """One write: what was stored before (None when new), and what is now (as it was last, when it is gone)."""

    __slots__ = ("_lines", "new", "old", "resource", "type", "version")

    def __init__(self, change_type: str, resource: str, old: Entry | None, new: Entry) -> None:
        self.type = change_type
        self.resource = resource
        self.old = old
        self.new = new
        self.version = new.version
        self._lines: dict[tuple[str, str], bytes] | None = None

    def line(self, event_type: str, api_version: str, render: Callable[[Entry], bytes]) -> bytes:
        """The change as a line of a watch, encoded once for all who watch it in this version while it is new."""
        if self._lines is None:
            self._lines = {}
        key = (event_type, api_version)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = watch_line(event_type, render(self.new))
        return line

    def drop_lines(self) -> None:
        """Forgets the encoded lines: they are needed again only by a watcher that resumes."""
        self._lines = None


def watch_line(event_type: str, body: bytes) -> bytes:
    """One event of a watch."""
    return b'{"type":"%b","object":%b}\n' % (event_type.encode(), body)


class DocumentLog:
    """The last changes: at most `capacity` of them, and `bytes_max` of JSON, but always the last one."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY, bytes_max: int = BYTES_MAX) -> None:
        self._capacity = capacity
        self._bytes_max = bytes_max
        self._changes: list[DocumentChange] = []
        self._bytes = 0
        self.version = 0
        self.expired = 0
        """Changes up to this version are gone; one may still watch from it, but not from before."""

    def start_after(self, version: int) -> None:
        """Begins with the version after this one; for a log that has no changes yet."""
        self.version = self.expired = version

    def append(self, change: DocumentChange) -> None:
        assert change.version == self.version + 1
        self._changes.append(change)
        self._bytes += len(change.new.body)
        self.version = change.version
        if len(self._changes) > self._capacity or self._bytes > self._bytes_max:
            self._expire()

    def _expire(self) -> None:
        """Drops the oldest changes until the rest is within bounds."""
        changes, count = self._changes, max(0, len(self._changes) - self._capacity)
        self._bytes -= sum(len(change.new.body) for change in changes[:count])
        while self._bytes > self._bytes_max and count < len(changes) - 1:
            self._bytes -= len(changes[count].new.body)
            count += 1
        del changes[:count]
        self.expired += count

    def since(self, version: int) -> Sequence[DocumentChange]:
        """Every change after that version, oldest first."""
        if version < self.expired:
            raise Gone.too_old(version, self.expired)
        return self._changes[version - self.expired :]
