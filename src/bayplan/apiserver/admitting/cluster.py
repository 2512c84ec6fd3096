"""What admission may know of the cluster: which documents there are, by resource, namespace and name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource, resource_of


class ClusterView(Protocol):
    """Stored documents, which nobody may change."""

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """The document of that name, if there is one; `namespace` is empty for resources without namespaces."""

    def list(self, resource: Resource, namespace: str) -> Iterable[Document]:
        """All documents of the namespace; of all namespaces if it is empty."""


def builtin(group: str, version: str, plural: str) -> Resource:
    """A resource that every server has."""
    found = resource_of(group, version, plural)
    assert found is not None
    return found


EVENTS = builtin("", "v1", "events")
NAMESPACES = builtin("", "v1", "namespaces")
LIMIT_RANGES = builtin("", "v1", "limitranges")
RESOURCE_QUOTAS = builtin("", "v1", "resourcequotas")
SERVICES = builtin("", "v1", "services")
PRIORITY_CLASSES = builtin("scheduling.k8s.io", "v1", "priorityclasses")
STORAGE_CLASSES = builtin("storage.k8s.io", "v1", "storageclasses")
RUNTIME_CLASSES = builtin("node.k8s.io", "v1", "runtimeclasses")
INGRESS_CLASSES = builtin("networking.k8s.io", "v1", "ingressclasses")
