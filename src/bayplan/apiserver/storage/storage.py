"""Everything that is stored, and the one place where it changes.

Takes documents that have been admitted; gives them versions, keeps them by resource (`pods`, `deployments.apps`) and
key, and passes each change on to the durable copy first, then to those who follow that resource. It knows nothing of
what documents mean. All of it happens in one thread, but that a write may be made ready in another; see `store_with`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from bayplan.apiserver.storage.entries import Document, Entry, object_key
from bayplan.apiserver.storage.log import BYTES_MAX, DocumentChange, DocumentLog
from bayplan.model.watch_types import ADDED, DELETED, MODIFIED
from bayplan.store.errors import Gone
from bayplan.store.log import DEFAULT_CAPACITY

Follower: TypeAlias = Callable[[DocumentChange], None]


class Durable(Protocol):
    """Keeps changes beyond the life of the process."""

    def write(self, change: DocumentChange) -> None:
        """Returns once the change would survive the process."""

    def expire(self, through: int) -> None:
        """Forgets the changes up to this version, now or later."""


def _nothing_to_prepare(_change: DocumentChange) -> None:
    """For a storage that nobody has a say in."""


class Storage:
    """The documents of a cluster."""

    def __init__(
        self,
        *,
        log_capacity: int = DEFAULT_CAPACITY,
        log_bytes_max: int = BYTES_MAX,
        durable: Durable | None = None,
    ) -> None:
        self.log = DocumentLog(log_capacity, log_bytes_max)
        self.prepare: Follower = _nothing_to_prepare
        """Sees a change before it is made; what it raises keeps the change from being made."""
        self._compacted = 0
        """Lists of versions before this one are gone."""
        self._durable = durable
        self._store_with: Callable[[Callable[[], None]], None] | None = None
        self._entries: dict[str, dict[str, Entry]] = {}
        self._sorted: dict[str, list[str]] = {}
        """Keys in the order of lists, for resources none of which came or went since."""
        self._followers: dict[str, list[Follower]] = {}
        self._followers_of_all: list[Follower] = []

    @property
    def version(self) -> int:
        """Of the newest write."""
        return self.log.version

    def restore(self, entries: Iterable[tuple[str, Entry]], changes: Iterable[DocumentChange]) -> None:
        """Starts from what an earlier process left."""
        for resource, entry in entries:
            self._entries.setdefault(resource, {})[entry.key] = entry
        for change in changes:
            if not self.log.version:
                self.log.start_after(change.version - 1)
            _slim(change)
            change.new.pack()  # what is stored has an entry of its own
            self.log.append(change)

    # Reading.

    def find(self, resource: str, namespace: str, name: str) -> Entry | None:
        return self._entries.get(resource, {}).get(object_key(namespace, name))

    def entries(self, resource: str, namespace: str = "") -> list[Entry]:
        """All of a resource, or those in one namespace, in the order of lists."""
        stored = self._entries.get(resource)
        if not stored:
            return []
        keys = self._sorted.get(resource)
        if keys is None:
            keys = self._sorted[resource] = sorted(stored)
        if not namespace:
            return [stored[key] for key in keys]
        return [stored[key] for key in keys if stored[key].namespace == namespace]

    def entries_at(self, resource: str, namespace: str, version: int) -> list[Entry]:
        """The entries as they were at an earlier version; raises Gone if that was given up, or fell off the log."""
        if version < self._compacted:
            raise Gone.too_old(version, self._compacted)
        past = {entry.key: entry for entry in self.entries(resource, namespace)}
        for change in reversed(self.log.since(version)):
            if change.resource != resource or (namespace and change.new.namespace != namespace):
                continue
            if change.old is None:
                past.pop(change.new.key, None)
            else:
                past[change.old.key] = change.old
        return [past[key] for key in sorted(past)]

    def compact(self, version: int) -> None:
        """Gives up what was before that version: there are no lists of it any more."""
        self._compacted = max(self._compacted, version)

    def count(self, resource: str) -> int:
        return len(self._entries.get(resource, ()))

    def resources(self) -> list[str]:
        """Those of which anything is stored."""
        return [resource for resource, stored in self._entries.items() if stored]

    # Following.

    def follow(self, follower: Follower, resource: str = "") -> Callable[[], None]:
        """Calls the follower after each write, of one resource or of all, until what is returned is called."""
        followers = self._followers.setdefault(resource, []) if resource else self._followers_of_all
        followers.append(follower)
        return lambda: followers.remove(follower)

    # Writing.

    def add(self, resource: str, document: Document) -> Entry:
        """Stores a new object; its metadata gets the version."""
        return self._commit(ADDED, resource, None, document)

    def put(self, resource: str, old: Entry, document: Document) -> Entry:
        """Stores the next version of an object."""
        return self._commit(MODIFIED, resource, old, document)

    def remove(self, resource: str, old: Entry) -> Entry:
        """Takes an object away; watchers see it as it was last, with the version of its deletion."""
        return self._commit(DELETED, resource, old, old.document)

    def revise(self, resource: str, change: Callable[[Document], Document]) -> None:
        """Shows objects of a resource differently from now on, without a write that anybody is told of."""
        for key, entry in self._entries.get(resource, {}).items():
            document = change(entry.document)
            if document != entry.document:
                self._entries[resource][key] = Entry(entry.namespace, entry.name, document, entry.version)

    def _commit(self, change_type: str, resource: str, old: Entry | None, document: Document) -> Entry:
        version = self.log.version + 1
        metadata = {**document["metadata"], "resourceVersion": str(version)}
        stamped = {**document, "metadata": metadata}
        entry = Entry(metadata.get("namespace", ""), metadata["name"], stamped, version)
        change = DocumentChange(change_type, resource, old, entry)
        self.prepare(change)
        if self._store_with is None:
            self._store(change)
        else:
            entry.encode()  # in the thread that takes long anyway
            self._store_with(partial(self._store, change))
        return entry

    def store_with(self, call: Callable[[Callable[[], None]], None] | None) -> None:
        """Has changes made by this, which calls what it is given in everybody else's thread; None ends that."""
        self._store_with = call

    def _store(self, change: DocumentChange) -> None:
        if self._durable is not None:
            self._durable.write(change)
        self._apply(change)
        self.log.append(change)
        if self._durable is not None:
            self._durable.expire(self.log.expired)
        self._pass_on(change)
        _slim(change)

    def _apply(self, change: DocumentChange) -> None:
        stored = self._entries.setdefault(change.resource, {})
        if change.type == DELETED:
            del stored[change.new.key]
        else:
            stored[change.new.key] = change.new
        if change.type != MODIFIED:
            self._sorted.pop(change.resource, None)

    def _pass_on(self, change: DocumentChange) -> None:
        followers: Sequence[Follower] = self._followers.get(change.resource, ())
        for follower in (*followers, *self._followers_of_all):
            follower(change)


def _slim(change: DocumentChange) -> None:
    """What is only in the log from now on is kept as JSON, once everyone who follows it has seen it."""
    change.drop_lines()
    if change.old is not None:
        change.old.pack()
    if change.type == DELETED:
        change.new.pack()
