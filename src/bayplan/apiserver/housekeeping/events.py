"""Events are forgotten an hour after they were last written, as a real server's storage does."""

from __future__ import annotations

from contextlib import suppress
from typing import Final, TypeAlias

from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.log import Change
from bayplan.model.time_units import HOUR
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError
from bayplan.store.deleting import Request

EVENTS: Final = built_in("", "events")
#: Upstream: kube-apiserver --event-ttl (v1.36).
KEPT_NS: Final = HOUR
_AT_ONCE: Final = Request(None, None, None, None)

Key: TypeAlias = tuple[str, str]


class EventExpiry:
    """Deletes old Events."""

    def __init__(self) -> None:
        self._written: dict[Key, None] = {}
        """Written since the last look."""
        self._expires: dict[Key, int] = {}
        """When each is to go, the first first."""

    def observe(self, change: Change) -> None:
        if change.resource != EVENTS.plural:
            return
        key = (change.new.namespace, change.new.name)
        if change.type == DELETED:
            self._written.pop(key, None)
            self._expires.pop(key, None)
        else:
            self._written[key] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        for key in self._written:
            self._expires.pop(key, None)
            self._expires[key] = now + KEPT_NS
        self._written.clear()
        for key in self._due(now):
            with suppress(ApiError):
                registry.delete(EVENTS, *key, _AT_ONCE, now)

    def _due(self, now: int) -> list[Key]:
        due = []
        for key, expires_at in self._expires.items():
            if expires_at > now:
                break
            due.append(key)
        return due
