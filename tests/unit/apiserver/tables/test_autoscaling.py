"""Rows of autoscalers: what is measured beside what is aimed at."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.autoscaling import HORIZONTAL_POD_AUTOSCALERS, SCALES
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")


def named(**fields: Any) -> Part:
    return {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}, **fields}


def metric(kind: str, field: str, side: str, name: str = "", **values: Any) -> Part:
    return {"type": kind, field: {**({"name": name} if name else {}), side: values}}


CPU_SPEC = metric("Resource", "resource", "target", "cpu", averageUtilization=80)
CPU_STATUS = metric("Resource", "resource", "current", "cpu", averageUtilization=45)


@pytest.mark.parametrize(
    ("specs", "statuses", "text"),
    [
        ([], [], "<none>"),
        ([CPU_SPEC], [], "cpu: <unknown>/80%"),
        ([CPU_SPEC], [CPU_STATUS], "cpu: 45%/80%"),
        ([metric("Resource", "resource", "target", "cpu")], [], "cpu: <unknown>/<auto>"),
        (
            [metric("Resource", "resource", "target", "memory", averageValue="1Gi")],
            [metric("Resource", "resource", "current", "memory", averageValue="512Mi")],
            "memory: 512Mi/1Gi",
        ),
        (
            [metric("ContainerResource", "containerResource", "target", "cpu", averageUtilization=10)],
            [metric("ContainerResource", "containerResource", "current", "cpu", averageUtilization=5)],
            "cpu: 5%/10%",
        ),
        (
            [metric("Pods", "pods", "target", averageValue="100m")],
            [metric("Pods", "pods", "current", averageValue="50m")],
            "50m/100m",
        ),
        (
            [metric("External", "external", "target", averageValue="100m")],
            [metric("External", "external", "current", averageValue="50m")],
            "50m/100m (avg)",
        ),
        ([metric("Object", "object", "target", value="10")], [], "<unknown>/10"),
        ([{"type": "Other"}], [], "<unknown type>"),
        ([CPU_SPEC] * 4, [CPU_STATUS], "cpu: 45%/80%, cpu: <unknown>/80% + 2 more..."),
    ],
)
def test_targets_show_two_metrics(specs: list[Part], statuses: list[Part], text: str) -> None:
    autoscaler = named(spec={"metrics": specs}, status={"currentMetrics": statuses})
    assert HORIZONTAL_POD_AUTOSCALERS.cells(autoscaler, NOW)[2] == text


def test_an_autoscaler_shows_its_bounds() -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 5}
    cells = HORIZONTAL_POD_AUTOSCALERS.cells(named(spec=spec, status={"currentReplicas": 3}), NOW)
    assert cells == ["x", "Deployment/web", "<none>", "2", 5, 3, "60s"]
    assert HORIZONTAL_POD_AUTOSCALERS.cells(named(spec={}), NOW)[3] == "<unset>"


def test_version_v1_has_the_target_in_a_field_of_its_own() -> None:
    autoscaler = named(spec={"targetCPUUtilizationPercentage": 80}, status={"currentCPUUtilizationPercentage": 20})
    assert HORIZONTAL_POD_AUTOSCALERS.cells(autoscaler, NOW)[2] == "cpu: 20%/80%"


def test_a_scale_shows_replicas() -> None:
    assert SCALES.cells(named(spec={"replicas": 3}, status={"replicas": 2}), NOW) == ["x", 3, 2, "60s"]
