"""Endpoints that users write for services without a selector are mirrored into EndpointSlices.

Takes Endpoints, services and slices as they change. Each set of ports and each family of addresses gets one slice,
which the Endpoints own; a slice that is no longer needed is used again for other ports before a new one is made.

Upstream: pkg/controller/endpointslicemirroring (v1.36).
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.housekeeping.endpoints import AT_ONCE, CHANGED, ENDPOINTS, SERVICES, SLICE_MANAGED, SLICES
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import LAST_APPLIED, SERVICE_NAME, SKIP_MIRROR
from bayplan.store import ApiError

_MIRROR: Final = "endpointslicemirroring-controller.k8s.io"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_MIRRORED_MAX: Final = 1000
"""Addresses with the same ports."""

_Port: TypeAlias = tuple[str, str, int, str | None]
"""Name, protocol, number and application protocol."""
_Offer: TypeAlias = dict[tuple[str, str], bool]
"""Addresses, with the pods behind them, and whether they are ready."""


class _Group(NamedTuple):
    """What belongs into one slice."""

    family: str
    ports: frozenset[_Port]


class EndpointsMirroring:
    """Keeps the slices of Endpoints that no selector stands behind."""

    def __init__(self) -> None:
        self._mirrors: dict[tuple[str, str], dict[str, None]] = {}
        """Names of the slices, by namespace and name of what they mirror."""
        self._due: dict[tuple[str, str], None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource in (ENDPOINTS.qualified_resource, SERVICES.qualified_resource):
            self._due[change.new.namespace, change.new.name] = None
        elif change.resource == SLICES.qualified_resource:
            for entry in filter(None, (change.old, change.new)):
                key = _mirrored(entry)
                if key is not None:
                    self._due[key] = None
                    self._mirrors.get(key, {}).pop(entry.name, None)
            key = _mirrored(change.new)
            if key is not None and change.type != DELETED:
                self._mirrors.setdefault(key, {})[change.new.name] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for namespace, name in due:
            mirrors = self._mirrors.get((namespace, name), {})
            found = [registry.find(SLICES, namespace, mirror) for mirror in mirrors]
            known = [one for one in found if one is not None]
            if not known:
                self._mirrors.pop((namespace, name), None)
            with suppress(ApiError):
                _mirror(registry, namespace, name, known, now)


def _mirrored(entry: Entry) -> tuple[str, str] | None:
    """Namespace and name of the Endpoints that the slice mirrors; None if it mirrors none."""
    labels = entry.document["metadata"].get("labels") or {}
    name = labels.get(SERVICE_NAME)
    return (entry.namespace, name) if name and labels.get(SLICE_MANAGED) == _MIRROR else None


def _mirror(registry: Registry, namespace: str, name: str, known: list[Document], now: int) -> None:
    """Makes, changes and deletes slices, of which these are known."""
    endpoints = registry.find(ENDPOINTS, namespace, name)
    service = registry.find(SERVICES, namespace, name)
    wanted: dict[_Group, Document] = {}
    if endpoints is not None and service is not None and not service["spec"].get("selector"):
        wanted = _slices(endpoints)
    taken: dict[_Group, Document] = {}
    free = []
    for one in known:
        group = _Group(one["addressType"], frozenset(map(_port, one.get("ports") or ())))
        if group in wanted and group not in taken:
            taken[group] = one
        else:
            free.append(one)
    for group, document in wanted.items():
        stored = taken.get(group) or _used_again(free, group.family)
        _put(registry, stored, document, now)
    for one in free:
        registry.delete(SLICES, namespace, one["metadata"]["name"], AT_ONCE, now)


def _used_again(free: list[Document], family: str) -> Document | None:
    """Takes out a slice of the family, if there is one: addresses of another cannot be put into it."""
    for position, one in enumerate(free):
        if one["addressType"] == family:
            return free.pop(position)
    return None


def _put(registry: Registry, stored: Document | None, wanted: Document, now: int) -> None:
    meta = wanted["metadata"]
    if stored is None:
        made = {**meta, "generateName": f"{meta['labels'][SERVICE_NAME]}-"}
        registry.create(SLICES, meta["namespace"], {**wanted, "metadata": made}, OPTIONS, now)
        return
    is_same = all(stored.get(field) == wanted[field] for field in ("endpoints", "ports"))
    kept = ("labels", "annotations", "ownerReferences")
    if is_same and all((stored["metadata"].get(field) or None) == meta[field] for field in kept):
        return

    def wish(known: Document) -> Document:
        metadata = with_metadata(known, **{field: meta[field] for field in kept})["metadata"]
        return {**wanted, "metadata": metadata}

    registry.update(SLICES, meta["namespace"], stored["metadata"]["name"], wish, OPTIONS, now)


def _slices(endpoints: Document) -> dict[_Group, Document]:
    """What mirrors these Endpoints; nothing if they say so, or are where somebody leads."""
    metadata = endpoints["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if labels.get(SKIP_MIRROR) == "true" or _LEADER in annotations or "deletionTimestamp" in metadata:
        return {}
    made = {
        "namespace": metadata["namespace"],
        "labels": {**labels, SERVICE_NAME: metadata["name"], SLICE_MANAGED: _MIRROR},
        "annotations": {key: text for key, text in annotations.items() if key not in (CHANGED, LAST_APPLIED)} or None,
        "ownerReferences": [_owner(metadata)],
    }
    addresses, offers = _offers(endpoints)
    return {
        group: {
            "apiVersion": SLICES.api_version,
            "kind": SLICES.kind,
            "metadata": made,
            "addressType": group.family,
            "endpoints": [_endpoint(addresses[key], is_ready=is_ready) for key, is_ready in offer.items()],
            "ports": [_port_of_slice(port) for port in ports] or None,
        }
        for group, ports, offer in _by_group(offers)
    }


def _owner(metadata: Document) -> Document:
    return {
        "apiVersion": ENDPOINTS.api_version,
        "kind": ENDPOINTS.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _offers(endpoints: Document) -> tuple[dict[tuple[str, str], Document], dict[_Port | None, _Offer]]:
    """All addresses, and who is reached at which port; None where a subset has no ports."""
    addresses: dict[tuple[str, str], Document] = {}
    offers: dict[_Port | None, _Offer] = {}
    for subset in endpoints.get("subsets") or ():
        for port in map(_port, subset.get("ports") or ()) if subset.get("ports") else (None,):
            offer = offers.setdefault(port, {})
            for field, is_ready in (("addresses", True), ("notReadyAddresses", False)):
                for address in subset.get(field) or ():
                    key = (address["ip"], (address.get("targetRef") or {}).get("uid", ""))
                    addresses.setdefault(key, address)
                    offer[key] = is_ready and offer.get(key, True)
    return addresses, offers


def _by_group(offers: dict[_Port | None, _Offer]) -> list[tuple[_Group, list[_Port], _Offer]]:
    """Ports that lead to the same addresses together, each family of addresses alone."""
    together: dict[frozenset[tuple[tuple[str, str], bool]], tuple[list[_Port], _Offer]] = {}
    for port, offer in offers.items():
        ports, _ = together.setdefault(frozenset(offer.items()), ([], offer))
        ports += [] if port is None else [port]
    groups = []
    for ports, offer in together.values():
        families: dict[str, _Offer] = {}
        for key, is_ready in islice(offer.items(), _MIRRORED_MAX):
            families.setdefault("IPv6" if ip_address(key[0]).version == 6 else "IPv4", {})[key] = is_ready
        groups += [(_Group(family, frozenset(ports)), ports, part) for family, part in families.items()]
    return groups


def _port(port: Document) -> _Port:
    return port.get("name", ""), port.get("protocol", "TCP"), port["port"], port.get("appProtocol")


def _port_of_slice(port: _Port) -> Document:
    name, protocol, number, application = port
    made = {"name": name, "protocol": protocol, "port": number}
    return made if application is None else {**made, "appProtocol": application}


def _endpoint(address: Document, *, is_ready: bool) -> Document:
    kept = {field: address[field] for field in ("hostname", "nodeName", "targetRef") if address.get(field)}
    return {"addresses": [str(ip_address(address["ip"]))], "conditions": {"ready": is_ready}, **kept}
