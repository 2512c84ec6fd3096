"""Counts that are written though they are zero, and times of conditions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api

from bayplan.apiserver.statuses.workloads import (
    completed_budget,
    completed_counts,
    completed_deployment,
    completed_job,
)

CLUSTER = Api().registry
THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def of(kind: str, *conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"kind": kind, "status": {**status, **({"conditions": list(conditions)} if conditions else {})}}


@pytest.mark.parametrize(
    ("kind", "zeros"),
    [
        ("ReplicaSet", {"replicas"}),
        ("StatefulSet", {"replicas", "availableReplicas", "collisionCount"}),
        ("DaemonSet", {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"}),
    ],
)
def test_counts_of_zero(kind: str, zeros: set[str]) -> None:
    made = completed_counts(of(kind), of(kind, observedGeneration=2), NOW, CLUSTER)
    assert made["status"] == {**dict.fromkeys(zeros, 0), "observedGeneration": 2}


def test_a_count_that_is_there_stays() -> None:
    assert completed_counts({}, of("ReplicaSet", replicas=3), NOW, CLUSTER)["status"]["replicas"] == 3


def test_conditions_of_a_deployment_say_when_they_were_written() -> None:
    available = {"type": "Available", "status": "True", "reason": "A", "lastUpdateTime": THEN}
    old = of("Deployment", available)
    new = of("Deployment", available, {"type": "Progressing", "status": "True", "reason": "B"})
    times = [known["lastUpdateTime"] for known in completed_deployment(old, new, NOW, CLUSTER)["status"]["conditions"]]
    assert times == [THEN, NOW]
    changed = of("Deployment", {**available, "status": "False"})
    assert completed_deployment(old, changed, NOW, CLUSTER)["status"]["conditions"][0]["lastUpdateTime"] == NOW


def test_a_job() -> None:
    made = completed_job({}, of("Job", {"type": "Complete", "lastTransitionTime": THEN}, succeeded=1), NOW, CLUSTER)
    assert made["status"]["conditions"][0]["lastProbeTime"] == THEN
    assert made["status"]["uncountedTerminatedPods"] == {}
    assert (made["status"]["ready"], made["status"]["terminating"]) == (0, 0)


def test_conditions_of_a_budget_have_a_message() -> None:
    made = completed_budget({}, of("PodDisruptionBudget", {"type": "DisruptionAllowed"}), NOW, CLUSTER)
    assert made["status"]["conditions"] == [{"message": "", "type": "DisruptionAllowed"}]
    assert made["status"]["disruptionsAllowed"] == 0
