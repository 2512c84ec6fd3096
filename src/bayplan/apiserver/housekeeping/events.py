"""Events are forgotten an hour after they were last written, and sooner if there are very many.

A real server forgets by time alone: etcd keeps a busy cluster's hour of Events on disk. Here they are in memory, so
their number and the bytes of their JSON have bounds too, and the oldest go first. Few Events are ever read again: they
are kept as JSON.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.time_units import HOUR
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError
from bayplan.store.deleting import DeleteOptions

EVENTS: Final = built_in("", "events")
#: Upstream: kube-apiserver --event-ttl (v1.36).
KEPT_NS: Final = HOUR
EVENTS_MAX: Final = 10_000
#: Of JSON, for each Event that may be kept: several times what one usually takes.
BYTES_EACH: Final = 4_096
#: How many are deleted before others have their turn.
AT_ONCE_MAX: Final = 100
_AT_ONCE: Final = DeleteOptions(None, None, None, None)

Key: TypeAlias = tuple[str, str]


class _Kept(NamedTuple):
    expires_at: int
    size: int


class EventExpiry:
    """Deletes old Events.

    Args:
        kept_ns: how long after its last write.
        events_max: how many there may be; and 4 KiB of JSON for each.
    """

    def __init__(self, kept_ns: int = KEPT_NS, events_max: int = EVENTS_MAX) -> None:
        self._kept_ns = kept_ns
        self._events_max = events_max
        self._bytes_max = events_max * BYTES_EACH
        self._written: dict[Key, Entry] = {}
        """Written since the last look."""
        self._kept: dict[Key, _Kept] = {}
        """The rest; the one that was written first comes first."""
        self._bytes = 0

    def observe(self, change: DocumentChange) -> None:
        if change.resource != EVENTS.plural:
            return
        key = (change.new.namespace, change.new.name)
        if change.type == DELETED:
            self._written.pop(key, None)
            self._forget(key)
        else:
            self._written[key] = change.new

    def _forget(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= kept.size

    def reconcile(self, registry: Registry, now: int) -> None:
        for key, entry in self._written.items():
            entry.pack()
            self._forget(key)
            self._kept[key] = _Kept(now + self._kept_ns, len(entry.body))
            self._bytes += len(entry.body)
        self._written.clear()
        for key in self._due(now):
            with suppress(ApiError):
                registry.delete(EVENTS, *key, _AT_ONCE, now)

    def _due(self, now: int) -> list[Key]:
        due: list[Key] = []
        count, size = len(self._kept), self._bytes
        for key, kept in self._kept.items():
            is_too_much = count > self._events_max or size > self._bytes_max
            if (kept.expires_at > now and not is_too_much) or len(due) == AT_ONCE_MAX:
                break
            due.append(key)
            count, size = count - 1, size - kept.size
        return due
