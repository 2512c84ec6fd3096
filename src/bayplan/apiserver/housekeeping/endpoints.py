"""Services with a selector get their Endpoints and their EndpointSlice.

Takes services and pods as they change. Pods here have addresses only if somebody has written them into their status;
those that have none are no endpoints, as with Kubernetes. One slice holds all endpoints with the same ports.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import PODS, Registry
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.conditions import TRUE
from bayplan.model.pod import FINISHED_PHASES
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import READY, SERVICE_NAME
from bayplan.store import ApiError
from bayplan.store.deleting import DeleteOptions

SERVICES: Final = built_in("", "services")
ENDPOINTS: Final = built_in("", "endpoints")
SLICES: Final = built_in("discovery.k8s.io", "endpointslices")
_MADE: Final = frozenset({ENDPOINTS.qualified_resource, SLICES.qualified_resource})
"""What comes back if somebody deletes it."""
_HEADLESS: Final = "service.kubernetes.io/headless"
CHANGED: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_MANAGED: Final = "endpoints.kubernetes.io/managed-by"
SLICE_MANAGED: Final = "endpointslice.kubernetes.io/managed-by"
AT_ONCE: Final = DeleteOptions(None, None, None, None)


class ServiceEndpoints:
    """Keeps the endpoints of services."""

    def __init__(self) -> None:
        self._services: dict[tuple[str, str], dict[str, str]] = {}
        """Selectors by namespace and name, of those that have one."""
        self._due: dict[tuple[str, str], None] = {}

    def observe(self, change: DocumentChange) -> None:
        key = (change.new.namespace, change.new.name)
        if change.resource == SERVICES.plural:
            selector = change.new.document.get("spec", {}).get("selector")
            if change.type == DELETED or not selector:
                self._services.pop(key, None)
            else:
                self._services[key] = selector
                self._due[key] = None
            if change.type == DELETED:
                self._due[key] = None
        elif change.type == DELETED and change.resource in _MADE:
            labels = change.new.document["metadata"].get("labels") or {}
            key = (change.new.namespace, labels.get(SERVICE_NAME, change.new.name))
            if key in self._services:
                self._due[key] = None
        elif change.resource == "pods" and self._services and _may_matter(change):
            self._note_pod(change)

    def _note_pod(self, change: DocumentChange) -> None:
        for entry in filter(None, (change.old, change.new)):
            labels = entry.document["metadata"].get("labels") or {}
            for key, selector in self._services.items():
                if key[0] == entry.namespace and selector.items() <= labels.items():
                    self._due[key] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for namespace, name in due:
            service = registry.find(SERVICES, namespace, name)
            with suppress(ApiError):
                if service is None:
                    # Slices have an owner; these go by their name.
                    registry.delete(ENDPOINTS, namespace, name, AT_ONCE, now)
                elif (namespace, name) in self._services:
                    _write(registry, service, now)


def _may_matter(change: DocumentChange) -> bool:
    """Pods without an address are no endpoints."""
    return any(
        entry is not None and entry.document.get("status", {}).get("podIP") for entry in (change.old, change.new)
    )


def _write(registry: Registry, service: Document, now: int) -> None:
    metadata = service["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    selector = service["spec"]["selector"].items()
    pods = [
        pod
        for pod in registry.list(PODS, namespace)
        if pod.get("status", {}).get("podIP")
        and pod["status"].get("phase") not in FINISHED_PHASES
        and selector <= (pod["metadata"].get("labels") or {}).items()
    ]
    groups = _by_ports(service, pods)
    subsets = {"subsets": [_subset(service, group) for group in groups]} if pods else {}
    _put(
        registry, ENDPOINTS, name, {"apiVersion": "v1", "kind": "Endpoints", **subsets}, _labels(service, _MANAGED), now
    )
    slices = [
        {
            "apiVersion": SLICES.api_version,
            "kind": SLICES.kind,
            "addressType": "IPv4",
            "endpoints": [_endpoint(service, pod) for pod in group] or None,
            "ports": _ports(service, group) or None,
        }
        for group in groups or [[]]
    ]
    _put_slices(registry, service, slices, now)


def _by_ports(service: Document, pods: list[Document]) -> list[list[Document]]:
    """Pods that are reached at the same ports together: named ports may differ from pod to pod."""
    groups: dict[str, list[Document]] = {}
    for pod in pods:
        groups.setdefault(str(_ports(service, [pod])), []).append(pod)
    return [*groups.values()]


def _labels(service: Document, managed: str) -> Document:
    """The metadata of what is made for the service."""
    headless = {_HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
    own = service["metadata"].get("labels") or {}
    who = "endpoint-controller" if managed == _MANAGED else "endpointslice-controller.k8s.io"
    named = {SERVICE_NAME: service["metadata"]["name"]} if managed == SLICE_MANAGED else {}
    return {"namespace": service["metadata"]["namespace"], "labels": {**own, **headless, **named, managed: who}}


def _put(registry: Registry, resource: Resource, name: str, wanted: Document, metadata: Document, now: int) -> None:
    """Creates the object or brings it up to date."""
    namespace = metadata["namespace"]
    stored = registry.find(resource, namespace, name)
    changed = {CHANGED: format_time(now)}
    if stored is None:
        made = {**metadata, "name": name, "annotations": changed}
        registry.create(resource, namespace, {**wanted, "metadata": made}, OPTIONS, now)
        return
    fields = {field for field in {**wanted, **stored} if field not in ("metadata", "kind", "apiVersion")}
    is_same = all(stored.get(field) == wanted.get(field) for field in fields)
    if is_same and stored["metadata"].get("labels") == metadata["labels"]:
        return
    annotations = {**(stored["metadata"].get("annotations") or {}), **changed}
    registry.update(
        resource,
        namespace,
        name,
        lambda known: {
            **wanted,
            "metadata": with_metadata(known, labels=metadata["labels"], annotations=annotations)["metadata"],
        },
        OPTIONS,
        now,
    )


def _put_slices(registry: Registry, service: Document, wanted: list[Document], now: int) -> None:
    meta = service["metadata"]
    mine = [
        known
        for known in registry.list(SLICES, meta["namespace"])
        if any(owner["uid"] == meta["uid"] for owner in known["metadata"].get("ownerReferences") or ())
    ]
    metadata = _labels(service, SLICE_MANAGED)
    # A slice keeps its ports as long as there is an endpoint for them.
    free = [known for known in mine if not any(known.get("ports") == one["ports"] for one in wanted)]
    for one in wanted:
        same = next((known for known in mine if known.get("ports") == one["ports"]), None)
        taken = same or (free.pop() if free else None)
        if taken is None:
            _add_slice(registry, service, one, metadata, now)
        else:
            _put(registry, SLICES, taken["metadata"]["name"], one, metadata, now)
    for known in free:
        registry.delete(SLICES, meta["namespace"], known["metadata"]["name"], AT_ONCE, now)


def _add_slice(registry: Registry, service: Document, wanted: Document, metadata: Document, now: int) -> None:
    meta = service["metadata"]
    owner = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    made = {
        **metadata,
        "generateName": f"{meta['name']}-",
        "annotations": {CHANGED: format_time(now)},
        "ownerReferences": [owner],
    }
    registry.create(SLICES, meta["namespace"], {**wanted, "metadata": made}, OPTIONS, now)


def _is_ready(pod: Document) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(known.get("type") == READY and known.get("status") == TRUE for known in conditions)


def _is_published(service: Document, pod: Document) -> bool:
    """Whether clients are to be sent to the pod."""
    if service["spec"].get("publishNotReadyAddresses"):
        return True
    return _is_ready(pod) and "deletionTimestamp" not in pod["metadata"]


def _target(pod: Document) -> Document:
    metadata = pod["metadata"]
    return {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}


def _endpoint(service: Document, pod: Document) -> Document:
    is_ending = "deletionTimestamp" in pod["metadata"]
    conditions = {"ready": _is_published(service, pod), "serving": _is_ready(pod), "terminating": is_ending}
    made = {"addresses": [pod["status"]["podIP"]], "conditions": conditions, "targetRef": _target(pod)}
    return {**made, "nodeName": pod["spec"]["nodeName"]} if pod["spec"].get("nodeName") else made


def _subset(service: Document, pods: list[Document]) -> Document:
    addresses: dict[str, list[Document]] = {"addresses": [], "notReadyAddresses": []}
    for pod in pods:
        which = "addresses" if _is_published(service, pod) else "notReadyAddresses"
        node = {"nodeName": pod["spec"]["nodeName"]} if pod["spec"].get("nodeName") else {}
        addresses[which].append({"ip": pod["status"]["podIP"], **node, "targetRef": _target(pod)})
    made: Document = {which: found for which, found in addresses.items() if found}
    return {**made, "ports": _ports(service, pods)}


def _ports(service: Document, pods: list[Document]) -> list[Document]:
    ports = []
    for port in service["spec"].get("ports") or ():
        number = _number(port, pods)
        if pods and number is not None:
            name = {"name": port["name"]} if port.get("name") else {}
            ports.append({**name, "port": number, "protocol": port.get("protocol", "TCP")})
    return ports


def _number(port: Document, pods: list[Document]) -> Any:
    """The port of the containers; one that is named is looked for in the first pod that has it."""
    target = port.get("targetPort", port["port"])
    if not isinstance(target, str):
        return target
    for pod in pods:
        for container in pod["spec"].get("containers") or ():
            for known in container.get("ports") or ():
                if known.get("name") == target:
                    return known["containerPort"]
    return None
