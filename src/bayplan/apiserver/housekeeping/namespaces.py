"""Namespaces: what each of them has from the beginning, and how one ends.

A new namespace gets its default ServiceAccount and, if the server has a certificate, the ConfigMap that pods find it
in; both come back when somebody deletes them. One that is being deleted is emptied of every kind, and ends when nothing
is left.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.registry import NAMESPACES, Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.apiserver.storage.log import Change
from bayplan.model.watch_types import DELETED
from bayplan.store import BACKGROUND, AlreadyExists, ApiError
from bayplan.store.deleting import Request

_NAMESPACES: Final = "namespaces"
SERVICE_ACCOUNTS: Final = built_in("", "serviceaccounts")
CONFIG_MAPS: Final = built_in("", "configmaps")
_ROOT_CERTIFICATE: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class NamespaceContents:
    """Gives namespaces what each has.

    Args:
        certificate: of the authority that signs for this server; empty where it speaks plain HTTP.
    """

    def __init__(self, certificate: str = "") -> None:
        self._certificate = certificate
        self._due: dict[str, None] = {}

    def observe(self, change: Change) -> None:
        if change.resource == _NAMESPACES and change.type != DELETED:
            if "deletionTimestamp" not in change.new.document["metadata"]:
                self._due[change.new.name] = None
        elif change.type == DELETED and change.new.name in ("default", _ROOT_CERTIFICATE):
            self._due[change.new.namespace] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for name in due:
            namespace = registry.find(NAMESPACES, "", name)
            if namespace is not None and "deletionTimestamp" not in namespace["metadata"]:
                self._fill(registry, name, now)

    def _fill(self, registry: Registry, namespace: str, now: int) -> None:
        account: Document = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
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
            if registry.find(resource, namespace, document["metadata"]["name"]) is None:
                with suppress(AlreadyExists):
                    registry.create(resource, namespace, document, OPTIONS, now)


class NamespaceEnding:
    """Empties namespaces that are being deleted."""

    def __init__(self) -> None:
        self._ending: dict[str, None] = {}
        self._due: dict[str, None] = {}

    def observe(self, change: Change) -> None:
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
            if name not in self._ending:
                continue
            for entry in _contents(registry, name):
                if "deletionTimestamp" not in entry.document["metadata"]:
                    _delete(registry, entry, now)
            if not _contents(registry, name):
                with suppress(ApiError):
                    registry.finalize_namespace(name, [], OPTIONS, now)


def _contents(registry: Registry, namespace: str) -> list[Entry]:
    """Everything in the namespace; pods last, so that their owners make no new ones."""
    names = sorted(registry.storage.resources(), key=lambda resource: resource == "pods")
    return [entry for resource in names for entry in registry.storage.entries(resource, namespace) if entry.namespace]


def _delete(registry: Registry, entry: Entry, now: int) -> None:
    resource = registry.catalogue.of_kind(entry.api_version, entry.kind)
    if resource is not None:
        with suppress(ApiError):
            registry.delete(resource, entry.namespace, entry.name, Request(None, entry.uid, None, BACKGROUND), now)
