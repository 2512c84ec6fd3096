"""A cache as it was, to go back to after something was tried in it.

Takes a cache before anything is tried. `restore` puts pods back onto their nodes, in the order they had there (it
decides between victims that are otherwise equal), and nodes, nominations and claims as they were. Only what was touched
is looked at, so that trying thousands of things costs no more than the trials themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod

#: What reserving room for a pod may change.
_WRITTEN = ("claims", "volumes", "resource_claims")


class Baseline:
    """What a cache holds."""

    def __init__(self, cache: Cache, pods: Mapping[str, Pod], nodes: Mapping[str, Node]) -> None:
        """`pods` are those of the cache by key, `nodes` its nodes by name; both may hold others as well."""
        self._cache = cache
        self._pods = pods
        self._nodes = nodes
        table = cache.nodes
        keys = cache.pods.keys
        self._on_node = {name: [keys[row] for row in table.pod_rows[at]] for name, at in table.rows_by_name.items()}
        self._nominated = {name: [keys[row] for row in rows] for name, rows in cache.nominated.items()}
        self._objects = {kind: dict(getattr(cache.objects, kind)) for kind in _WRITTEN}
        self._objects_version = cache.objects.version

    def on_node(self, name: str) -> list[str]:
        """Keys of the pods of a node, in its own order."""
        return self._on_node.get(name, [])

    def restore(self, touched: Iterable[str], replaced: Collection[str] = ()) -> None:
        """As it was.

        Args:
            touched: the nodes on which pods came or went, and those that went themselves or are new.
            replaced: keys of pods that are no longer the same, though they may be where others of their name were.
        """
        touched = list(dict.fromkeys(touched))
        missing = [key for name in touched for key in self._clear(name, replaced)]
        for key in missing:
            self._cache.add_pod(self._pods[key])
        for name in touched:
            self._restore_node(name)
        self._restore_nominations()
        self._restore_objects()

    def _clear(self, name: str, replaced: Collection[str]) -> list[str]:
        """Remove what does not belong on the node; the pods that are then missing there, in order."""
        cache, before = self._cache, self.on_node(name)
        row = cache.nodes.rows_by_name.get(name)
        now = [] if row is None else [cache.pods.keys[pod_row] for pod_row in cache.nodes.pod_rows[row]]
        is_kept = now[: len(before)] == before and not any(key in replaced for key in before)
        kept = len(before) if is_kept else 0
        # From the end, as the last pod takes the place of one that goes.
        for key in reversed(now[kept:]):
            cache.remove_pod(key)
        return before[kept:]

    def _restore_node(self, name: str) -> None:
        cache = self._cache
        row = cache.nodes.rows_by_name.get(name)
        is_there = row is not None and bool(cache.nodes.alive[row])
        if name in self._on_node and name in self._nodes and not is_there:
            cache.add_node(self._nodes[name])
        elif name not in self._on_node and is_there:
            cache.remove_node(name)

    def _restore_nominations(self) -> None:
        cache = self._cache
        keys = cache.pods.keys
        now = {name: [keys[row] for row in rows] for name, rows in cache.nominated.items()}
        if now == self._nominated:
            return
        for nominated in now.values():
            for key in nominated:
                cache.remove_pod(key)
        for name, before in self._nominated.items():
            for key in before:
                cache.nominate(self._pods[key], name)

    def _restore_objects(self) -> None:
        objects = self._cache.objects
        if objects.version == self._objects_version:
            return
        for kind, before in self._objects.items():
            now: dict[object, Object] = getattr(objects, kind)
            for name in [name for name in now if name not in before]:
                objects.remove(now[name])
            for name, obj in before.items():
                if now.get(name) is not obj:
                    objects.put(obj)
        self._objects_version = objects.version
