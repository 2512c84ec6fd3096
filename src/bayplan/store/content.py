"""What is stored now, and where to find it: by name, by node, by owner.

Takes changes and keeps up with them at a cost that does not depend on how much is stored. Indices hold names, not
objects, so that most changes leave them alone; a name is in an index exactly as long as its object is stored with
that node or owner. Orders are those of arrival, so that the same changes always give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod
from bayplan.model.watch_types import DELETED
from bayplan.store.log import WatchEvent
from bayplan.store.rules import Kind

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace ("" for kinds that have none) and name."""

_NOTHING: dict[str, Object] = {}


class Content:
    """The stored objects."""

    def __init__(self) -> None:
        # The one "namespace" of kinds that have none is always there, so that looking into it never fails.
        self.objects: dict[Kind, dict[str, dict[str, Object]]] = {
            kind: {} if info.namespaced else {"": {}} for kind, info in ALL_KINDS.items()
        }
        """By kind, which may be said by its struct, too, namespace and name; to be read only."""
        self.objects.update({info.struct: self.objects[kind] for kind, info in ALL_KINDS.items()})
        self._counts = dict.fromkeys(ALL_KINDS, 0)
        self._on_node: dict[str, dict[Key, None]] = {}
        self._owned: dict[str, dict[Key, None]] = {}

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
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
        pods = (self.find(*key) for key in self._on_node.get(node_name, ()))
        return [pod for pod in pods if isinstance(pod, Pod)]

    def owned_by(self, uid: str) -> list[Object]:
        """Objects that name this uid as an owner, of any kind, controller or not."""
        objects = (self.find(*key) for key in self._owned.get(uid, ()))
        return [obj for obj in objects if obj is not None]

    def apply(self, change: WatchEvent) -> None:
        """Makes the change; it must follow from what is stored."""
        kind = change.kind
        old: Any = change.old
        new: Any = change.new
        meta = new.metadata
        by_namespace = self.objects[kind]
        if old is None:
            by_namespace.setdefault(meta.namespace, {})[meta.name] = new
            self._counts[kind] += 1
            if kind == "Pod" and new.spec.node_name:
                self._index_node(meta, "", new.spec.node_name)
            if meta.owner_references:
                self._index_owners(kind, meta, (), meta.owner_references)
        elif change.type != DELETED:
            by_namespace[meta.namespace][meta.name] = new
            # Most writes are to a status, and share with what was stored all that indices are about.
            if kind == "Pod" and new.spec is not old.spec:
                self._index_node(meta, old.spec.node_name, new.spec.node_name)
            if meta.owner_references is not old.metadata.owner_references:
                self._index_owners(kind, meta, old.metadata.owner_references, meta.owner_references)
        else:
            objects = by_namespace[meta.namespace]
            del objects[meta.name]
            if not objects and meta.namespace:
                del by_namespace[meta.namespace]
            self._counts[kind] -= 1
            if kind == "Pod" and old.spec.node_name:
                self._index_node(meta, old.spec.node_name, "")
            if old.metadata.owner_references:
                self._index_owners(kind, meta, old.metadata.owner_references, ())

    def _index_node(self, pod: ObjectMeta, before: str, after: str) -> None:
        if before != after:
            key = "Pod", pod.namespace, pod.name
            if before:
                _strike_out(self._on_node, before, key)
            if after:
                self._on_node.setdefault(after, {})[key] = None

    def _index_owners(
        self, kind: str, meta: ObjectMeta, before: Sequence[OwnerReference], after: Sequence[OwnerReference]
    ) -> None:
        key = kind, meta.namespace, meta.name
        uids_before, uids_after = _uids(before), _uids(after)
        for uid in uids_before:
            if uid not in uids_after:
                _strike_out(self._owned, uid, key)
        for uid in uids_after:
            if uid not in uids_before:
                self._owned.setdefault(uid, {})[key] = None


def _uids(references: Sequence[OwnerReference]) -> dict[str, None]:
    return dict.fromkeys(owner.uid for owner in references)


def _strike_out(index: dict[str, dict[Key, None]], heading: str, key: Key) -> None:
    keys = index[heading]
    del keys[key]
    # An owner or node that has gone must leave nothing behind.
    if not keys:
        del index[heading]
