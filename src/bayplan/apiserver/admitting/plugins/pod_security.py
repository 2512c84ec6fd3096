"""Pod Security admission."""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource


def check_pod_security(
    resource: Resource, new: Document, old: Document | None, cluster: ClusterView, warnings: list[str]
) -> None:
    """Raises Forbidden for pods that the namespace's level refuses, and notes what it warns of."""
