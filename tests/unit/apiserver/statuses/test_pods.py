"""Container statuses and conditions that follow from a pod's phase."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.statuses.pods import completed

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": NOW}
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": THEN}


def pod(phase: str, *conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    spec = {
        "initContainers": [{"name": "first", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "x"}],
    }
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u"},
        "spec": spec,
        "status": {"phase": phase, "conditions": list(conditions), **status},
    }


def states(made: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    statuses = [*made["status"]["initContainerStatuses"], *made["status"]["containerStatuses"]]
    return {known["name"]: (next(iter(known["state"])), known["ready"]) for known in statuses}


def test_a_pod_that_starts() -> None:
    made = completed(pod("Pending", SCHEDULED), pod("Running", SCHEDULED, READY), NOW)
    assert [known["type"] for known in made["status"]["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert {known["status"] for known in made["status"]["conditions"]} == {"True"}
    assert all(known["lastProbeTime"] is None for known in made["status"]["conditions"])
    assert states(made) == {"first": ("terminated", True), "side": ("running", True), "c": ("running", True)}


@pytest.mark.parametrize(
    ("phase", "reason", "code", "why"),
    [("Succeeded", "PodCompleted", 0, "Completed"), ("Failed", "PodFailed", 1, "Error")],
)
def test_a_pod_that_ends(phase: str, reason: str, code: int, why: str) -> None:
    running = completed(pod("Pending", SCHEDULED), pod("Running", SCHEDULED, READY), THEN)
    ready = {**READY, "status": "False", "reason": reason}
    ended = {**running, "status": {**running["status"], "phase": phase, "conditions": [SCHEDULED, ready]}}
    made = completed(running, ended, NOW)
    (container,) = made["status"]["containerStatuses"]
    assert container["ready"] is False
    terminated = container["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (code, why)
    assert (terminated["startedAt"], terminated["finishedAt"]) == (THEN, NOW)
    (of_containers,) = [known for known in made["status"]["conditions"] if known["type"] == "ContainersReady"]
    assert (of_containers["status"], of_containers["reason"]) == ("False", reason)


def test_restarts_stay_as_they_were() -> None:
    known = {"name": "c", "restartCount": 3, "state": {"running": {"startedAt": THEN}}}
    made = completed(pod("Pending"), pod("Running", READY, containerStatuses=[known]), NOW)
    assert made["status"]["containerStatuses"][0]["restartCount"] == 3


def test_a_pending_pod_has_no_container_statuses() -> None:
    made = completed(pod("Pending"), pod("Pending", {**SCHEDULED, "status": "False"}), NOW)
    assert "containerStatuses" not in made["status"]
    assert made["status"]["conditions"][0]["lastProbeTime"] is None
