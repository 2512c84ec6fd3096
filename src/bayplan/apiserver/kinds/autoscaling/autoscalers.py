"""HorizontalPodAutoscaler in both versions, stored as autoscaling/v2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from bayplan.apiserver.admitting.defaults.autoscaling import default_autoscaler_v1, default_autoscaler_v2
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.autoscaling import (
    check_autoscaler,
    check_autoscaler_status,
    check_autoscaler_update,
)
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.kinds.contract import Kind, StorageForm
from bayplan.apiserver.tables.autoscaling import HORIZONTAL_POD_AUTOSCALERS

_RESOURCE: Final = "horizontalpodautoscalers.autoscaling"


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


def _check_v1(autoscaler: Document, faults: Faults) -> None:
    check_autoscaler(_autoscaler_v2(autoscaler), faults)


def _check_v1_update(new: Document, old: Document, faults: Faults) -> None:
    check_autoscaler_update(_autoscaler_v2(new), _autoscaler_v2(old), faults)


def _warn_of_what_is_not_simulated(document: Document, _old: Document | None) -> list[str]:
    metrics = _autoscaler_v2(document)["spec"].get("metrics") or []
    others = sorted({metric["type"] for metric in metrics if metric.get("type") != "Resource"})
    warnings = [f"a metric of type {kind} is stored, but has no effect: only Resource is simulated" for kind in others]
    behavior = document["spec"].get("behavior") or {}
    if any("policies" in (behavior.get(field) or {}) for field in ("scaleUp", "scaleDown")):
        warnings.append("spec.behavior.policies is stored, but has no effect: stabilization windows have")
    return warnings


AUTOSCALER = Kind(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    warn=_warn_of_what_is_not_simulated,
    defaults=default_autoscaler_v2,
    check=check_autoscaler,
    check_update=check_autoscaler_update,
    subresources={"status": check_autoscaler_status},
    watched=("spec",),
    watched_since="HPAGeneration",
    printer=HORIZONTAL_POD_AUTOSCALERS,
)
AUTOSCALER_V1 = replace(
    AUTOSCALER,
    api_version="autoscaling/v1",
    defaults=default_autoscaler_v1,
    check=_check_v1,
    check_update=_check_v1_update,
    storage=StorageForm(_RESOURCE, _autoscaler_v2, _autoscaler_v1),
)
