"""A claim may ask for more only if it is bound and its storage class allows volumes to grow.

Upstream: plugin/pkg/admission/storage/persistentvolume/resize/admission.go (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import STORAGE_CLASSES, ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.quantity import parse_quantity
from bayplan.store.errors import Forbidden

_NOT_DYNAMIC = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def check_growth(resource: Resource, claim: Document, old: Document, cluster: ClusterView) -> None:
    """Raises Forbidden for a larger request that no volume can follow."""
    if _storage(claim) <= _storage(old):
        return
    name = claim["metadata"]["name"]
    if old.get("status", {}).get("phase") != "Bound":
        raise Forbidden.because(resource, name, "Only bound persistent volume claims can be expanded")
    class_name = claim["spec"].get("storageClassName")
    found = cluster.find(STORAGE_CLASSES, "", class_name) if class_name else None
    if found is None or not found.get("allowVolumeExpansion"):
        raise Forbidden.because(resource, name, _NOT_DYNAMIC)


def _storage(claim: Document) -> int:
    return parse_quantity(claim["spec"].get("resources", {}).get("requests", {}).get("storage", "0"))
