"""What is stored now, and where to find it: by name, by node, by owner.

Takes changes and keeps up with them at a cost that does not depend on how much is stored. Indices hold names, not
objects, so that most changes leave them alone; a name is in an index exactly as long as its object is stored with
that node or owner. Orders are those of arrival, so that the same changes always give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeVar

from bayplan.model.kinds import KINDS, Object
from bayplan.model.pod import Pod
from bayplan.store.log import ADDED, DELETED, WatchEvent

Name: TypeAlias = tuple[str, str]
"""Namespace ("" for kinds that have none) and name."""
Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""

EntryT = TypeVar("EntryT", Name, Key)

_NOTHING: dict[str, Object] = {}


class Content:
    """The stored objects."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Object]]] = {kind: {} for kind in KINDS}
        """By kind, namespace and name; to be read only."""
        self._counts = dict.fromkeys(KINDS, 0)
        self._on_node: dict[str, dict[Name, None]] = {}
        self._owned: dict[str, dict[Key, None]] = {}

    def find(self, kind: str, namespace: str, name: str) -> Object | None:
        return self.objects[kind].get(namespace, _NOTHING).get(name)

    def iterate(self, kind: str, namespace: str | None = None) -> Iterator[Object]:
        """Namespace by namespace, in order of arrival."""
        if namespace is not None:
            yield from self.objects[kind].get(namespace, _NOTHING).values()
            return
        for objects in self.objects[kind].values():
            yield from objects.values()

    def count(self, kind: str) -> int:
        return self._counts[kind]

    def pods_on_node(self, node_name: str) -> list[Pod]:
        pods = (self.find("Pod", *name) for name in self._on_node.get(node_name, ()))
        return [pod for pod in pods if isinstance(pod, Pod)]

    def owned_by(self, uid: str) -> list[Object]:
        """Objects that name this uid as an owner, of any kind, controller or not."""
        objects = (self.find(*key) for key in self._owned.get(uid, ()))
        return [obj for obj in objects if obj is not None]

    def apply(self, change: WatchEvent) -> None:
        """Makes the change; it must follow from what is stored."""
        kind, old, new = change.kind, change.old, change.new
        meta = new.metadata
        by_namespace = self.objects[kind]
        if change.type == DELETED:
            objects = by_namespace[meta.namespace]
            del objects[meta.name]
            if not objects:
                del by_namespace[meta.namespace]
            self._counts[kind] -= 1
            self._index(kind, old, None)
            return
        if change.type == ADDED:
            by_namespace.setdefault(meta.namespace, {})[meta.name] = new
            self._counts[kind] += 1
        else:
            by_namespace[meta.namespace][meta.name] = new
        self._index(kind, old, new)

    def _index(self, kind: str, old: Object | None, new: Object | None) -> None:
        # Writes to the status share the spec.
        same_spec = type(old) is Pod and type(new) is Pod and old.spec is new.spec
        if kind == "Pod" and not same_spec:
            self._index_node(old, new)
        before = old.metadata.owner_references if old is not None else []
        after = new.metadata.owner_references if new is not None else []
        # Writes that leave the owners alone share the list of them.
        if before is not after and (before or after):
            self._index_owners(kind, old, new)

    def _index_node(self, old: Object | None, new: Object | None) -> None:
        before = old.spec.node_name if type(old) is Pod else ""
        after = new.spec.node_name if type(new) is Pod else ""
        if before == after:
            return
        obj = new or old
        assert obj is not None
        name = obj.metadata.namespace, obj.metadata.name
        if before:
            _drop(self._on_node, before, name)
        if after:
            _add(self._on_node, after, name)

    def _index_owners(self, kind: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        key = kind, obj.metadata.namespace, obj.metadata.name
        before = _owner_uids(old)
        after = _owner_uids(new)
        for uid in before:
            if uid not in after:
                _drop(self._owned, uid, key)
        for uid in after:
            if uid not in before:
                _add(self._owned, uid, key)


def _owner_uids(obj: Object | None) -> dict[str, None]:
    return {} if obj is None else dict.fromkeys(owner.uid for owner in obj.metadata.owner_references)


def _add(index: dict[str, dict[EntryT, None]], under: str, entry: EntryT) -> None:
    entries = index.get(under)
    if entries is None:
        index[under] = {entry: None}
    else:
        entries[entry] = None


def _drop(index: dict[str, dict[EntryT, None]], under: str, entry: EntryT) -> None:
    entries = index[under]
    del entries[entry]
    # An owner or node that has gone must leave nothing behind.
    if not entries:
        del index[under]
