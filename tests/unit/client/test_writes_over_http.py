"""The writer with the real client against a served API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from tests.support.api_server import pod as pod_document
from tests.support.virtual_time import BEGIN

from bayplan.client.connecting import connect
from bayplan.client.writes import Limits, Writer
from bayplan.core.actions import Action, Bind, Emit, Evict, Nominate, SetCondition
from bayplan.core.events import BindAnswered, Event, EvictAnswered
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.testing import LiveCluster, cluster


def perform(live: LiveCluster, actions: Callable[[dict[str, Pod]], list[Action]], *names: str) -> list[Event]:
    """Creates the pods and performs what is to be done with them; the answers."""
    live.apply([pod_document(name) for name in names])
    pods = {f"{DEFAULT_NAMESPACE}/{name}": msgspec.convert(live.get("pod", name), Pod, strict=False) for name in names}
    answers: list[Event] = []

    async def play() -> None:
        client = connect(str(live.kubeconfig))
        try:
            writer = Writer(client, lambda _, key: pods.get(key), answers.append, limits=Limits(qps=0), host="h")
            writer.perform_all(actions(pods), BEGIN)
            await writer.drain(10)
        finally:
            await client.close()

    asyncio.run(play())
    return answers


def events(live: LiveCluster) -> list[tuple[Any, ...]]:
    return [(one["reason"], one["regarding"]["name"], one["note"]) for one in live.list("events.events.k8s.io")]


def test_pods_are_bound_marked_and_evicted() -> None:
    def actions(pods: dict[str, Pod]) -> list[Action]:
        uid = {name: pods[f"default/{name}"].metadata.uid for name in "abv"}
        return [
            Bind("default/a", uid["a"], "node-1"),
            SetCondition("default/b", uid["b"], "Unschedulable", "0/3 nodes are available.", "node-1"),
            Nominate("default/b", "node-2"),
            Evict(
                "default/v", uid["v"], "node-1", "PreemptionByScheduler", "default-scheduler: preempting", "Preempted"
            ),
            Emit("default/b", uid["b"], "Warning", "FailedScheduling", "Scheduling", "0/3 nodes are available."),
        ]

    with cluster(nodes=3, scheduler=False, controllers=False) as live:
        answers = perform(live, actions, "a", "b", "v")
        assert {type(answer) for answer in answers} == {BindAnswered, EvictAnswered}
        assert all(not answer.error for answer in answers if isinstance(answer, BindAnswered | EvictAnswered))
        assert live.get("pod", "a")["spec"]["nodeName"] == "node-1"
        waiting = live.get("pod", "b")["status"]
        assert (waiting["nominatedNodeName"], waiting["conditions"][0]["type"]) == ("node-2", "PodScheduled")
        assert {one["metadata"]["name"] for one in live.list("pods")} == {"a", "b"}
        assert sorted(events(live)) == [
            ("FailedScheduling", "b", "0/3 nodes are available."),
            ("Preempted", "v", "Preempted"),
        ]


def test_binding_a_pod_again_to_its_own_node_is_fine_and_to_another_is_refused() -> None:
    def actions(pods: dict[str, Pod]) -> list[Action]:
        uid = pods["default/a"].metadata.uid
        return [Bind("default/a", uid, node) for node in ("node-1", "node-1", "node-2")]

    with cluster(nodes=3, scheduler=False, controllers=False) as live:
        errors = [answer.error for answer in perform(live, actions, "a") if isinstance(answer, BindAnswered)]
        refused = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-1"'
        assert errors == ["", "", refused]


def test_a_pod_that_took_the_name_of_the_victim_is_spared() -> None:
    def actions(pods: dict[str, Pod]) -> list[Action]:
        pods["default/v"].metadata.uid = "the-one-before"
        return [Evict("default/v", "the-one-before", "node-1", "PreemptionByScheduler", "s: preempting", "Preempted")]

    with cluster(nodes=1, scheduler=False, controllers=False) as live:
        assert perform(live, actions, "v") == [EvictAnswered("default/v", "the-one-before")]
        assert "deletionTimestamp" not in live.get("pod", "v")["metadata"]
        assert events(live) == []
