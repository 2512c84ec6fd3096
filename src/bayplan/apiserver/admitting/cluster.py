"""What admission may know of the cluster: which documents there are, by resource, namespace and name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource, built_in


class ClusterView(Protocol):
    """Stored documents, which nobody may change."""

    def find(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """The document of that name, if there is one; `namespace` is empty for resources without namespaces."""

    def list(self, resource: Resource, namespace: str) -> Iterable[Document]:
        """All documents of the namespace; of all namespaces if it is empty."""


EVENTS = built_in("", "events")
NAMESPACES = built_in("", "namespaces")
NODES = built_in("", "nodes")
LIMIT_RANGES = built_in("", "limitranges")
RESOURCE_QUOTAS = built_in("", "resourcequotas")
SERVICES = built_in("", "services")
SERVICE_ACCOUNTS = built_in("", "serviceaccounts")
PRIORITY_CLASSES = built_in("scheduling.k8s.io", "priorityclasses")
STORAGE_CLASSES = built_in("storage.k8s.io", "storageclasses")
RUNTIME_CLASSES = built_in("node.k8s.io", "runtimeclasses")
INGRESS_CLASSES = built_in("networking.k8s.io", "ingressclasses")
