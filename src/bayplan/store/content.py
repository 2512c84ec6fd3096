"""What is stored now, and where to find it: by name, by node, by owner.

Takes changes and keeps up with them at a cost that does not depend on how much is stored. Indices hold names, not
objects, so that most changes leave them alone; a name is in an index exactly as long as its object is stored with
that node or owner. Orders are those of arrival, so that the same changes always give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import OwnerReference
from bayplan.model.pod import Pod
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store.log import WatchEvent

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace ("" for kinds that have none) and name."""

_NOTHING: dict[str, Object] = {}


class Content:
    """The stored objects."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, dict[str, Object]]] = {kind: {} for kind in KINDS}
        """By kind, namespace and name; to be read only."""
        self._counts = dict.fromkeys(KINDS, 0)
        self._on_node: dict[str, dict[Key, None]] = {}
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
        pods = (self.find(*key) for key in self._on_node.get(node_name, ()))
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
            if _same_headings(old, new):
                return
        self._index(kind, old, new)

    def _index(self, kind: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        key = kind, obj.metadata.namespace, obj.metadata.name
        if kind == "Pod":
            _move(self._on_node, key, _node_names(old), _node_names(new))
        before = old.metadata.owner_references if old is not None else []
        after = new.metadata.owner_references if new is not None else []
        if before or after:
            _move(self._owned, key, _owner_uids(before), _owner_uids(after))


def _same_headings(old: Object | None, new: Object) -> bool:
    """Whether a write left alone what indices are about: most share the list of owners, and those to a status the spec.

    Not knowing is as good as no.
    """
    if old is None or old.metadata.owner_references is not new.metadata.owner_references:
        return False
    return not isinstance(new, Pod) or (isinstance(old, Pod) and old.spec is new.spec)


def _node_names(obj: Object | None) -> dict[str, None]:
    return {obj.spec.node_name: None} if type(obj) is Pod and obj.spec.node_name else {}


def _owner_uids(references: list[OwnerReference]) -> dict[str, None]:
    return dict.fromkeys(owner.uid for owner in references)


def _move(index: dict[str, dict[Key, None]], key: Key, before: dict[str, None], after: dict[str, None]) -> None:
    """Lets the key stand under what comes after and not under what was before."""
    for heading in before:
        if heading not in after:
            del index[heading][key]
            # An owner or node that has gone must leave nothing behind.
            if not index[heading]:
                del index[heading]
    for heading in after:
        if heading not in before:
            index.setdefault(heading, {})[key] = None
