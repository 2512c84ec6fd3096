"""What a ResourceQuota with scopes is about: pods, or with the scope VolumeAttributesClass claims of volumes.

Upstream: MatchesScopeFunc of the evaluators in pkg/quota/v1/evaluator/core (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.label_keys import affinity_terms
from bayplan.apiserver.admitting.pod_resources import qos_class
from bayplan.apiserver.schema.resources import Resource


def is_in_scope(resource: Resource, quota: Document, document: Document) -> bool:
    """Whether all scopes of the quota hold for the document."""
    spec = quota["spec"]
    selectors = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes", ())]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions", [])
    if not selectors:
        return True
    matches = _MATCHERS.get(resource.qualified_resource)
    return matches is not None and all(matches(selector, document) for selector in selectors)


def is_limited_in_time(pod: Document) -> bool:
    """What quotas call terminating: the pod has a deadline."""
    deadline: int | None = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _matches_pod(selector: Document, pod: Document) -> bool:
    scope: str = selector["scopeName"]
    spec = pod["spec"]
    if scope in ("Terminating", "NotTerminating"):
        return is_limited_in_time(pod) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (qos_class(spec) == "BestEffort") == (scope == "BestEffort")
    if scope == "PriorityClass":
        class_name = spec.get("priorityClassName", "")
        return _matches_names(selector, {class_name} if class_name else set())
    if scope == "CrossNamespacePodAffinity":
        return any(term.get("namespaces") or "namespaceSelector" in term for term in affinity_terms(spec))
    return False


def _matches_claim(selector: Document, claim: Document) -> bool:
    if selector["scopeName"] != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = {
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return _matches_names(selector, {name for name in names if name})


def _matches_names(selector: Document, names: set[str]) -> bool:
    """Whether one of the classes that an object names is selected; of one without classes, whether that is."""
    operator, values = selector["operator"], set(selector.get("values", ()))
    if operator == "Exists":
        return bool(names)
    if operator == "DoesNotExist":
        return not names
    if operator == "In":
        return bool(names & values)
    return not names or bool(names - values)


_MATCHERS: dict[str, Callable[[Document, Document], bool]] = {
    "pods": _matches_pod,
    "persistentvolumeclaims": _matches_claim,
}
