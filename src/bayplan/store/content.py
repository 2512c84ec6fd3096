"""What is stored now, and where to find it: by name, by node, by owner.

Takes changes and keeps up with them at a cost that does not depend on how much is stored. Indices hold names, not
objects, so that most changes leave them alone; a name is in an index exactly as long as its object is stored with
that node or owner. Orders are those of arrival, so that the same changes always give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from bayplan.model.kinds import KINDS, Object
from bayplan.model.pod import Pod
from bayplan.store.log import ADDED, DELETED, Change

Name: TypeAlias = tuple[str, str]
"""Namespace ("" for kinds that have none) and name."""
Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""

_NOTHING: dict[str, Object] = {}


class Content:
    """The stored objects."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, dict[str, Object]]] = {kind: {} for kind in KINDS}
        self._counts = dict.fromkeys(KINDS, 0)
        self._on_node: dict[str, dict[Name, None]] = {}
        self._owned: dict[str, dict[Key, None]] = {}

    def find(self, kind: str, namespace: str, name: str) -> Object | None:
        return self._objects[kind].get(namespace, _NOTHING).get(name)

    def iterate(self, kind: str, namespace: str | None = None) -> Iterator[Object]:
        """Namespace by namespace, in order of arrival."""
        if namespace is not None:
            yield from self._objects[kind].get(namespace, _NOTHING).values()
            return
        for objects in self._objects[kind].values():
            yield from objects.values()

    def count(self, kind: str) -> int:
        return self._counts[kind]

    def pods_on_node(self, node_name: str) -> list[Pod]:
        pods = (self.find("Pod", *name) for name in self._on_node.get(node_name, ()))
        return [pod for pod in pods if isinstance(pod, Pod)]

    def owned_by(self, uid: str) -> list[Object]:
        """Objects that name this uid as an owner, of any kind, controller or not."""
        objects = (self.find(*key) for key in self._owned.get(uid, ()))
        return [one for one in objects if one is not None]

    def apply(self, change: Change) -> None:
        """Makes the change; it must follow from what is stored."""
        kind, old, new = change.kind, change.old, change.new
        meta = new.metadata
        by_namespace = self._objects[kind]
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
        if kind == "Pod":
            was = old.spec.node_name if isinstance(old, Pod) else ""
            now = new.spec.node_name if isinstance(new, Pod) else ""
            if was != now:
                one = old or new
                assert one is not None
                _move(self._on_node, (one.metadata.namespace, one.metadata.name), was, now)
        owners_before = old.metadata.owner_references if old is not None else []
        owners_now = new.metadata.owner_references if new is not None else []
        if owners_before is owners_now or not (owners_before or owners_now):
            return
        one = old or new
        assert one is not None
        key = kind, one.metadata.namespace, one.metadata.name
        uids_now = [owner.uid for owner in owners_now]
        uids_before = [owner.uid for owner in owners_before]
        for uid in uids_before:
            if uid not in uids_now:
                _move(self._owned, key, uid, "")
        for uid in uids_now:
            if uid not in uids_before:
                _move(self._owned, key, "", uid)


def _move(index: dict[str, dict[Key, None]] | dict[str, dict[Name, None]], entry: Key | Name, was: str, now: str) -> None:
    ...
