"""What has lost its owner goes: the garbage collector.

Hears of everything; what becomes of an object is said by `garbage_rules`. When an object is gone, those that name it as
an owner and have no other are deleted in the background; others merely lose the reference. An owner that was deleted
with `Orphan` or `Foreground` bears a finalizer that says so: its dependents are let go, or deleted first, and then the
finalizer is taken off. Owners are told apart by uid. An owner that never existed as far as anybody here knows is no
reason to delete: dumps often lack ReplicaSets, though their pods are there. (The real collector asks the API server and
deletes.)
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from bayplan.controllers.garbage_rules import OwnerStanding, awaits_dependents, fate_of
from bayplan.controllers.ownership import key_of
from bayplan.controllers.work_queue import WRITES_MAX, Reconciler
from bayplan.controllers.writes import delete_dependent, with_metadata
from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.structs import replace
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import Store, WatchEvent
from bayplan.store.deleting import FOREGROUND_FINALIZER, ORPHAN_FINALIZER

Key: TypeAlias = tuple[str, str, str, str]
"""Kind, namespace, name and uid of an owner."""

# Dependents that are created after their owner has gone come soon or never; older uids may be forgotten.
REMEMBERED_MAX = 10_000


class GarbageCollector(Reconciler[Key]):
    """Deletes what nobody owns any more."""

    name: ClassVar[str] = "garbage-collector-controller"
    watches: ClassVar[frozenset[str]] = frozenset(KINDS)

    def __init__(self) -> None:
        super().__init__()
        self._owners: dict[str, None] = {}
        """Uids of objects that exist or lately did. Of pods, which are many, only those that own something."""
        self._gone: dict[str, None] = {}
        """Those of them whose dependents were collected, oldest first."""
        self._ending: dict[str, Key] = {}
        """Owners, by uid, that wait for their dependents to go."""

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        meta = change.new.metadata
        if change.type == DELETED:
            self._observe_gone(change.kind, meta)
            return
        if change.old is not None:
            self._let_ending_owners_look(change.old.metadata)
        if change.kind != "Pod":
            self._owners[meta.uid] = None
        if meta.deletion_timestamp is not None and meta.finalizers:
            self._observe_ending(change.kind, meta)
        if change.type == ADDED:
            for reference in meta.owner_references:
                if reference.kind == "Pod":
                    self._owners[reference.uid] = None
                self._queue.add(_key_of(reference, meta.namespace))

    def _observe_gone(self, kind: str, meta: ObjectMeta) -> None:
        self._ending.pop(meta.uid, None)
        if meta.uid in self._owners:
            self._queue.add((kind, meta.namespace, meta.name, meta.uid))
        self._let_ending_owners_look(meta)

    def _let_ending_owners_look(self, dependent: ObjectMeta) -> None:
        if self._ending:
            for reference in dependent.owner_references:
                if reference.uid in self._ending:
                    self._queue.add(self._ending[reference.uid])

    def _remember_gone(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > REMEMBERED_MAX:
            forgotten = next(iter(self._gone))
            del self._gone[forgotten]
            self._owners.pop(forgotten, None)

    def _observe_ending(self, kind: str, meta: ObjectMeta) -> None:
        if ORPHAN_FINALIZER in meta.finalizers or FOREGROUND_FINALIZER in meta.finalizers:
            key = kind, meta.namespace, meta.name, meta.uid
            self._ending[meta.uid] = key
            self._queue.add(key)

    def _sync(self, store: Store, key: Key, now: int) -> None:
        kind, namespace, name, uid = key
        owner = store.find(kind, namespace, name) if kind in KINDS else None
        if owner is None or owner.metadata.uid != uid:
            if uid in self._owners:
                self._collect(store, key, now)
        elif owner.metadata.deletion_timestamp is not None:
            if ORPHAN_FINALIZER in owner.metadata.finalizers:
                self._orphan_dependents(store, owner, now)
            elif FOREGROUND_FINALIZER in owner.metadata.finalizers:
                self._delete_dependents_first(store, owner, now)

    def _collect(self, store: Store, key: Key, now: int) -> None:
        dependents = _not_deleted(store.owned_by(key[3]))
        if len(dependents) > WRITES_MAX:
            self._queue.add(key)
        else:
            self._remember_gone(key[3])
        for dependent in dependents[:WRITES_MAX]:
            self._attempt_to_delete(store, dependent, now)

    def _attempt_to_delete(self, store: Store, dependent: Object, now: int) -> None:
        """Deletes a dependent without living owners; one that has some loses its references to the others."""
        meta = dependent.metadata
        owned = store.owned_by(meta.uid)
        fate = fate_of(
            meta.owner_references,
            lambda reference: self._standing_of(store, reference, meta),
            meta.finalizers,
            owns_some=bool(owned),
            awaits_itself=lambda: any(_awaits_dependents(one) for one in owned),
        )
        if fate.kept:
            _set_references(store, dependent, [*fate.kept], now)
            return
        if fate.unblocks:
            unblocked = [replace(one, block_owner_deletion=False) for one in meta.owner_references]
            store.modify(*key_of(dependent), lambda stored: with_metadata(stored, owner_references=unblocked), now)
        delete_dependent(store, dependent, fate.propagation, now)

    def _standing_of(self, store: Store, reference: OwnerReference, dependent: ObjectMeta) -> OwnerStanding:
        kind, namespace, name, uid = _key_of(reference, dependent.namespace)
        if kind not in KINDS:
            return OwnerStanding.LIVING
        found = store.find(kind, namespace, name)
        if found is not None and found.metadata.uid == uid:
            return OwnerStanding.WAITING if _awaits_dependents(found) else OwnerStanding.LIVING
        return OwnerStanding.GONE if uid in self._owners else OwnerStanding.LIVING

    def _orphan_dependents(self, store: Store, owner: Object, now: int) -> None:
        uid = owner.metadata.uid
        dependents = store.owned_by(uid)
        for dependent in dependents[:WRITES_MAX]:
            others = [ref for ref in dependent.metadata.owner_references if ref.uid != uid]
            _set_references(store, dependent, others, now)
        if len(dependents) > WRITES_MAX:
            self._queue.add(self._ending[uid])
        else:
            _take_finalizer(store, owner, ORPHAN_FINALIZER, now)

    def _delete_dependents_first(self, store: Store, owner: Object, now: int) -> None:
        # Upstream: pkg/controller/garbagecollector/garbagecollector.go processDeletingDependentsItem (v1.36).
        uid = owner.metadata.uid
        dependents = store.owned_by(uid)
        if not any(_blocks(dependent, uid) for dependent in dependents):
            _take_finalizer(store, owner, FOREGROUND_FINALIZER, now)
            return
        staying = _not_deleted(dependents)
        if len(staying) > WRITES_MAX:
            self._queue.add(self._ending[uid])
        for dependent in staying[:WRITES_MAX]:
            self._attempt_to_delete(store, dependent, now)


def _key_of(reference: OwnerReference, namespace: str) -> Key:
    """An owner is in the namespace of its dependent, or in none."""
    info = KINDS.get(reference.kind)
    within = namespace if info is None or info.namespaced else ""
    return reference.kind, within, reference.name, reference.uid


def _not_deleted(objects: list[Object]) -> list[Object]:
    return [obj for obj in objects if obj.metadata.deletion_timestamp is None]


def _blocks(dependent: Object, uid: str) -> bool:
    """Whether the owner must not go before the dependent has."""
    return any(ref.uid == uid and bool(ref.block_owner_deletion) for ref in dependent.metadata.owner_references)


def _awaits_dependents(obj: Object) -> bool:
    meta = obj.metadata
    return awaits_dependents(is_deleted=meta.deletion_timestamp is not None, finalizers=meta.finalizers)


def _set_references(store: Store, dependent: Object, references: list[OwnerReference], now: int) -> None:
    if len(references) != len(dependent.metadata.owner_references):
        store.modify(*key_of(dependent), lambda stored: with_metadata(stored, owner_references=references), now)


def _take_finalizer(store: Store, owner: Object, finalizer: str, now: int) -> None:
    def change(stored: Object) -> Object:
        finalizers = [other for other in stored.metadata.finalizers if other != finalizer]
        return with_metadata(stored, finalizers=finalizers)

    store.modify(*key_of(owner), change, now)
