"""Rows of horizontal pod autoscalers, in the form of either version, and of the scale subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.tables.ages import UNKNOWN, age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, integer
from bayplan.apiserver.tables.wording import NONE, UNSET

_Metric = Mapping[str, Any]
_METRICS_MAX = 2
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler_cells(autoscaler: Document, now: int) -> Cells:
    spec, status = autoscaler.get("spec") or {}, autoscaler.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        autoscaler["metadata"].get("name", ""),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(_specs(spec), _statuses(status)),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(autoscaler, now),
    ]


def _specs(spec: _Metric) -> list[_Metric]:
    """Version v1 knows the utilization of CPU only, in a field of its own."""
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is None:
        return spec.get("metrics") or []
    return [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": utilization}}}]


def _statuses(status: _Metric) -> list[_Metric]:
    utilization = status.get("currentCPUUtilizationPercentage")
    if utilization is None:
        return status.get("currentMetrics") or []
    return [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": utilization}}}]


def _targets(specs: list[_Metric], statuses: list[_Metric]) -> str:
    if not specs:
        return NONE
    shown = [
        _metric(spec, statuses[position] if position < len(statuses) else {})
        for position, spec in enumerate(specs[:_METRICS_MAX])
    ]
    more = f" + {len(specs) - _METRICS_MAX} more..." if len(specs) > _METRICS_MAX else ""
    return f"{', '.join(shown)}{more}"


def _metric(spec: _Metric, status: _Metric) -> str:
    """What is measured and what is aimed at."""
    kind = spec.get("type", "")
    if kind not in _SOURCES:
        return "<unknown type>"
    source = spec.get(_SOURCES[kind]) or {}
    target = source.get("target") or {}
    current = (status.get(_SOURCES[kind]) or {}).get("current") or {}
    if kind == "Pods":
        return _ratio(current, target, "averageValue")
    if kind in ("External", "Object"):
        if target.get("averageValue") is not None:
            return f"{_ratio(current, target, 'averageValue')} (avg)"
        return _ratio(current, target, "value")
    if target.get("averageValue") is not None:
        return f"{source.get('name', '')}: {_ratio(current, target, 'averageValue')}"
    measured, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return (
        f"{source.get('name', '')}: {UNKNOWN if measured is None else f'{measured}%'}"
        f"/{'<auto>' if wanted is None else f'{wanted}%'}"
    )


def _ratio(current: _Metric, target: _Metric, field: str) -> str:
    return f"{current.get(field, UNKNOWN)}/{target.get(field, '')}"


def _scale_cells(scale: Document, now: int) -> Cells:
    return [
        scale["metadata"].get("name", ""),
        (scale.get("spec") or {}).get("replicas", 0),
        (scale.get("status") or {}).get("replicas", 0),
        age(scale, now),
    ]


HORIZONTAL_POD_AUTOSCALERS = Printer(
    (
        NAME,
        Column("Reference", "Object that is scaled."),
        Column("Targets", "What is measured, and what is aimed at."),
        Column("MinPods", "Fewest pods."),
        Column("MaxPods", "Most pods."),
        Column("Replicas", "Pods there are."),
        AGE,
    ),
    _autoscaler_cells,
)
SCALES = Printer(
    (
        Column(NAME.name, NAME.description),
        integer("Desired", "Pods there should be."),
        integer("Available", "Pods there are."),
        AGE,
    ),
    _scale_cells,
)
