"""ServiceCIDRs are ready as soon as they are there, and stay until no address would be left without one.

Each bears a finalizer. One that is being deleted goes if others contain all of it, or else if no Service and no
IPAddress has an address that only it contains; until then its condition says what it waits for. Upstream then waits for
ten more seconds, so that all API servers know; here there is one.
Upstream: pkg/controller/servicecidrs/servicecidrs_controller.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Final

from bayplan.apiserver.admitting.cluster import SERVICES
from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.versions import storage_name
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.conditions import FALSE, TRUE
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import READY
from bayplan.store import ApiError

CIDRS: Final = built_in("networking.k8s.io", "servicecidrs")
ADDRESSES: Final = built_in("networking.k8s.io", "ipaddresses")
FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"
#: Of the addresses that the server gives out itself.
_MANAGED: Final = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io")
_WATCHED: Final = frozenset(map(storage_name, (CIDRS, ADDRESSES, SERVICES)))
_IS_READY: Final = (TRUE, "", "Kubernetes Service CIDR is ready")
_IS_NEEDED: Final = (
    FALSE,
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
)


class ServiceRanges:
    """Keeps finalizers and conditions."""

    def __init__(self) -> None:
        self._has_news = False
        self._is_waiting = False
        """Whether one that is being deleted is still needed."""

    def observe(self, change: DocumentChange) -> None:
        if change.resource in _WATCHED and (self._is_waiting or change.resource == storage_name(CIDRS)):
            self._has_news = True

    def reconcile(self, registry: Registry, now: int) -> None:
        if not self._has_news:
            return
        self._has_news = self._is_waiting = False
        for cidr in [*registry.list(CIDRS, "")]:
            metadata = cidr["metadata"]
            finalizers = metadata.get("finalizers") or []
            if "deletionTimestamp" not in metadata:
                if FINALIZER not in finalizers:
                    _set_finalizers(registry, metadata["name"], [*finalizers, FINALIZER], now)
                _report(registry, cidr, _IS_READY, now)
            elif FINALIZER in finalizers and _is_needed(registry, cidr):
                self._is_waiting = True
                _report(registry, cidr, _IS_NEEDED, now)
            elif FINALIZER in finalizers:
                _set_finalizers(registry, metadata["name"], [each for each in finalizers if each != FINALIZER], now)


def _is_needed(registry: Registry, cidr: Document) -> bool:
    name = cidr["metadata"]["name"]
    others = [other for other in registry.list(CIDRS, "") if other["metadata"]["name"] != name]
    if all(any(_contains(other, given) for other in others) for given in cidr["spec"].get("cidrs") or ()):
        return False
    return any(
        _contains(cidr, address) and not any(_contains(other, address) for other in others)
        for address in _addresses(registry)
    )


def _addresses(registry: Registry) -> Iterator[str]:
    for service in registry.list(SERVICES, ""):
        yield from (address for address in service["spec"].get("clusterIPs") or () if address != "None")
    label, value = _MANAGED
    for address in registry.list(ADDRESSES, ""):
        if (address["metadata"].get("labels") or {}).get(label) == value:
            yield address["metadata"]["name"]


def _contains(cidr: Document, given: str) -> bool:
    """Whether one of its ranges contains the address, or all of the range."""
    wanted = ip_network(given, strict=False) if "/" in given else ip_network(ip_address(given))
    ranges = (ip_network(each, strict=False) for each in cidr["spec"].get("cidrs") or ())
    return any(
        each.version == wanted.version and each.prefixlen <= wanted.prefixlen and wanted.network_address in each
        for each in ranges
    )


def _set_finalizers(registry: Registry, name: str, finalizers: list[str], now: int) -> None:
    with suppress(ApiError):
        registry.update(
            CIDRS, "", name, lambda stored: with_metadata(stored, finalizers=finalizers or None), OPTIONS, now
        )


def _report(registry: Registry, cidr: Document, said: tuple[str, str, str], now: int) -> None:
    status, reason, message = said
    conditions = (cidr.get("status") or {}).get("conditions") or []
    standing = next((one for one in conditions if one["type"] == READY), None)
    if standing is not None and said == (standing["status"], standing.get("reason", ""), standing.get("message")):
        return
    made = {"type": READY, "status": status, "reason": reason, "message": message}
    is_same = standing is not None and standing["status"] == status
    since = standing["lastTransitionTime"] if standing is not None and is_same else format_time(now)
    others = [one for one in conditions if one["type"] != READY]
    with suppress(ApiError):
        registry.update(
            CIDRS,
            "",
            cidr["metadata"]["name"],
            lambda stored: {**stored, "status": {"conditions": [*others, {**made, "lastTransitionTime": since}]}},
            OPTIONS,
            now,
            subresource="status",
        )
