"""What the page shows of objects: little, in numbers, and nothing that is empty."""

from __future__ import annotations

import pytest

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.model.meta import Condition
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import budget, deployment, node, pod, pod_group, replica_set
from bayplan.web.digests import (
    Digest,
    budget_digest,
    event_digest,
    node_digest,
    pod_digest,
    pod_group_digest,
    queued_digest,
    workload_digest,
)


def test_amounts_are_numbers_and_empty_fields_are_left_out() -> None:
    made = node("node-1").capacity(cpu="1500m", memory="1Gi", pods="10").zone("zone-a").obj()
    assert node_digest(made) == {"name": "node-1", "zone": "zone-a", "cpu": 1500, "memory": 2**30, "pods": 10}


@pytest.mark.parametrize(("status", "shown"), [("True", None), ("False", "False"), ("Unknown", "Unknown")])
def test_a_node_that_says_nothing_counts_as_ready_and_one_that_is_not_is_marked(status: str, shown: str | None) -> None:
    made = node("node-1").obj()
    assert "notReady" not in node_digest(made)
    made.status.conditions = [Condition(type="Ready", status=status)]
    assert node_digest(made).get("notReady") == shown


def test_a_pod_that_waits_says_for_what_and_one_with_a_node_does_not() -> None:
    made = pod("web").request(cpu="250m").obj()
    made.status.conditions = [Condition(type="PodScheduled", status="False", message="0/3 nodes are available")]
    assert pod_digest(made)["waitsFor"] == "0/3 nodes are available"
    made.status.conditions = [Condition(type="PodScheduled", status="True")]
    assert "waitsFor" not in pod_digest(made)


@pytest.mark.parametrize(("status", "shown"), [("True", "PreemptionByScheduler"), ("False", None)])
def test_a_victim_is_marked_as_long_as_it_is_one(status: str, shown: str | None) -> None:
    made = pod("low").obj()
    made.status.conditions = [Condition(type="DisruptionTarget", status=status, reason="PreemptionByScheduler")]
    assert pod_digest(made).get("target") == shown


def test_a_budget_that_allows_nothing_says_so() -> None:
    assert budget_digest(budget("b").allows(0).obj())["allowed"] == 0


def test_workloads_that_others_make_are_not_scaled() -> None:
    assert workload_digest(replica_set("web-1").replicas(3).owner(deployment("web")).obj()) is None
    assert workload_digest(replica_set("web-1").replicas(3).obj()) == {
        "kind": "ReplicaSet",
        "namespace": "default",
        "name": "web-1",
        "replicas": 3,
        "ready": 0,
    }


def test_a_gang_says_how_many_it_needs_and_what_its_condition_says() -> None:
    made = pod_group("training").gang(3).disrupted_as_a_whole()
    known = {"namespace": "default", "name": "training", "uid": made.obj().metadata.uid}
    assert pod_group_digest(made.obj()) == {**known, "minCount": 3, "goesAsAWhole": True}
    assert pod_group_digest(made.condition("False", "Unschedulable", "no room").obj())["waitsFor"] == "no room"
    placed = pod_group_digest(made.condition("True", "Scheduled", "all are placed").obj())
    assert placed["placed"]
    assert "waitsFor" not in placed


def test_a_basic_group_needs_no_number_of_pods() -> None:
    assert pod_group_digest(pod_group("web").obj()).keys() == {"namespace", "name", "uid"}


def test_a_member_names_its_group_and_other_pods_none() -> None:
    assert pod_digest(pod("a").in_group("training").obj())["group"] == "default/training"
    assert "group" not in pod_digest(pod("a").obj())


def _queued(state: PodState, backoff_second: int | None = None) -> Digest:
    made = pod("web").obj()
    queued = QueuedPod(
        made, Cache(gates=DEFAULT_GATES).info(made), 1, 100 * SECOND, state=state, backoff_second=backoff_second
    )
    return queued_digest(queued)


def test_a_backoff_lasts_to_the_end_of_its_second() -> None:
    assert _queued(PodState.BACKOFF, 110 * SECOND) == {"state": "backoff", "until": 111_000}


def test_a_parked_pod_is_retried_after_five_minutes() -> None:
    assert _queued(PodState.UNSCHEDULABLE) == {"state": "unschedulable", "until": 400_000}


def test_a_pod_that_is_about_to_be_tried_waits_for_no_time() -> None:
    assert _queued(PodState.ACTIVE) == {"state": "active"}


@pytest.mark.parametrize(
    ("fields", "at", "count"),
    [
        ({"eventTime": "2026-01-01T00:00:00.000000Z"}, "2026-01-01T00:00:00.000000Z", 1),
        ({"lastTimestamp": "2026-01-01T00:00:01Z", "count": 4}, "2026-01-01T00:00:01Z", 4),
        ({"series": {"count": 7, "lastObservedTime": "2026-01-01T00:00:02.000000Z"}}, "2026-01-01T00:00:02.000000Z", 7),
        ({}, "2025-12-31T00:00:00Z", 1),
    ],
)
def test_events_of_both_styles_have_a_time_and_a_count(fields: Digest, at: str, count: int) -> None:
    metadata = {"name": "e", "namespace": "default", "creationTimestamp": "2025-12-31T00:00:00Z"}
    shown = event_digest({"metadata": metadata, "involvedObject": {"kind": "Pod", "name": "web"}, **fields})
    assert (shown["at"], shown["count"], shown["about"]) == (at, count, "Pod web")
