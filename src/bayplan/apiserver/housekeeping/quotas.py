"""The status of ResourceQuotas: what their namespaces use."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.admitting.plugins.quotas import quota_status
from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError

QUOTAS: Final = built_in("", "resourcequotas")
#: What no quota counts, and what is written most.
_NOT_COUNTED: Final = frozenset({"events", "leases.coordination.k8s.io"})


class QuotaUsage:
    """Keeps the statuses of quotas."""

    def __init__(self) -> None:
        self._quotas: dict[str, dict[str, None]] = {}
        """Names by namespace."""
        self._due: dict[str, None] = {}

    def observe(self, change: DocumentChange) -> None:
        namespace = change.new.namespace
        if change.resource == QUOTAS.plural:
            names = self._quotas.setdefault(namespace, {})
            if change.type == DELETED:
                names.pop(change.new.name, None)
            else:
                names[change.new.name] = None
            self._due[namespace] = None
        elif namespace in self._quotas and change.resource not in _NOT_COUNTED:
            self._due[namespace] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for namespace in due:
            for name in [*self._quotas.get(namespace, ())]:
                with suppress(ApiError):
                    registry.update(
                        QUOTAS,
                        namespace,
                        name,
                        lambda quota: {**quota, "status": quota_status(quota, registry, now)},
                        OPTIONS,
                        now,
                        subresource="status",
                    )
