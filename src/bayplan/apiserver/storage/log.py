"""What changed, in order: the last writes of all kinds, for watchers that resume and for lists of the past.

Each write has the version after the one before it. What falls off the end is gone, and a watcher that asks for it is
answered `Gone`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bayplan.apiserver.storage.entries import Entry
from bayplan.store.errors import Gone
from bayplan.store.log import DEFAULT_CAPACITY


class Change:
    """One write: what was stored before (None when new), and what is now (as it was last, when it is gone)."""

    __slots__ = ("_lines", "new", "old", "resource", "type", "version")

    def __init__(self, change_type: str, resource: str, old: Entry | None, new: Entry) -> None:
        self.type = change_type
        self.resource = resource
        self.old = old
        self.new = new
        self.version = new.version
        self._lines: dict[tuple[str, str], bytes] = {}

    def line(self, event_type: str, api_version: str, render: Callable[[Entry], bytes]) -> bytes:
        """The change as a line of a watch, encoded once however many watch it in this version."""
        key = (event_type, api_version)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = watch_line(event_type, render(self.new))
        return line


def watch_line(event_type: str, body: bytes) -> bytes:
    """One event of a watch."""
    return b'{"type":"%b","object":%b}\n' % (event_type.encode(), body)


class ChangeLog:
    """The last changes; at least `capacity` of them, and a quarter more at most."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY, *, version: int = 0) -> None:
        self._capacity = capacity
        self._changes: list[Change] = []
        self.version = version
        self.expired = version
        """Changes up to this version are gone; one may still watch from it, but not from before."""

    def append(self, change: Change) -> None:
        assert change.version == self.version + 1
        self._changes.append(change)
        self.version = change.version
        if len(self._changes) > self._capacity + self._capacity // 4:
            self.expire(self.version - self._capacity)

    def expire(self, through: int) -> None:
        """Forgets the changes up to this version."""
        if through > self.expired:
            del self._changes[: through - self.expired]
            self.expired = through

    def since(self, version: int) -> Sequence[Change]:
        """Every change after that version, oldest first."""
        if version < self.expired:
            raise Gone.too_old(version, self.expired)
        return self._changes[version - self.expired :]
