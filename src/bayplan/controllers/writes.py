"""What every controller writes: the status of an object that has changed, and deletions.

Takes a store and objects as they were read from it. A status that is the same is not written; what else the store
refuses is raised, unless the function says otherwise.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.store import DeletionResult, NotFound, Store, WatchEvent

ObjectT = TypeVar("ObjectT", bound=Object)


def with_metadata(obj: ObjectT, **changes: Any) -> ObjectT:
    """The object with these fields of its metadata changed."""
    return replace(obj, metadata=replace(obj.metadata, **changes))


def write_status(store: Store, obj: Any, status: Any, now: int) -> None:
    """Gives the object this status, unless it has it."""
    if status != obj.status:
        meta = obj.metadata
        store.modify_status(type(obj), meta.namespace, meta.name, lambda stored: replace(stored, status=status), now)


def delete_pod(store: Store, pod: Pod, now: int, *, grace_seconds: int | None = None) -> DeletionResult:
    """Deletes this pod, and no other of its name."""
    meta = pod.metadata
    return store.delete(Pod, meta.namespace, meta.name, now, uid=meta.uid, grace_seconds=grace_seconds)


def delete_dependent(store: Store, obj: Object, propagation: str, now: int) -> None:
    """Deletes the object and what it owns; one that is gone already is as good as deleted."""
    meta = obj.metadata
    with suppress(NotFound):
        store.delete(type(obj), meta.namespace, meta.name, now, uid=meta.uid, propagation=propagation)


def only_status_changed(change: WatchEvent) -> bool:
    """Whether the write left the spec alone and did not begin to delete the object: most are of that kind."""
    old, new = change.old, change.new
    if old is None:
        return False
    same_spec = getattr(old, "spec", None) is getattr(new, "spec", None)
    return same_spec and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
