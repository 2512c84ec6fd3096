"""A namespace that is deleted is emptied, and ends when nothing is left in it.

Hears of namespaces and of what goes from those that are ending. Everything in such a namespace is deleted once; after
that it is only counted what goes, and looked at again when nothing should be left.
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.controllers.work_queue import WRITES_MAX, Reconciler
from bayplan.controllers.writes import delete_dependent
from bayplan.model.cluster import Namespace
from bayplan.model.kinds import KINDS
from bayplan.model.watch_types import DELETED
from bayplan.store import BACKGROUND, Store, WatchEvent

# Pods last: their owners must not make new ones meanwhile, though the store would refuse these anyway.
_KINDS = [*(kind for kind, info in KINDS.items() if info.namespaced and kind != "Pod"), "Pod"]


class NamespaceController(Reconciler[str]):
    """Empties namespaces that are being deleted."""

    name: ClassVar[str] = "namespace-controller"
    watches: ClassVar[frozenset[str]] = frozenset(KINDS)

    def __init__(self) -> None:
        super().__init__()
        self._left: dict[str, int] = {}
        """Namespaces that are ending, and how many objects were left in each when it was last looked at."""

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        meta = change.new.metadata
        if change.kind == "Namespace":
            if change.type == DELETED:
                self._left.pop(meta.name, None)
            elif meta.deletion_timestamp is not None:
                self._queue.add(meta.name)
        elif change.type == DELETED and meta.namespace in self._left:
            self._left[meta.namespace] -= 1
            if self._left[meta.namespace] <= 0:
                self._queue.add(meta.namespace)

    def _sync(self, store: Store, key: str, now: int) -> None:
        namespace = store.find(Namespace, "", key)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return
        staying = [obj for kind in _KINDS for obj in store.list(kind, key) if obj.metadata.deletion_timestamp is None]
        for obj in staying[:WRITES_MAX]:
            delete_dependent(store, obj, BACKGROUND, now)
        if len(staying) > WRITES_MAX:
            self._queue.add(key)
        self._left[key] = sum(len(store.list(kind, key)) for kind in _KINDS)
        if not self._left[key]:
            store.finalize_namespace(key, now)
