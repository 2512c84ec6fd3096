"""What a Deployment says of its rollout."""

from __future__ import annotations

import pytest

from bayplan.controllers.workloads import deployment_conditions as conditions
from bayplan.model.meta import Condition
from bayplan.model.workloads import ScaleStatus
from bayplan.testing.builders import replica_set

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
DONE = Condition(type="Progressing", status="True", reason="NewReplicaSetAvailable")


def status(replicas: int, updated: int, available: int, *known: Condition) -> ScaleStatus:
    return ScaleStatus(
        replicas=replicas, updated_replicas=updated, available_replicas=available, conditions=list(known)
    )


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param(status(0, 0, 0), status(2, 2, 2), "NewReplicaSetAvailable", id="all are there"),
        pytest.param(status(0, 0, 0), status(2, 2, 0), "ReplicaSetUpdated", id="more are updated"),
        pytest.param(status(3, 2, 1), status(2, 2, 1), "ReplicaSetUpdated", id="fewer are old"),
        pytest.param(status(2, 2, 0), status(2, 2, 1), "ReplicaSetUpdated", id="more are available"),
        pytest.param(status(2, 2, 1), status(2, 2, 1), None, id="nothing new"),
        pytest.param(status(2, 2, 2), status(2, 2, 1, DONE), None, id="the rollout is over"),
        pytest.param(status(2, 2, 2), status(3, 1, 2, DONE), None, id="a new one begins, and nothing has moved"),
    ],
)
def test_progress(before: ScaleStatus, after: ScaleStatus, reason: str | None) -> None:
    said = conditions.progress(before, after, 2, "web-1")
    assert (None if said is None else said.reason) == reason


def test_pausing_and_resuming() -> None:
    paused = conditions.pausing([], paused=True)
    assert paused is not None
    assert (paused.reason, paused.status) == ("DeploymentPaused", "Unknown")
    assert conditions.pausing([paused], paused=True) is None
    resumed = conditions.pausing([paused], paused=False)
    assert resumed is not None
    assert resumed.reason == "DeploymentResumed"
    assert conditions.pausing([], paused=False) is None


def test_a_condition_that_changes_goes_last() -> None:
    known = [conditions.created("web-1"), conditions.availability(0, 1)]
    first = conditions.put_last([], known[0], THEN)
    both = conditions.put_last(first, known[1], THEN)
    changed = conditions.put_last(both, DONE, NOW)
    assert [one.reason for one in changed] == ["MinimumReplicasUnavailable", "NewReplicaSetAvailable"]
    assert changed[1].last_transition_time == THEN  # the status is as it was
    assert conditions.put_last(changed, conditions.availability(0, 1), NOW) == changed
    available = conditions.put_last(changed, conditions.availability(1, 1), NOW)
    assert (available[1].status, available[1].last_transition_time) == ("True", NOW)


def test_a_failure_of_a_replica_set_is_the_deployments_until_it_is_over() -> None:
    failing = replica_set("a").obj()
    failing.status.conditions = [Condition(type="ReplicaFailure", status="True", reason="FailedCreate", message="no")]
    other = Condition(type="Available", status="True")
    found = conditions.with_failure_of([replica_set("b").obj(), failing], [other])
    assert [(one.type, one.message) for one in found] == [("Available", ""), ("ReplicaFailure", "no")]
    assert conditions.with_failure_of([replica_set("b").obj()], found) == [other]
