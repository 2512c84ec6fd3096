"""Pods with devices through time: claims are made, served one after another, and given back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import bayplan
from bayplan.analysis.cluster import Cluster

GPU = "example.com/gpu"
FAMILY: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {
            "extendedResourceName": GPU,
            "selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "n1-gpus"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one-gpu", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}},
    },
]


def job(name: str, pods: int, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": {"bayplan/run-seconds": "60"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", **container}], **spec},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"completions": pods, "parallelism": pods, "template": template},
    }


BY_TEMPLATE = job(
    "train",
    5,
    {"resources": {"requests": {"cpu": "100m"}, "claims": [{"name": "gpu"}]}},
    resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
)
BY_RESOURCE = job("old", 5, {"resources": {"requests": {"cpu": "100m", GPU: "1"}, "limits": {GPU: "1"}}})


@pytest.mark.parametrize("work", [BY_TEMPLATE, BY_RESOURCE], ids=["template", "extended resource"])
def test_two_devices_serve_five_pods_two_at_a_time(work: dict[str, Any]) -> None:
    result = bayplan.simulate(Cluster.from_objects([*FAMILY, work]), until="20m", seed=3)
    assert result.summary.pods.finished == 5
    waited = sorted(result.pods["waiting"])
    assert [round(seconds / 60) for seconds in waited] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(("version", "finished", "evictions"), [("1.36", 5, {}), ("1.37", 0, {"device": 2})])
def test_a_rule_drives_pods_away_since_1_37(
    version: str, finished: int, evictions: dict[str, int], tmp_path: Path
) -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {"deviceSelector": {"pool": "n1"}, "taint": {"key": "broken", "effect": "NoExecute"}},
    }
    start = Cluster.from_objects([*FAMILY, BY_TEMPLATE], kubernetes_version=version)
    timeline = tmp_path / "timeline.yaml"
    timeline.write_text(yaml.safe_dump([{"at": "30s", "apply": rule}]))
    result = bayplan.simulate(start, timeline=timeline, until="10m", seed=3)
    assert (result.summary.pods.finished, result.summary.evictions) == (finished, evictions)
