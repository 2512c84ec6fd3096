"""What has lost its owner goes, whatever its kind.

The garbage collector of `bayplan.controllers` does the same with the kinds that have structs, by the same rules
(`controllers/garbage_rules.py`); here dependents are found by an index of their owners' uids.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.garbage_collector import REMEMBERED_MAX
from bayplan.controllers.garbage_rules import OwnerStanding, awaits_dependents, fate_of
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import ApiError
from bayplan.store.deleting import FOREGROUND_FINALIZER, ORPHAN_FINALIZER, DeleteOptions

_FINALIZERS: Final = {ORPHAN_FINALIZER, FOREGROUND_FINALIZER}


class DocumentCollector:
    """Deletes what nobody owns any more."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, Entry]] = {}
        """What is stored, by uid, with the resource; of what neither owns nor is owned only that it is."""
        self._owned: dict[str, dict[str, None]] = {}
        """Uids of dependents by the uid of their owner."""
        self._gone: dict[str, None] = {}
        """Uids of what existed and is gone, oldest first."""
        self._due: dict[str, None] = {}
        """Uids of owners that are gone or ending."""

    def observe(self, change: DocumentChange) -> None:
        uid = change.new.uid
        metadata = change.new.document["metadata"]
        if change.old is not None:
            self._disown(uid, change.old.document, metadata.get("ownerReferences"))
        if change.type == DELETED:
            self._observe_gone(uid, change.new.document)
            return
        self._entries[uid] = (change.resource, change.new)
        for reference in metadata.get("ownerReferences") or ():
            self._owned.setdefault(reference["uid"], {})[uid] = None
            if change.type == ADDED and reference["uid"] in self._gone:
                self._due[reference["uid"]] = None
        if "deletionTimestamp" in metadata and not _FINALIZERS.isdisjoint(metadata.get("finalizers") or ()):
            self._due[uid] = None

    def _disown(self, uid: str, document: Document, next_references: list[Document] | None) -> None:
        references = document["metadata"].get("ownerReferences")
        for reference in references or ():
            owned = self._owned.get(reference["uid"])
            if owned is not None:
                owned.pop(uid, None)
                if not owned:
                    del self._owned[reference["uid"]]
        if references != next_references:
            self._let_ending_owners_look(references)

    def _let_ending_owners_look(self, references: list[Document] | None) -> None:
        for reference in references or ():
            owner = self._entries.get(reference["uid"])
            if owner is not None and "deletionTimestamp" in owner[1].document["metadata"]:
                self._due[reference["uid"]] = None

    def _observe_gone(self, uid: str, document: Document) -> None:
        self._entries.pop(uid, None)
        self._gone[uid] = None
        if len(self._gone) > REMEMBERED_MAX:
            del self._gone[next(iter(self._gone))]
        if uid in self._owned:
            self._due[uid] = None
        self._let_ending_owners_look(document["metadata"].get("ownerReferences"))

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for uid in due:
            with suppress(ApiError):
                if uid in self._entries:
                    self._finish(registry, uid, now)
                else:
                    self._collect(registry, uid, now)

    def _collect(self, registry: Registry, uid: str, now: int) -> None:
        for resource, entry in self._dependents(uid):
            self._attempt_to_delete(registry, resource, entry, now)

    def _attempt_to_delete(self, registry: Registry, resource: str, entry: Entry, now: int) -> None:
        """Deletes a dependent without living owners; one that has some loses its references to the others."""
        metadata = entry.document["metadata"]
        if "deletionTimestamp" in metadata:
            return
        references = metadata.get("ownerReferences") or []
        fate = fate_of(
            references,
            lambda reference: self._standing_of(reference["uid"]),
            metadata.get("finalizers") or (),
            owns_some=entry.uid in self._owned,
            awaits_itself=lambda: any(self._awaits_dependents(uid) for uid in self._owned[entry.uid]),
        )
        if fate.kept:
            _modify(registry, resource, entry, now, ownerReferences=[*fate.kept])
            return
        if fate.unblocks:
            unblocked = [{**one, "blockOwnerDeletion": False} for one in references]
            _modify(registry, resource, entry, now, ownerReferences=unblocked)
        _delete(registry, resource, entry, fate.propagation, now)

    def _standing_of(self, uid: str) -> OwnerStanding:
        if self._awaits_dependents(uid):
            return OwnerStanding.WAITING
        return OwnerStanding.GONE if uid in self._gone else OwnerStanding.LIVING

    def _awaits_dependents(self, uid: str) -> bool:
        found = self._entries.get(uid)
        if found is None:
            return False
        metadata = found[1].document["metadata"]
        finalizers = metadata.get("finalizers") or ()
        return awaits_dependents(is_deleted="deletionTimestamp" in metadata, finalizers=finalizers)

    def _finish(self, registry: Registry, uid: str, now: int) -> None:
        """Goes on with an owner that is to end only after its dependents, or without them."""
        resource, owner = self._entries[uid]
        finalizers = owner.document["metadata"].get("finalizers") or []
        if ORPHAN_FINALIZER in finalizers:
            for kind, entry in self._dependents(uid):
                references = entry.document["metadata"]["ownerReferences"]
                left = [one for one in references if one["uid"] != uid]
                _modify(registry, kind, entry, now, ownerReferences=left or None)
            _take_finalizer(registry, resource, owner, ORPHAN_FINALIZER, now)
        elif FOREGROUND_FINALIZER in finalizers:
            self._delete_dependents_first(registry, resource, owner, now)

    def _delete_dependents_first(self, registry: Registry, resource: str, owner: Entry, now: int) -> None:
        # Upstream: pkg/controller/garbagecollector/garbagecollector.go processDeletingDependentsItem (v1.36).
        dependents = self._dependents(owner.uid)
        if not any(_blocks(entry.document, owner.uid) for _, entry in dependents):
            _take_finalizer(registry, resource, owner, FOREGROUND_FINALIZER, now)
            return
        for kind, entry in dependents:
            self._attempt_to_delete(registry, kind, entry, now)

    def _dependents(self, uid: str) -> list[tuple[str, Entry]]:
        """Those of an owner, each with the resource it is stored as."""
        found = (self._entries.get(owned) for owned in [*self._owned.get(uid, ())])
        return [*filter(None, found)]


def _blocks(document: Document, uid: str) -> bool:
    """Whether the owner must not go before the dependent has."""
    references = document["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == uid and bool(one.get("blockOwnerDeletion")) for one in references)


def _delete(registry: Registry, stored_as: str, entry: Entry, propagation: str, now: int) -> None:
    resource = registry.catalogue.stored(stored_as)
    if resource is not None:
        request = DeleteOptions(None, entry.uid, None, propagation)
        with suppress(ApiError):
            registry.delete(resource, entry.namespace, entry.name, request, now)


def _take_finalizer(registry: Registry, stored_as: str, entry: Entry, finalizer: str, now: int) -> None:
    finalizers = [other for other in entry.document["metadata"].get("finalizers") or () if other != finalizer]
    _modify(registry, stored_as, entry, now, finalizers=finalizers or None)


def _modify(registry: Registry, stored_as: str, entry: Entry, now: int, **changes: object) -> None:
    resource = registry.catalogue.stored(stored_as)
    if resource is not None:
        with suppress(ApiError):
            registry.update(
                resource,
                entry.namespace,
                entry.name,
                lambda document: with_metadata(document, **changes),
                OPTIONS,
                now,
            )
