"""The annotation by which nodes know for how long they may keep what they read of Secrets and ConfigMaps."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import ApiError

NODES: Final = built_in("", "nodes")
ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
#: The seconds, and up to how many nodes they hold. Upstream: pkg/controller/ttl/ttl_controller.go (v1.36), which lets
#: the number of nodes sink further before it goes back a step.
_STEPS: Final = ((100, 0), (500, 15), (1_000, 30), (2_000, 60))
_LARGEST: Final = 300


class NodeTimeToLive:
    """Keeps the annotation."""

    def __init__(self) -> None:
        self._nodes: dict[str, None] = {}
        self._due: dict[str, None] = {}
        self._seconds = 0

    def observe(self, change: DocumentChange) -> None:
        if change.resource != NODES.plural:
            return
        name = change.new.name
        if change.type == DELETED:
            self._nodes.pop(name, None)
        elif change.type == ADDED or name not in self._nodes:
            self._nodes[name] = None
            self._due[name] = None
        seconds = next((seconds for most, seconds in _STEPS if len(self._nodes) <= most), _LARGEST)
        if seconds != self._seconds:
            self._seconds = seconds
            self._due.update(self._nodes)

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        wanted = {ANNOTATION: str(self._seconds)}
        for name in due:
            with suppress(ApiError):
                registry.update(
                    NODES,
                    "",
                    name,
                    lambda node: with_metadata(
                        node, annotations={**(node["metadata"].get("annotations") or {}), **wanted}
                    ),
                    OPTIONS,
                    now,
                )
