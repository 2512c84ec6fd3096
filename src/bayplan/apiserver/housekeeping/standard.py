"""The parties that every cluster has, and the one list of them."""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.housekeeping.contract import Housekeeper
from bayplan.apiserver.housekeeping.endpoints import ServiceEndpoints
from bayplan.apiserver.housekeeping.events import EventExpiry
from bayplan.apiserver.housekeeping.garbage import GarbageCollector
from bayplan.apiserver.housekeeping.namespaces import NamespaceContents, NamespaceEnding
from bayplan.apiserver.housekeeping.nodes import NodeTimeToLive
from bayplan.apiserver.housekeeping.protection import VolumeProtection
from bayplan.apiserver.housekeeping.quotas import QuotaUsage
from bayplan.apiserver.housekeeping.revisions import RevisionHistory
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import Change
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED

#: How long a party does nothing after an exception that nobody expected.
_PAUSE_NS = 10 * SECOND


def _raised(party: str, error: Exception) -> None:  # noqa: ARG001
    raise error


class Housekeeping:
    """All parties, which learn of everything that is stored.

    `on_bug` is told of a party's exception that nobody expected; then it pauses, and all others go on.
    """

    def __init__(
        self, registry: Registry, certificate: str = "", on_bug: Callable[[str, Exception], None] = _raised
    ) -> None:
        self._registry = registry
        self._on_bug = on_bug
        self._paused_until: dict[str, int] = {}
        self._parties: tuple[Housekeeper, ...] = (
            NamespaceContents(certificate),
            ServiceEndpoints(),
            RevisionHistory(),
            QuotaUsage(),
            NodeTimeToLive(),
            VolumeProtection(),
            GarbageCollector(),
            NamespaceEnding(),
            EventExpiry(),
        )
        for resource in registry.storage.resources():
            for entry in registry.storage.entries(resource):
                self.observe(Change(ADDED, resource, None, entry))

    def observe(self, change: Change) -> None:
        for party in self._parties:
            try:
                party.observe(change)
            except Exception as error:
                self._on_bug(type(party).__name__, error)

    def reconcile(self, now: int) -> None:
        for party in self._parties:
            name = type(party).__name__
            if self._paused_until and self._paused_until.get(name, now) > now:
                continue
            try:
                party.reconcile(self._registry, now)
            except Exception as error:
                self._paused_until[name] = now + _PAUSE_NS
                self._on_bug(name, error)
