"""How many replicas a metric asks for."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.statuses.autoscaling import NoMetricError, proposal_of


def pod(usage: str = "", phase: str = "Running", ready: str = "True", request: str | None = "100m", **meta: Any) -> Any:
    requests = {} if request is None else {"resources": {"requests": {"cpu": request, "memory": "100Mi"}}}
    annotations = {"bayplan/cpu-usage": usage} if usage else {}
    return {
        "metadata": {"name": "p", "annotations": annotations, **meta},
        "spec": {"containers": [{"name": "c", **requests}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    }


def metric(name: str = "cpu", **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


HALF = metric(averageUtilization=50)


@pytest.mark.parametrize(
    ("pods", "replicas"),
    [
        pytest.param([pod("100m"), pod("100m")], 4, id="twice the target"),
        pytest.param([pod("100m"), pod("20m")], 3, id="rounded up"),
        pytest.param([pod("54m"), pod("54m")], 2, id="within the tolerance"),
        pytest.param([pod("55m"), pod("55m")], 2, id="at the tolerance"),
        pytest.param([pod("56m"), pod("56m")], 3, id="above it"),
        pytest.param([pod("44m"), pod("44m")], 2, id="below it, rounded up"),
        pytest.param([pod("20m"), pod("20m")], 1, id="down"),
        pytest.param([pod("100m"), pod("100m", ready="False")], 2, id="unready pods speak against more"),
        pytest.param([pod("300m"), pod("100m", phase="Pending")], 6, id="but not against much more"),
        pytest.param([pod("10m"), pod("10m", ready="False")], 1, id="and not for fewer"),
        pytest.param([pod("100m"), pod("900m", phase="Failed")], 2, id="those that ended do not count"),
        pytest.param([pod("100m"), pod("900m", deletionTimestamp="x")], 2, id="nor those that go"),
    ],
)
def test_utilization(pods: list[Any], replicas: int) -> None:
    """With two replicas and a target of half of what they request."""
    assert proposal_of(HALF, pods, 2).replicas == replicas


def test_average_values() -> None:
    pods = [pod("150m"), pod("50m")]
    found = proposal_of(metric(averageValue="25m"), pods, 2)
    assert (found.replicas, found.metric) == (8, "cpu resource")
    assert found.current["resource"] == {"name": "cpu", "current": {"averageValue": "100m"}}
    assert proposal_of(metric("memory", averageValue="50Mi"), pods, 2).replicas == 4


def test_what_was_measured() -> None:
    found = proposal_of(HALF, [pod("30m"), pod("10m")], 2)
    assert found.current["resource"]["current"] == {"averageUtilization": 20, "averageValue": "20m"}
    assert found.metric == "cpu resource utilization (percentage of request)"


@pytest.mark.parametrize(
    ("wanted", "pods", "reason", "message"),
    [
        (HALF, [pod(phase="Pending")], "FailedGetResourceMetric", "no metrics returned from resource metrics API"),
        (HALF, [pod(request=None)], "FailedGetResourceMetric", "missing request for cpu in container c of Pod p"),
        ({"type": "Pods"}, [pod()], "FailedGetPodsMetric", "Pods metrics are not simulated"),
    ],
)
def test_when_nothing_can_be_told(wanted: Any, pods: list[Any], reason: str, message: str) -> None:
    with pytest.raises(NoMetricError) as error:
        proposal_of(wanted, pods, 1)
    assert error.value.args[0] == reason
    assert error.value.args[1].endswith(message)
