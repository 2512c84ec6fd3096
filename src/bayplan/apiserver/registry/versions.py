"""Resources that are served in more than one version, or in two groups, and stored in one form.

Takes a resource as it is served and a document; converts between the form that is served and the one that is stored:
Events in the core group's form, autoscalers in that of autoscaling/v2. Custom resources only differ in their
apiVersion, as the conversion strategy None has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document

_NEW_EVENTS, _OLD_EVENTS = "events.events.k8s.io", "events"
#: Fields of events.k8s.io/v1 whose names differ from the core group's.
_EVENT_FIELDS: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_OLD_EVENT_FIELDS: Final = {old: new for new, old in _EVENT_FIELDS.items()}
_SHOWN_EMPTY_BY_OLD: Final = frozenset({"reportingComponent", "reportingInstance"})
_AUTOSCALERS = "horizontalpodautoscalers.autoscaling"


def storage_name(resource: Resource) -> str:
    """Under which name objects of the resource are stored."""
    return _OLD_EVENTS if resource.qualified_resource == _NEW_EVENTS else resource.qualified_resource


def stored_form(resource: Resource, document: Document, stored_api_version: str = "") -> Document:
    """The document as it is stored; a custom resource in the version that its definition stores."""
    if resource.qualified_resource == _NEW_EVENTS:
        return {**_renamed(document, _EVENT_FIELDS), "apiVersion": "v1"}
    if resource.qualified_resource == _AUTOSCALERS and resource.version == "v1":
        return _autoscaler_v2(document)
    if stored_api_version and document.get("apiVersion") != stored_api_version:
        return {**document, "apiVersion": stored_api_version}
    return document


def served_form(resource: Resource, document: Document) -> Document:
    """The stored document as this resource serves it."""
    if document["apiVersion"] == resource.api_version:
        return document
    if resource.qualified_resource == _NEW_EVENTS:
        shown = {field: value for field, value in document.items() if value or field not in _SHOWN_EMPTY_BY_OLD}
        return {**_renamed(shown, _OLD_EVENT_FIELDS), "apiVersion": resource.api_version}
    if resource.qualified_resource == _AUTOSCALERS:
        return _autoscaler_v1(document)
    return {**document, "apiVersion": resource.api_version}


def _renamed(document: Document, names: Mapping[str, str]) -> Document:
    return {names.get(field, field): value for field, value in document.items()}


def _autoscaler_v2(document: Document) -> Document:
    spec = dict(document.get("spec") or {})
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if utilization is not None:
        target = {"type": "Utilization", "averageUtilization": utilization}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    status = dict(document.get("status") or {})
    current = status.pop("currentCPUUtilizationPercentage", None)
    if current is not None:
        metric = {"name": "cpu", "current": {"averageUtilization": current}}
        status["currentMetrics"] = [{"type": "Resource", "resource": metric}]
    return {**document, "apiVersion": "autoscaling/v2", "spec": spec, "status": status}


def _autoscaler_v1(document: Document) -> Document:
    spec = dict(document.get("spec") or {})
    utilization = _cpu(spec.pop("metrics", None), "target")
    if utilization is not None:
        spec["targetCPUUtilizationPercentage"] = utilization
    spec.pop("behavior", None)
    status = dict(document.get("status") or {})
    current = _cpu(status.pop("currentMetrics", None), "current")
    if current is not None:
        status["currentCPUUtilizationPercentage"] = current
    status.pop("conditions", None)
    return {**document, "apiVersion": "autoscaling/v1", "spec": spec, "status": status}


def _cpu(metrics: Any, part: str) -> Any:
    for metric in metrics or []:
        if metric.get("type") == "Resource" and metric["resource"].get("name") == "cpu":
            return metric["resource"].get(part, {}).get("averageUtilization")
    return None
