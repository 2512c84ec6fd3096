"""The parties that every cluster has, and the one list of them."""

from __future__ import annotations

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
from bayplan.model.watch_types import ADDED


class Housekeeping:
    """All parties, which learn of everything that is stored."""

    def __init__(self, registry: Registry, certificate: str = "") -> None:
        self._registry = registry
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
            party.observe(change)

    def reconcile(self, now: int) -> None:
        for party in self._parties:
            party.reconcile(self._registry, now)
