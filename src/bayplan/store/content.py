"""What is stored now, and where to find it: by name, by node, by owner.

Takes changes and keeps up with them at a cost that does not depend on how much is stored. Indices hold names, not
objects, so that most changes leave them alone; a name is in an index exactly as long as its object is stored with
that node or owner. Orders are those of arrival, so that the same changes always give the same answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import OwnerReference
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
        self.objects: dict[Kind, dict[str, dict[str, Object]]] = {kind: {} for kind in KINDS}
        """By kind, which may be said by its struct, too, namespace and name; to be read only."""
        self.objects.update({info.struct: self.objects[kind] for kind, info in KINDS.items()})
        self._counts = dict.fromkeys(KINDS, 0)
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
        kind, old, new = change.kind, change.old, change.new
        meta = new.metadata
        by_namespace = self.objects[kind]
        if old is None:
            by_namespace.setdefault(meta.namespace, {})[meta.name] = new
            self._counts[kind] += 1
            self._index(kind, None, new)
        elif change.type != DELETED:
            by_namespace[meta.namespace][meta.name] = new
            # Most writes are to a status, and leave alone what indices are about.
            if old.metadata.owner_references is not meta.owner_references or (kind == "Pod" and _moved(old, new)):
                self._index(kind, old, new)
        else:
            objects = by_namespace[meta.namespace]
            del objects[meta.name]
            if not objects:
                del by_namespace[meta.namespace]
            self._counts[kind] -= 1
            self._index(kind, old, None)

    def _index(self, kind: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        key = kind, obj.metadata.namespace, obj.metadata.name
        if kind == "Pod":
            _move(self._on_node, key, _node_names(old), _node_names(new))
        before = old.metadata.owner_references if old is not None else ()
        after = new.metadata.owner_references if new is not None else ()
        if before or after:
            _move(self._owned, key, _uids(before), _uids(after))


def _moved(old: Object, new: Object) -> bool:
    """Whether a pod may be on another node than before; most writes share the spec with what was stored."""
    return old.spec is not new.spec  # type: ignore[union-attr]  # only asked of pods


def _node_names(obj: Object | None) -> Sequence[str]:
    return (obj.spec.node_name,) if type(obj) is Pod and obj.spec.node_name else ()


def _uids(references: Sequence[OwnerReference]) -> dict[str, None]:
    return dict.fromkeys(owner.uid for owner in references)


def _move(index: dict[str, dict[Key, None]], key: Key, before: Collection[str], after: Collection[str]) -> None:
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
