"""The parties that every cluster has, and the one list of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bayplan.apiserver.housekeeping.autoscaling import PodAutoscaling
from bayplan.apiserver.housekeeping.compaction import PastVersions
from bayplan.apiserver.housekeeping.containers import ContainerRestarts
from bayplan.apiserver.housekeeping.contract import Housekeeper
from bayplan.apiserver.housekeeping.definitions import DefinitionEnding
from bayplan.apiserver.housekeeping.endpoints import ServiceEndpoints
from bayplan.apiserver.housekeeping.events import EventExpiry
from bayplan.apiserver.housekeeping.garbage import DocumentCollector
from bayplan.apiserver.housekeeping.kubelets import KubeletReports
from bayplan.apiserver.housekeeping.migrations import StorageMigrations
from bayplan.apiserver.housekeeping.mirroring import EndpointsMirroring
from bayplan.apiserver.housekeeping.namespaces import NamespaceContents, NamespaceEnding
from bayplan.apiserver.housekeeping.node_leases import NodeLeases
from bayplan.apiserver.housekeeping.node_pools import NodePoolSizes
from bayplan.apiserver.housekeeping.nodes import NodeTimeToLive
from bayplan.apiserver.housekeeping.policies import PolicyTypes
from bayplan.apiserver.housekeeping.protection import GroupProtection, VolumeProtection
from bayplan.apiserver.housekeeping.quotas import QuotaUsage
from bayplan.apiserver.housekeeping.revisions import RevisionHistory
from bayplan.apiserver.housekeeping.service_cidrs import ServiceRanges
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED

#: How long a party does nothing after an exception that nobody expected.
_PAUSE_NS = 10 * SECOND


def _raised(party: str, error: Exception) -> None:  # noqa: ARG001
    raise error


def standard_parties(certificate: str = "") -> list[Housekeeper]:
    """What controllers do; the certificate is that of the authority that signs for the server, if there is one."""
    return [
        NamespaceContents(certificate),
        ServiceEndpoints(),
        EndpointsMirroring(),
        RevisionHistory(),
        QuotaUsage(),
        NodeTimeToLive(),
        NodeLeases(),
        NodePoolSizes(),
        KubeletReports(),
        ContainerRestarts(),
        PodAutoscaling(),
        VolumeProtection(),
        GroupProtection(),
        ServiceRanges(),
        PolicyTypes(),
        StorageMigrations(),
        DocumentCollector(),
        NamespaceEnding(),
    ]


class Housekeeping:
    """Parties, which learn of everything that is stored.

    Args:
        registry: where they find it.
        parties: those that stand for controllers; without them, the standard ones.
        expiry: of Events. This, the end of definitions and of old versions are the server's own business, with
            controllers or without.
        on_bug: is told of a party's exception that nobody expected; then it pauses, and all others go on.
    """

    def __init__(
        self,
        registry: Registry,
        parties: Sequence[Housekeeper] | None = None,
        expiry: EventExpiry | None = None,
        on_bug: Callable[[str, Exception], None] = _raised,
    ) -> None:
        self._registry = registry
        self._on_bug = on_bug
        self._paused_until: dict[str, int] = {}
        controlling = standard_parties() if parties is None else parties
        own = (DefinitionEnding(), PastVersions(), expiry or EventExpiry())
        self._parties: tuple[Housekeeper, ...] = (*controlling, *own)
        storage = registry.storage
        stored = [(resource, entry) for resource in storage.resources() for entry in storage.entries(resource)]
        # Oldest first, as they came: that is the order in which Events go.
        for resource, entry in sorted(stored, key=lambda one: one[1].version):
            self.observe(DocumentChange(ADDED, resource, None, entry))

    def observe(self, change: DocumentChange) -> None:
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
