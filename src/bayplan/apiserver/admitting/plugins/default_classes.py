"""The storage class of a claim that names none, the ingress class of an ingress, what a runtime class adds to a pod.

Takes documents and completes them in place; raises Forbidden where a named runtime class is missing or
contradicted, and where several ingress classes say that they are the default.
"""

from __future__ import annotations

from bayplan.admission.defaults import DEFAULT_CLASS_ANNOTATIONS
from bayplan.apiserver.admitting.cluster import INGRESS_CLASSES, RUNTIME_CLASSES, STORAGE_CLASSES, ClusterView
from bayplan.apiserver.admitting.documents import Document, name_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.timestamps import parse_time
from bayplan.model.well_known import BETA_STORAGE_CLASS, DEFAULT_INGRESS_CLASS
from bayplan.store.errors import Forbidden

OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"


def set_storage_class(claim: Document, cluster: ClusterView) -> None:
    """Of several default classes the newest counts, of equally old ones the first by name."""
    spec = claim["spec"]
    if spec.get("storageClassName") is not None or BETA_STORAGE_CLASS in claim["metadata"].get("annotations", {}):
        return
    marked = [known for known in cluster.list(STORAGE_CLASSES, "") if _is_marked(known, *DEFAULT_CLASS_ANNOTATIONS)]
    if marked:
        spec["storageClassName"] = name_of(min(marked, key=lambda known: (-_created_at(known), name_of(known))))


def _is_marked(known: Document, *annotations: str) -> bool:
    given = known["metadata"].get("annotations", {})
    return any(given.get(name) == "true" for name in annotations)


def _created_at(known: Document) -> int:
    written = known["metadata"].get("creationTimestamp")
    return parse_time(written) if written else 0


def set_ingress_class(ingress: Document, cluster: ClusterView) -> None:
    spec = ingress["spec"]
    if spec.get("ingressClassName") is not None or OLD_INGRESS_CLASS in ingress["metadata"].get("annotations", {}):
        return
    marked = [known for known in cluster.list(INGRESS_CLASSES, "") if _is_marked(known, DEFAULT_INGRESS_CLASS)]
    if marked:
        spec["ingressClassName"] = name_of(min(marked, key=lambda known: (-_created_at(known), name_of(known))))


def add_runtime_class(resource: Resource, pod: Document, name: str, cluster: ClusterView) -> None:
    """The overhead and the nodes of the pod's runtime class."""
    # Upstream: plugin/pkg/admission/runtimeclass/admission.go (v1.36).
    spec = pod["spec"]
    class_name = spec.get("runtimeClassName")
    found = cluster.find(RUNTIME_CLASSES, "", class_name) if class_name else None
    if class_name and found is None:
        raise Forbidden.because(resource, name, f'pod rejected: RuntimeClass "{class_name}" not found')
    overhead = (found or {}).get("overhead", {}).get("podFixed")
    if overhead:
        if spec.get("overhead") not in (None, overhead):
            why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise Forbidden.because(resource, name, why)
        spec["overhead"] = dict(overhead)
    elif spec.get("overhead"):
        raise Forbidden.because(resource, name, _UNEXPECTED_OVERHEAD)
    _add_nodes(resource, spec, name, (found or {}).get("scheduling") or {})


_UNEXPECTED_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def _add_nodes(resource: Resource, spec: Document, name: str, scheduling: Document) -> None:
    selector = scheduling.get("nodeSelector")
    if selector:
        wanted = spec.get("nodeSelector", {})
        for key, value in selector.items():
            if wanted.get(key, value) != value:
                why = (
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = "
                )
                raise Forbidden.because(resource, name, why + wanted[key])
        spec["nodeSelector"] = {**wanted, **selector}
    tolerations = scheduling.get("tolerations")
    if tolerations:
        present = spec.get("tolerations", [])
        spec["tolerations"] = [*present, *(known for known in tolerations if known not in present)]
