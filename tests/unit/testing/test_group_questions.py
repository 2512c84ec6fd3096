"""A pod tried among groups that no scheduler would try. Those that one would are in tests/parity."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.group_explanation import plain_outcome
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.groups.cycle import PodOutcome
from bayplan.core.groups.member import Member
from bayplan.testing import builders as make
from bayplan.testing import try_pod


def asked(spec: dict[str, Any], meta: dict[str, Any], phase: str = "Pending") -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": capacity}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": "default", "uid": "x"} | meta,
        "spec": {"containers": [{"name": "main", "image": "i"}]} | spec,
        "status": {"phase": phase},
    }
    return try_pod([node, pod], "default/x", feature_gates={"GenericWorkload": True}, kubernetes_version="1.37")


@pytest.mark.parametrize(
    ("spec", "phase"),
    [
        ({"schedulerName": "other"}, "Pending"),
        ({"nodeName": "a"}, "Running"),
        ({}, "Succeeded"),
        ({"schedulingGates": [{"name": "example.com/later"}]}, "Pending"),
    ],
    ids=["another scheduler's", "on a node", "over", "gated"],
)
def test_what_is_not_for_this_scheduler_to_place_is_not_queued(spec: dict[str, Any], phase: str) -> None:
    assert asked(spec, {}, phase) == {"queued": False}


def test_a_pod_that_is_being_deleted_is_passed_over() -> None:
    told = asked({}, {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/keep"]})
    assert told == {
        "queued": True,
        "node": None,
        "nominated": None,
        "reason": None,
        "message": None,
        "event": "FailedScheduling",
        "eventMessage": "skip schedule deleting pod: default/x",
        "candidates": {},
        "nodeStatuses": {},
        "evicted": [],
    }


def test_a_pod_that_is_passed_over_keeps_the_condition_it_has() -> None:
    pod = make.pod("x").terminating().condition("PodScheduled", "False", "Unschedulable", "no room").dict()
    told = try_pod([pod], "default/x", feature_gates={"GenericWorkload": True}, kubernetes_version="1.37")
    assert (told["reason"], told["message"]) == ("Unschedulable", "no room")
    assert told["eventMessage"] == "skip schedule deleting pod: default/x"


def test_an_event_says_as_much_of_a_long_message_as_events_may() -> None:
    words = "no nodes available to schedule pods"
    assert "eventMessage" not in plain_outcome(outcome_saying(words))
    assert plain_outcome(outcome_saying("x" * 2000))["eventMessage"] == "x" * 1020 + " ..."


def outcome_saying(message: str) -> PodOutcome:
    pod = make.pod("x").obj()
    return PodOutcome(Member(pod, Cache(DEFAULT_GATES).info(pod)), reason="Unschedulable", message=message)


def test_without_nodes_a_nomination_ends() -> None:
    pod = make.pod("x").nominated("gone").dict()
    told = try_pod([pod], "default/x", feature_gates={"GenericWorkload": True}, kubernetes_version="1.37")
    assert (told["nominated"], told["message"]) == (None, "no nodes available to schedule pods")


def test_a_node_whose_victims_cannot_be_told_is_no_candidate_and_nothing_is_said_of_it() -> None:
    """Upstream keeps the error for the case that no other node helps."""
    nodes = [make.node(name).capacity(cpu="1", memory="8Gi", pods=10).dict() for name in ("a", "b")]
    group = make.pod_group("g").priority(-1).disrupted_as_a_whole().dict()
    members = [make.pod(f"g-{at}").cpu("1").in_group("g").node(at).dict() for at in ("a", "gone")]
    alone = make.pod("alone").cpu("1").priority(-1).node("b").dict()
    world = [*nodes, group, *members, alone, make.pod("x").cpu("1").dict()]
    gates = {"GenericWorkload": True}
    told = try_pod(world, "default/x", feature_gates=gates, kubernetes_version="1.37")
    assert told["nodeStatuses"] == {}
    assert told["candidates"] == {"b": {"victims": ["default/alone"], "numPDBViolations": 0}}
