"""ReplicaSets: how many pods, which go first, and what the status says."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from tests.support.controller_stage import START
from tests.support.workload_stage import OTHER_TEMPLATE, TEMPLATE, Workloads, requests

from bayplan.controllers.workloads.deletion_order import DELETION_COST, first_to_delete
from bayplan.controllers.workloads.replica_set import ReplicaSetController, ReplicationManager
from bayplan.model.pod import ContainerStatus, Pod
from bayplan.model.time_units import SECOND
from bayplan.model.watch_types import ADDED
from bayplan.model.workloads import ReplicaSet, ReplicationController
from bayplan.store.log import WatchEvent
from bayplan.testing.builders import namespace, pod, priority_class, replica_set, replication_controller
from bayplan.testing.pods import PodBuilder


def stage_with(replicas: int) -> Workloads:
    stage = Workloads(ReplicaSetController())
    stage.create(replica_set("set").replicas(replicas).template(TEMPLATE).manifest().obj())
    return stage


def counts(stage: Workloads) -> tuple[int, int, int]:
    status = stage.get(ReplicaSet, "set").status
    return status.replicas, status.ready_replicas, status.available_replicas


def test_pods_are_created() -> None:
    """A new set gets its pods at once: named after it, owned by it, of its template."""
    stage = stage_with(3)
    owner = stage.get(ReplicaSet, "set")
    assert len(stage.names()) == 3
    for one in stage.pods():
        assert re.fullmatch("set-[a-z0-9]{5}", one.metadata.name)
        assert [(ref.kind, ref.uid, ref.controller) for ref in one.metadata.owner_references] == [
            ("ReplicaSet", owner.metadata.uid, True)
        ]
        assert one.metadata.labels == {"app": "x"}
    assert counts(stage) == (3, 0, 0)
    assert owner.status.observed_generation == owner.metadata.generation


def test_the_same_run_gives_the_same_names() -> None:
    """Names come from a counter, not from chance."""
    assert stage_with(5).names() == stage_with(5).names()
    assert len(set(stage_with(200).names())) == 200


def test_pods_share_their_parts_but_not_their_state() -> None:
    """Pods of one template are made of the same parts; what happens to one does not show in another."""
    stage = stage_with(2)
    first, second = stage.names()
    assert stage.pod(first).spec.containers is stage.pod(second).spec.containers
    stage.run(first)
    assert stage.pod(second).spec.node_name == ""
    assert stage.pod(second).status.conditions == []
    assert stage.pod(second).metadata.labels == {"app": "x"}


def test_the_status_follows_the_pods() -> None:
    """Ready pods are counted as they become ready, and no longer when they cease to be."""
    stage = stage_with(3)
    first, second, _ = stage.names()
    stage.run(first, second)
    assert counts(stage) == (3, 2, 2)
    stage.unready(first)
    assert counts(stage) == (3, 1, 1)


@pytest.mark.parametrize("leaving", ["deleted", "evicted", "succeeded", "failed"])
def test_a_pod_that_leaves_is_replaced_at_once(leaving: str) -> None:
    """Whatever ends a pod, the next one is there before the old one is gone."""
    stage = stage_with(2)
    stage.run_all()
    lost, kept = stage.names()
    if leaving == "deleted":
        stage.stop(lost)
    elif leaving == "evicted":
        stage.evict(lost)
        assert stage.pod(lost).metadata.deletion_timestamp is not None
    else:
        stage.end(lost, phase=leaving.capitalize())
    assert len(stage.names()) == 2
    assert lost not in stage.names()
    assert kept in stage.names()
    assert counts(stage) == (2, 1, 1)


def test_an_evicted_pod_is_replaced_once() -> None:
    """The replacement came with the eviction; that the victim is gone at last changes nothing."""
    stage = stage_with(2)
    stage.run_all()
    lost = stage.names()[0]
    stage.evict(lost)
    after = stage.names()
    stage.stop(lost)
    assert stage.names() == after
    assert not stage.has_pod(lost)


def test_scaling() -> None:
    """More replicas add pods, fewer take some away, none takes all."""
    stage = stage_with(2)
    before = stage.names()
    stage.change(ReplicaSet, "set", replicas=4)
    assert stage.names()[:2] == before
    assert len(stage.names()) == 4
    stage.change(ReplicaSet, "set", replicas=1)
    assert len(stage.names()) == 1
    stage.change(ReplicaSet, "set", replicas=0)
    assert stage.pods() == []
    assert counts(stage) == (0, 0, 0)


def test_a_changed_template_serves_new_pods_only() -> None:
    """A ReplicaSet leaves the pods it has alone."""
    stage = stage_with(2)
    stage.change(ReplicaSet, "set", template=replica_set("set").template(OTHER_TEMPLATE).obj().spec.template)
    assert requests(stage.pods()) == ["1", "1"]
    stage.stop(stage.names()[0])
    assert requests(stage.pods()) == ["1", "2"]


def test_min_ready_seconds() -> None:
    """A pod is available only after it has been ready for a while."""
    stage = Workloads(ReplicaSetController())
    stage.create(replica_set("set").replicas(2).set(min_ready_seconds=30).template(TEMPLATE).manifest().obj())
    first, second = stage.names()
    stage.run(first)
    stage.pass_time(10)
    stage.run(second)
    assert counts(stage) == (2, 2, 0)
    stage.pass_time(20)
    assert counts(stage) == (2, 2, 1)
    stage.pass_time(10)
    assert counts(stage) == (2, 2, 2)


def test_a_set_that_is_being_deleted_creates_nothing() -> None:
    """Its pods are the garbage collector's business from then on."""
    stage = stage_with(2)
    stage.store.delete(ReplicaSet, "default", "set", stage.now, propagation="Foreground")
    stage.settle()
    stage.stop(stage.names()[0])
    assert len(stage.names()) == 1
    assert counts(stage) == (1, 0, 0)


def test_a_pod_that_is_let_go_no_longer_counts() -> None:
    """A pod whose owner reference is taken away is replaced and left alone."""
    stage = stage_with(1)
    name = stage.names()[0]

    def let_go(one: Pod) -> Pod:
        return replace(one, metadata=replace(one.metadata, owner_references=[]))

    stage.store.modify(Pod, "default", name, let_go, stage.now)
    stage.settle()
    assert len(stage.names()) == 2
    assert counts(stage) == (1, 0, 0)


def test_refused_pods_are_tried_again_later() -> None:
    """A pod that names a priority class which is not there is refused, and created once the class is."""
    stage = Workloads(ReplicaSetController())
    pattern = pod("t").labels(app="x").priority(None).priority_class("high")
    stage.create(replica_set("set").replicas(2).template(pattern).manifest().obj())
    assert stage.pods() == []
    stage.create(priority_class("high", 1000).manifest().obj())
    stage.pass_time(1)
    assert [one.spec.priority for one in stage.pods()] == [1000, 1000]


def test_a_set_that_cannot_create_pods_says_so_until_it_can() -> None:
    stage = stage_with(1)
    stage.create(namespace("default").manifest().obj())
    pattern = pod("t").labels(app="x").priority(None).priority_class("high")
    stage.change(ReplicaSet, "set", template=replica_set("x").template(pattern).manifest().obj().spec.template)
    stage.change(ReplicaSet, "set", replicas=2)
    assert counts(stage) == (1, 0, 0)
    (failure,) = stage.get(ReplicaSet, "set").status.conditions
    assert (failure.type, failure.status, failure.reason) == ("ReplicaFailure", "True", "FailedCreate")
    assert "no PriorityClass with name high was found" in failure.message
    stage.create(priority_class("high", 1000).manifest().obj())
    stage.pass_time(1)
    assert counts(stage) == (2, 0, 0)
    assert stage.get(ReplicaSet, "set").status.conditions == []


def test_nothing_is_created_where_a_namespace_ends() -> None:
    """The refusal is borne, and retries become rare."""
    stage = stage_with(1)
    stage.create(namespace("default").manifest().obj())
    stage.create(namespace("other").manifest().obj())
    stage.create(replica_set("set", "other").replicas(1).template(TEMPLATE).manifest().obj())
    stage.store.delete("Namespace", "", "other", stage.now)
    stage.settle()
    lost = stage.store.list(Pod, "other")[0].metadata.name
    stage.store.delete(Pod, "other", lost, stage.now)
    stage.settle()
    before = stage.store.resource_version
    stage.pass_time(10_000)
    assert stage.store.list(Pod, "other") == []
    assert stage.store.resource_version == before


def test_hearing_of_everything_again() -> None:
    """A list after a gap, in which deletions were missed, sets the count right."""
    controller = ReplicaSetController()
    stage = Workloads(controller)
    stage.create(replica_set("set").replicas(3).template(TEMPLATE).manifest().obj())
    lost = stage.names()[0]
    stage.store.delete(Pod, "default", lost, stage.now)
    stage._news.read()  # nobody hears of it
    for one in stage.store.list_and_watch().objects:
        controller.observe(WatchEvent(ADDED, type(one).__name__, None, one, 0, stage.now), stage.now)
    stage.settle()
    assert len(stage.names()) == 3


def test_a_loaded_set_keeps_its_pods() -> None:
    """Pods that came with a dump count, in whatever order they were loaded."""
    stage = Workloads(ReplicaSetController())
    owner = replica_set("set").replicas(2).template(TEMPLATE)
    mine = pod("set-a").labels(app="x").owner(owner).running("n1")
    stage.load(mine.obj(), owner.obj(), pod("set-b").labels(app="x").running("n1").obj())
    assert stage.names()[:2] == ["set-a", "set-b"]
    assert len(stage.names()) == 3
    assert counts(stage) == (2, 1, 1)


def test_replication_controllers() -> None:
    """A ReplicationController does the same, and neither minds the other's pods."""
    stage = Workloads(ReplicaSetController(), ReplicationManager())
    stage.create(replication_controller("rc").replicas(2).template(TEMPLATE).manifest().obj())
    stage.create(replica_set("set").replicas(1).template(TEMPLATE).manifest().obj())
    assert [one.metadata.owner_references[0].kind for one in stage.pods()] == [
        "ReplicationController",
        "ReplicationController",
        "ReplicaSet",
    ]
    stage.change(ReplicationController, "rc", replicas=1)
    assert len(stage.names()) == 2
    assert stage.get(ReplicationController, "rc").status.replicas == 1


# Which go first.


def aged(name: str, seconds: int) -> PodBuilder:
    return pod(name).created(START // SECOND - seconds)


def bound(name: str, seconds: int = 100, node_name: str = "n1") -> PodBuilder:
    return aged(name, seconds).running(node_name)


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        pytest.param(bound("a", 5000), aged("b", 9000), id="unassigned before assigned"),
        pytest.param(bound("a", 10), aged("b", 9000).node("n1"), id="pending before running"),
        pytest.param(bound("a", 10), aged("b", 9000).node("n1").phase("Running"), id="not ready before ready"),
        pytest.param(
            bound("a", 10), bound("b", 9000).annotations({DELETION_COST: "-5"}), id="cheap before dear, even if older"
        ),
        pytest.param(
            bound("a", 10).annotations({DELETION_COST: "no number"}),
            bound("b", 9000).annotations({DELETION_COST: "-1"}),
            id="a cost that is no number is none",
        ),
        pytest.param(bound("a", 9000), bound("b", 10), id="newer before older"),
        pytest.param(bound("a", 5000), bound("b", 5001), id="of about the same age the last to arrive"),
    ],
)
def test_deletion_order(stays: PodBuilder, goes: PodBuilder) -> None:
    """Of two pods, in this order of arrival, the second goes."""
    pods = [stays.obj(), goes.obj()]
    assert [one.metadata.name for one in first_to_delete(pods, 1, START)] == ["b"]


def test_restarted_pods_go_first() -> None:
    """Of pods alike the one that restarted most often goes."""
    stable, shaky = bound("stable").obj(), bound("shaky").obj()
    shaky.status.container_statuses = [ContainerStatus(restart_count=3)]
    assert first_to_delete([shaky, stable], 1, START) == [shaky]


def test_crowded_nodes_are_relieved_first() -> None:
    """When a set shrinks, it is on the node with most of its pods that one goes."""
    stage = stage_with(3)
    first, second, third = stage.names()
    stage.run(first, node_name="n1")
    stage.run(second, node_name="n1")
    stage.run(third, node_name="n2")
    stage.change(ReplicaSet, "set", replicas=2)
    assert third in stage.names()
