"""Namespaces: what each of them has from the beginning, and how one ends.

A new namespace gets its default ServiceAccount and, if the server has a certificate, the ConfigMap that pods find it
in; both come back when somebody deletes or changes them. One that is being deleted loses its pods first, then
everything else, and ends when nothing is left; its conditions say what keeps it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Final

from bayplan.apiserver.admitting.cluster import SERVICE_ACCOUNTS
from bayplan.apiserver.admitting.plugins.service_accounts import DEFAULT_ACCOUNT
from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.kinds.core.nodes import NAMESPACE_FINALIZER
from bayplan.apiserver.registry.registry import NAMESPACES, Registry
from bayplan.apiserver.schema.resources import Resource, built_in
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import DELETED
from bayplan.store import BACKGROUND, ApiError
from bayplan.store.deleting import DeleteOptions

_NAMESPACES: Final = "namespaces"
CONFIG_MAPS: Final = built_in("", "configmaps")
_ROOT_CERTIFICATE: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


#: What the conditions of a namespace that ends say if nothing keeps it: status, reason, message.
_SETTLED: Final = {
    "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        *("False", "ParsedGroupVersions"),
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        *("False", "ContentDeleted"),
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        *("False", "ContentHasNoFinalizers"),
        "All content-preserving finalizers finished",
    ),
}


class NamespaceContents:
    """Gives namespaces what each has.

    Args:
        certificate: of the authority that signs for this server; empty where it speaks plain HTTP.
    """

    def __init__(self, certificate: str = "") -> None:
        self._certificate = certificate
        self._due: dict[str, None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource == _NAMESPACES and change.type != DELETED:
            if "deletionTimestamp" not in change.new.document["metadata"]:
                self._due[change.new.name] = None
        elif change.new.name == _ROOT_CERTIFICATE or (change.type == DELETED and change.new.name == "default"):
            self._due[change.new.namespace] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for name in due:
            namespace = registry.find(NAMESPACES, "", name)
            if namespace is not None and "deletionTimestamp" not in namespace["metadata"]:
                self._fill(registry, name, now)

    def _fill(self, registry: Registry, namespace: str, now: int) -> None:
        account: Document = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT_ACCOUNT}}
        certificate: Document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _ROOT_CERTIFICATE, "annotations": {"kubernetes.io/description": _DESCRIPTION}},
            "data": {"ca.crt": self._certificate},
        }
        wanted = [(SERVICE_ACCOUNTS, account)]
        if self._certificate:
            wanted.append((CONFIG_MAPS, certificate))
        for resource, document in wanted:
            with suppress(ApiError):
                _restore(registry, resource, namespace, document, now)


def _restore(registry: Registry, resource: Resource, namespace: str, wanted: Document, now: int) -> None:
    """Creates the object, or gives it the data that it is to have."""
    name = wanted["metadata"]["name"]
    found = registry.find(resource, namespace, name)
    if found is None:
        registry.create(resource, namespace, wanted, OPTIONS, now)
    elif found.get("data") != wanted.get("data"):
        registry.update(resource, namespace, name, lambda old: {**old, "data": wanted["data"]}, OPTIONS, now)


class NamespaceEnding:
    """Empties namespaces that are being deleted."""

    def __init__(self) -> None:
        self._ending: dict[str, None] = {}
        self._due: dict[str, None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource == _NAMESPACES:
            if change.type == DELETED:
                self._ending.pop(change.new.name, None)
            elif "deletionTimestamp" in change.new.document["metadata"]:
                self._ending[change.new.name] = None
                self._due[change.new.name] = None
        elif self._ending and change.new.namespace in self._ending:
            self._due[change.new.namespace] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for name in due:
            if name in self._ending:
                with suppress(ApiError):
                    _empty(registry, name, now)


def _empty(registry: Registry, namespace: str, now: int) -> None:
    """Deletes the pods, then, once they are gone, everything else, and then lets the namespace go."""
    # Upstream: pkg/controller/namespace/deletion/namespaced_resources_deleter.go deleteAllContent (v1.36).
    has_pods = bool(_left(registry, "pods", namespace, now))
    others = () if has_pods else registry.storage.resources()
    left = {resource: entries for resource in others if (entries := _left(registry, resource, namespace, now))}
    registry.update(
        NAMESPACES,
        "",
        namespace,
        lambda document: _with_conditions(document, left, now),
        OPTIONS,
        now,
        subresource="status",
    )
    if not has_pods and not left:
        spec = registry.entry(NAMESPACES, "", namespace).document.get("spec", {})
        kept = [finalizer for finalizer in spec.get("finalizers") or () if finalizer != NAMESPACE_FINALIZER]
        registry.finalize_namespace(namespace, kept, OPTIONS, now)


def _left(registry: Registry, stored_as: str, namespace: str, now: int) -> list[Entry]:
    """What is left of a resource in the namespace after all of it is deleted."""
    for entry in _contents(registry, stored_as, namespace):
        resource = registry.catalogue.stored(stored_as)
        if resource is None:
            registry.storage.remove(stored_as, entry)  # its definition is gone: nothing could wait for it
        elif "deletionTimestamp" not in entry.document["metadata"]:
            with suppress(ApiError):
                registry.delete(resource, namespace, entry.name, DeleteOptions(None, entry.uid, None, BACKGROUND), now)
    return _contents(registry, stored_as, namespace)


def _contents(registry: Registry, stored_as: str, namespace: str) -> list[Entry]:
    return [entry for entry in registry.storage.entries(stored_as, namespace) if entry.namespace]


def _with_conditions(document: Document, left: dict[str, list[Entry]], now: int) -> Document:
    """The namespace with conditions that say what keeps it; the same document if they say so already."""
    status = document.get("status", {})
    old = status.get("conditions") or []
    found = {**_SETTLED, **_remaining(left)}
    ours = [_condition(old, kind, *said, format_time(now)) for kind, said in found.items()]
    conditions = [*(one for one in old if one["type"] not in found), *ours]
    return document if conditions == old else {**document, "status": {**status, "conditions": conditions}}


def _condition(old: list[Document], kind: str, status: str, reason: str, message: str, time: str) -> Document:
    before = next((one for one in old if one["type"] == kind), {})
    since = before["lastTransitionTime"] if before.get("status") == status else time
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}


def _remaining(left: dict[str, list[Entry]]) -> dict[str, tuple[str, str, str]]:
    if not left:
        return {}
    finalizers = Counter(
        finalizer
        for entries in left.values()
        for entry in entries
        for finalizer in entry.document["metadata"].get("finalizers") or ()
    )
    # Upstream puts a dot even where the group is empty.
    names = {resource if "." in resource else f"{resource}.": len(entries) for resource, entries in left.items()}
    kinds = ", ".join(sorted(f"{name} has {count} resource instances" for name, count in names.items()))
    found = {"NamespaceContentRemaining": ("True", "SomeResourcesRemain", f"Some resources are remaining: {kinds}")}
    if finalizers:
        holders = ", ".join(sorted(f"{name} in {count} resource instances" for name, count in finalizers.items()))
        text = f"Some content in the namespace has finalizers remaining: {holders}"
        found["NamespaceFinalizersRemaining"] = ("True", "SomeFinalizersRemain", text)
    return found
