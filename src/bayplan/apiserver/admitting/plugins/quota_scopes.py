"""Which pods a ResourceQuota with scopes is about. Quotas with scopes are about pods only."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.label_keys import affinity_terms
from bayplan.apiserver.admitting.pod_resources import qos_class
from bayplan.apiserver.schema.resources import Resource


def is_in_scope(resource: Resource, quota: Document, document: Document) -> bool:
    """Whether all scopes of the quota hold for the document."""
    spec = quota["spec"]
    selectors = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes", ())]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions", [])
    if selectors and resource.kind != "Pod":
        return False
    return all(_matches(selector, document) for selector in selectors)


def is_limited_in_time(pod: Document) -> bool:
    """What quotas call terminating: the pod has a deadline."""
    deadline: int | None = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _matches(selector: Document, pod: Document) -> bool:
    scope: str = selector["scopeName"]
    spec = pod["spec"]
    if scope in ("Terminating", "NotTerminating"):
        return is_limited_in_time(pod) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (qos_class(spec) == "BestEffort") == (scope == "BestEffort")
    if scope == "PriorityClass":
        return _matches_class(selector, spec.get("priorityClassName", ""))
    if scope == "CrossNamespacePodAffinity":
        return any(term.get("namespaces") or "namespaceSelector" in term for term in affinity_terms(spec))
    return False


def _matches_class(selector: Document, class_name: str) -> bool:
    operator, values = selector["operator"], selector.get("values", ())
    if operator == "Exists":
        return bool(class_name)
    if operator == "DoesNotExist":
        return not class_name
    if operator == "In":
        return class_name in values
    return class_name not in values
