"""What controllers make of a change at once: who is no longer wanted, and what is to be updated."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan.analysis.answers.changes import ChangedCluster, ClusterChange, changed, read_change
from bayplan.analysis.answers.course import DepartureCause
from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.model.policy import PodDisruptionBudget
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

X = make.pod("t").labels(app="x")


def apply(cluster: Cluster, *new: Builder[Any]) -> ChangedCluster:
    return changed(cluster, ClusterChange(apply=tuple(thing.obj() for thing in new)))


def losses(found: ChangedCluster) -> list[tuple[tuple[str, ...], DepartureCause, bool]]:
    return [(loss.pods, loss.cause, loss.for_good) for loss in found.losses]


def test_a_replica_set_that_is_scaled_down_lets_its_newest_pods_go_first() -> None:
    owner = make.replica_set("r").replicas(3).template(X)
    pods = [owned(name, owner).running("a").created(created) for name, created in (("p", 1), ("q", 900), ("r", 2))]
    found = apply(cluster_of(make.node("a"), owner, *pods), make.replica_set("r").manifest().replicas(2).template(X))
    assert losses(found) == [(("default/q",), DepartureCause.SCALED_DOWN, True)]
    assert found.losses[0].by == "ReplicaSet default/r"


def test_a_pod_that_waits_goes_before_one_that_runs() -> None:
    owner = make.replica_set("r").replicas(2).template(X)
    found = apply(
        cluster_of(make.node("a"), owner, owned("waits", owner), owned("runs", owner).running("a")),
        make.replica_set("r").manifest().replicas(1).template(X),
    )
    assert losses(found) == [(("default/waits",), DepartureCause.SCALED_DOWN, True)]


def test_a_stateful_set_loses_its_last_pods() -> None:
    owner = make.stateful_set("db").replicas(12).template(X)
    pods = [owned(f"db-{ordinal}", owner).running("a") for ordinal in (2, 9, 10, 11)]
    found = apply(cluster_of(make.node("a"), owner, *pods), make.stateful_set("db").manifest().replicas(10).template(X))
    assert losses(found) == [(("default/db-11", "default/db-10"), DepartureCause.SCALED_DOWN, True)]


def test_a_suspended_job_runs_nothing() -> None:
    owner = make.job("j").set(parallelism=2, completions=2).template(X)
    pods = [owned(name, owner).running("a") for name in "pq"]
    found = apply(
        cluster_of(make.node("a"), owner, *pods),
        make.job("j").manifest().set(parallelism=2, completions=2, suspend=True).template(X),
    )
    assert sorted(found.losses[0].pods) == ["default/p", "default/q"]


def test_daemons_go_where_their_set_does_not_want_them() -> None:
    owner = make.daemon_set("d").template(X)
    daemons = [make.pod(f"d-{node}").owner(owner).running(node) for node in "ab"]
    cluster = cluster_of(make.node("a").label("disk", "ssd"), make.node("b"), owner, *daemons)
    selecting = make.daemon_set("d").manifest().template(make.pod("t").labels(app="x").node_selector(disk="ssd"))
    assert losses(apply(cluster, selecting)) == [(("default/d-b",), DepartureCause.SCALED_DOWN, True)]


@pytest.mark.parametrize(
    ("pod", "gone"),
    [
        (make.pod("p"), True),
        (make.pod("p").tolerates("maintenance", effect="NoExecute"), False),
        (make.pod("p").tolerates("maintenance", effect="NoExecute", seconds=60), True),
    ],
)
def test_a_no_execute_taint_drives_out_whoever_does_not_bear_it_for_ever(pod: PodBuilder, gone: bool) -> None:
    cluster = cluster_of(make.node("a"), make.node("b"), pod.running("a"), make.pod("q").running("b"))
    found = apply(cluster, make.node("a").manifest().taint("maintenance", effect="NoExecute"))
    assert losses(found) == ([(("default/p",), DepartureCause.TAINTED, False)] if gone else [])


def test_a_daemon_does_not_come_back_to_a_node_that_drove_it_out() -> None:
    owner = make.daemon_set("d").template(X)
    cluster = cluster_of(make.node("a"), owner, make.pod("d-a").owner(owner).running("a"))
    found = apply(cluster, make.node("a").manifest().taint("maintenance", effect="NoExecute"))
    assert losses(found) == [(("default/d-a",), DepartureCause.TAINTED, True)]


@pytest.mark.parametrize(
    ("old", "new", "updated"),
    [
        (make.deployment("w").template(X), make.deployment("w").template(X), False),
        (make.deployment("w").template(X), make.deployment("w").template(make.pod("t").labels(app="x").cpu("1")), True),
        (
            make.deployment("w").template(X),
            make.deployment("w").set(paused=True).template(make.pod("t").labels(app="x").cpu("1")),
            False,
        ),
        (
            make.replica_set("w").template(X),
            make.replica_set("w").template(make.pod("t").labels(app="x").cpu("1")),
            False,
        ),
    ],
    ids=["the same", "another template", "paused", "a set that does not update"],
)
def test_which_workloads_are_updated(old: Builder[Any], new: Builder[Any], updated: bool) -> None:
    found = apply(cluster_of(old), new.manifest())
    assert [workload.metadata.name for workload in found.updates] == ["w"] * updated


def test_a_budget_is_counted_anew_when_a_workload_it_covers_is_scaled() -> None:
    owner = make.replica_set("r").replicas(4).template(X)
    pods = [owned(name, owner).labels(app="x").running("a") for name in "pqrs"]
    budgets = [make.budget("b").selects(app="x").max_unavailable("50%"), make.budget("c").selects(app="y").allows(7)]
    cluster = cluster_of(make.node("a"), owner, *pods, *budgets)
    found = apply(cluster, make.replica_set("r").manifest().replicas(8).template(X))
    statuses = [obj.status for obj in found.cluster.objects if isinstance(obj, PodDisruptionBudget)]
    assert [status.disruptions_allowed for status in statuses if status is not None] == [0, 7]
    before = [obj.status for obj in cluster.objects if isinstance(obj, PodDisruptionBudget)]
    assert [status.disruptions_allowed for status in before if status is not None] == [2, 7]


def test_nodes_to_add_are_copies_of_those_that_are_there() -> None:
    cluster = cluster_of(make.node("a").capacity(cpu="9").unschedulable())
    change = read_change(cluster, [], [], ["a=2", "1cpu,1Gi=1"], "default")
    assert [node.metadata.name for node in change.add_nodes] == ["a-0", "a-1", "1cpu-1gi-0"]
    assert change.add_nodes[0].status.allocatable["cpu"] == "9"
    assert not change.add_nodes[0].spec.unschedulable


def test_a_template_that_is_nowhere_is_named_with_its_option() -> None:
    with pytest.raises(InvalidObject, match="--add-nodes: 'a': expected"):
        read_change(cluster_of(make.node("a")), [], [], ["a"], "default")
