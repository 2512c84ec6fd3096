"""Defaults of HorizontalPodAutoscalers, in both versions. Takes documents in wire form, completes them in place."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.admitting.documents import Document, is_emptied

_CPU_PERCENT = 80
_SECONDS = 15


def default_autoscaler_v1(autoscaler: Document) -> None:
    autoscaler["spec"].setdefault("minReplicas", 1)
    autoscaler["spec"].setdefault("targetCPUUtilizationPercentage", _CPU_PERCENT)


def default_autoscaler_v2(autoscaler: Document) -> None:
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
    spec.setdefault("metrics", [{"type": "Resource", "resource": {"name": "cpu", "target": target}}])
    behavior = spec.get("behavior")
    if behavior is not None:
        for field, usual in (("scaleUp", _scale_up()), ("scaleDown", _scale_down())):
            rules = behavior.setdefault(field, {})
            for name, value in usual.items():
                if not is_emptied(rules, name):
                    rules.setdefault(name, value)


def _policy(kind: str, value: int) -> dict[str, Any]:
    return {"type": kind, "value": value, "periodSeconds": _SECONDS}


def _scale_up() -> Document:
    return {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [_policy("Pods", 4), _policy("Percent", 100)],
    }


def _scale_down() -> Document:
    return {"selectPolicy": "Max", "policies": [_policy("Percent", 100)]}
