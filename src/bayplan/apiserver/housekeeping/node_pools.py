"""How many nodes each NodePool has, in its status."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.housekeeping.nodes import NODES
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.kinds import OWN_KINDS
from bayplan.model.node_pools import POOL_LABEL, NodePool
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError

_INFO: Final = OWN_KINDS[NodePool.__name__]
_POOLS: Final = f"{_INFO.plural}.{_INFO.group}"


class NodePoolSizes:
    """Keeps the statuses."""

    def __init__(self) -> None:
        self._pool_of: dict[str, str] = {}
        self._due: dict[str, None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource == _POOLS:
            self._due[change.new.name] = None
        elif change.resource == NODES.plural:
            name, is_gone = change.new.name, change.type == DELETED
            labels = change.new.document["metadata"].get("labels") or {}
            pool = "" if is_gone else labels.get(POOL_LABEL, "")
            before = self._pool_of.get(name, "")
            if pool == before:
                return
            self._pool_of[name] = pool
            if not pool:
                del self._pool_of[name]
            self._due.update({each: None for each in (before, pool) if each})

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        resource = registry.catalogue.stored(_POOLS)
        if not due or resource is None:
            return
        sizes = list(self._pool_of.values())
        for name in due:
            status = {"nodes": sizes.count(name)}
            with suppress(ApiError):
                registry.update(
                    resource,
                    "",
                    name,
                    lambda pool, status=status: {**pool, "status": status},  # type: ignore[misc]
                    OPTIONS,
                    now,
                    subresource="status",
                )
