"""Autoscalers: how what they name is scaled, and what they say about it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import DEPLOYMENTS, PODS, deployment, pod
from tests.unit.apiserver.housekeeping.stage import Stage

from bayplan.apiserver.housekeeping.autoscaling import PodAutoscaling
from bayplan.model.time_units import SECOND

AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


class Scaled:
    """A Deployment with an autoscaler, and one pod that stands for all."""

    def __init__(self, replicas: int, usage: str, target: str = "d", **spec: Any) -> None:
        self.stage = Stage([PodAutoscaling()])
        self.stage.api.post(DEPLOYMENTS, deployment(replicas=replicas))
        wanted = pod(labels={"app": "d"}, annotations={"bayplan/cpu-usage": usage})
        wanted["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
        self.stage.api.post(PODS, wanted)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.stage.api.patch(f"{PODS}/p/status", {"status": status})
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
        of_cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
        metrics = [{"type": "Resource", "resource": of_cpu}]
        whole = {"scaleTargetRef": reference, "minReplicas": 1, "maxReplicas": 10, "metrics": metrics, **spec}
        self.stage.post(AUTOSCALERS, metadata={"name": "h"}, spec=whole)

    def use(self, usage: str) -> None:
        self.stage.api.patch(f"{PODS}/p", {"metadata": {"annotations": {"bayplan/cpu-usage": usage}}})

    def later(self, seconds: int) -> None:
        self.stage.api.now += seconds * SECOND
        self.stage.settle()

    @property
    def replicas(self) -> int:
        found: int = self.stage.api.get(f"{DEPLOYMENTS}/d")["spec"]["replicas"]
        return found

    @property
    def status(self) -> Any:
        return self.stage.api.get(f"{AUTOSCALERS}/h")["status"]

    def reasons(self) -> dict[str, tuple[str, str]]:
        return {known["type"]: (known["status"], known["reason"]) for known in self.status["conditions"]}


ACTIVE = {"ScalingActive": ("True", "ValidMetricFound")}
WITHIN = {"ScalingLimited": ("False", "DesiredWithinRange")}


def test_more_use_means_more_replicas() -> None:
    scaled = Scaled(1, "150m")
    assert scaled.replicas == 3
    assert scaled.reasons() == {"AbleToScale": ("True", "SucceededRescale"), **ACTIVE, **WITHIN}
    status = scaled.status
    assert (status["currentReplicas"], status["desiredReplicas"], "lastScaleTime" in status) == (1, 3, True)
    measured = status["currentMetrics"][0]["resource"]["current"]
    assert measured == {"averageUtilization": 150, "averageValue": "150m"}


def test_what_fits_stays() -> None:
    scaled = Scaled(1, "50m")
    assert scaled.replicas == 1
    assert scaled.reasons() == {"AbleToScale": ("True", "ReadyForNewScale"), **ACTIVE, **WITHIN}


@pytest.mark.parametrize(
    ("replicas", "most", "wished", "reason"), [(1, 10, 4, "ScaleUpLimit"), (1, 3, 3, "TooManyReplicas")]
)
def test_at_most_so_many_at_once(replicas: int, most: int, wished: int, reason: str) -> None:
    scaled = Scaled(replicas, "900m", maxReplicas=most)
    assert (scaled.replicas, scaled.reasons()["ScalingLimited"]) == (wished, ("True", reason))


def test_at_least_so_many() -> None:
    scaled = Scaled(3, "1m", minReplicas=2)
    assert (scaled.replicas, scaled.reasons()["ScalingLimited"]) == (2, ("True", "TooFewReplicas"))


@pytest.mark.parametrize(("window", "seconds"), [(None, 300), (60, 60)])
def test_fewer_only_after_a_while(window: int | None, seconds: int) -> None:
    """The highest number of the last minutes counts."""
    behavior: dict[str, Any] = (
        {} if window is None else {"behavior": {"scaleDown": {"stabilizationWindowSeconds": window}}}
    )
    scaled = Scaled(2, "100m", **behavior)
    assert scaled.replicas == 2
    scaled.use("10m")
    scaled.later(15)
    assert (scaled.replicas, scaled.reasons()["AbleToScale"]) == (2, ("True", "ScaleDownStabilized"))
    scaled.later(seconds - 30)
    assert scaled.replicas == 2
    scaled.later(15)
    assert scaled.replicas == 1


def test_scaling_down_can_be_disabled() -> None:
    scaled = Scaled(4, "1m", behavior={"scaleDown": {"selectPolicy": "Disabled"}})
    assert scaled.replicas == 4


@pytest.mark.parametrize(("replicas", "wished"), [(20, 10), (1, 2)])
def test_out_of_range(replicas: int, wished: int) -> None:
    assert Scaled(replicas, "50m", minReplicas=2).replicas == wished


def test_nothing_runs() -> None:
    scaled = Scaled(0, "150m")
    assert (scaled.replicas, scaled.reasons()["ScalingActive"]) == (0, ("False", "ScalingDisabled"))


def test_a_target_that_does_not_exist() -> None:
    scaled = Scaled(1, "150m", target="none")
    assert scaled.reasons() == {"AbleToScale": ("False", "FailedGetScale")}
    assert scaled.status["conditions"][0]["message"].endswith('deployments.apps "none" not found')


def test_metrics_that_are_not_simulated() -> None:
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}}
    ]
    scaled = Scaled(1, "150m", metrics=metrics)
    assert (scaled.replicas, scaled.reasons()["ScalingActive"]) == (1, ("False", "FailedGetPodsMetric"))


def test_it_looks_every_15_seconds() -> None:
    scaled = Scaled(1, "50m")
    scaled.use("150m")
    scaled.later(14)
    assert scaled.replicas == 1
    scaled.later(1)
    assert scaled.replicas == 3


def test_whoever_asks_for_more_than_is_simulated_is_warned() -> None:
    scaled = Scaled(1, "50m")
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    of_pods = {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}
    spec = {"scaleTargetRef": reference, "maxReplicas": 2, "metrics": [{"type": "Pods", "pods": of_pods}]}
    policies = [{"type": "Pods", "value": 1, "periodSeconds": 15}]
    spec["behavior"] = {"scaleUp": {"policies": policies}}
    answer = scaled.stage.api.answer("POST", AUTOSCALERS, {"metadata": {"name": "other"}, "spec": spec})
    told = [value for name, value in answer.headers if name.lower() == "warning"]
    assert len(told) == 2
    assert "a metric of type Pods is stored, but has no effect" in told[0]
    assert "spec.behavior.policies is stored, but has no effect" in told[1]
