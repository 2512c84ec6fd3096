"""Nothing is created in a namespace that is missing or ending.

Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import NAMESPACES, ClusterView
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import Forbidden, NotFound, StatusCause


def check_namespace(resource: Resource, namespace: str, name: str, cluster: ClusterView) -> None:
    """Raises NotFound or Forbidden where nothing can be created in the namespace."""
    if not resource.namespaced:
        return
    found = cluster.find(NAMESPACES, "", namespace)
    if found is None:
        raise NotFound.of(NAMESPACES, namespace)
    ended = found.get("status", {}).get("phase") == "Terminating" or "deletionTimestamp" in found["metadata"]
    if ended:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = StatusCause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        raise Forbidden.because(resource, name, why, [cause])
