"""`matchLabelKeys` of a new pod, written into the selectors that they narrow.

Takes a pod document and completes it in place. Only keys that the pod has a label for count; a selector that is
missing selects nothing and stays missing.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.admitting.documents import Document
from bayplan.model.pod import PREFERRED, REQUIRED


def merge_label_keys(pod: Document) -> None:
    labels = pod["metadata"].get("labels", {})
    spec = pod["spec"]
    for constraint in spec.get("topologySpreadConstraints", ()):
        _narrow(constraint, "matchLabelKeys", "In", labels)
    for term in affinity_terms(spec):
        _narrow(term, "matchLabelKeys", "In", labels)
        _narrow(term, "mismatchLabelKeys", "NotIn", labels)


def affinity_terms(spec: Document) -> Iterable[Document]:
    """All terms about other pods, required or preferred, for or against."""
    affinity = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(name) or {}
        yield from given.get(REQUIRED, ())
        for weighted in given.get(PREFERRED, ()):
            yield weighted["podAffinityTerm"]


def _narrow(term: Document, keys: str, operator: str, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key in term.get(keys, ()):
        if key in labels:
            requirement = {"key": key, "operator": operator, "values": [labels[key]]}
            selector.setdefault("matchExpressions", []).append(requirement)
