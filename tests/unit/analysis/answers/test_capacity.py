"""How many more fit: counts, what stops them, what evictions add."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster, InvalidObject
from bayplan.testing import builders as make


def cluster_of(*built: Any) -> Cluster:
    return Cluster([each.obj() for each in built])


def small_node(name: str, cpu: str = "2") -> make.NodeBuilder:
    return make.node(name).capacity(cpu=cpu)


def test_as_many_as_fit_node_by_node() -> None:
    taken = make.pod("x").cpu("1500m").running("b")
    answer = cluster_of(small_node("a"), small_node("b"), small_node("c", "1"), taken).capacity(["cpu=500m"])
    assert answer.rounds == 7
    assert {each.node: each.fits for each in answer.by_node} == {"a": (4,), "b": (1,), "c": (2,)}
    assert answer.is_enough


def test_what_runs_out_first_is_what_the_next_one_lacks() -> None:
    nodes = [small_node("a"), small_node("b").taint("gpu")]
    stop = cluster_of(*nodes).capacity(["cpu=750m"]).stop
    assert [(each.reason, each.nodes, each.examples) for each in stop.obstacles] == [
        ("Insufficient cpu", 1, ("a",)),
        ("node(s) had untolerated taint(s)", 1, ("b",)),
    ]
    assert stop.message == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    assert [(short.resource, short.asked, short.most_free) for short in stop.shortages] == [("cpu", 750, 500)]


def test_constraints_between_replicas_count() -> None:
    nodes = [make.node(name) for name in "abc"]
    apart = make.pod("x").labels(app="x").pod_anti_affinity("kubernetes.io/hostname", "app=x")
    assert cluster_of(*nodes).capacity([apart.manifest().dict()]).rounds == 3


def test_several_kinds_of_pods_are_counted_in_proportion() -> None:
    answer = cluster_of(small_node("a", "10")).capacity(["cpu=1=2", "cpu=2"])
    assert answer.rounds == 2
    assert [(pod.share, pod.fits) for pod in answer.pods] == [(2, 6), (1, 2)]
    assert answer.stop.pattern == "cpu=2"


def test_evicting_makes_room_for_more() -> None:
    low = [make.pod(f"low-{n}").cpu("1").priority(1).running("a").owner("ReplicaSet", "low") for n in range(2)]
    high = make.pod("high").cpu("1").priority(9)
    cluster = cluster_of(small_node("a", "3"), *low, high)
    answer = cluster.capacity(workloads=["high"])
    assert answer.evicting is not None
    assert (answer.rounds, answer.evicting.rounds) == (1, 3)
    assert set(answer.evicting.victims) == {"default/low-0", "default/low-1"}
    assert answer.evicting.victims_by_owner == {"ReplicaSet default/low": 2}
    assert cluster.capacity(workloads=["high"], evicting=False).evicting is None


def test_a_pod_that_never_preempts_evicts_nobody() -> None:
    low = make.pod("low").cpu("2").priority(1).running("a")
    meek = make.pod("meek").cpu("2").priority(9).never_preempts()
    answer = cluster_of(small_node("a"), low, meek).capacity(workloads=["meek"])
    assert answer.evicting is not None
    assert (answer.rounds, answer.evicting.rounds, answer.is_enough) == (0, 0, False)


def test_replicas_do_not_evict_each_other() -> None:
    cluster = cluster_of(small_node("a"), make.pod("low").cpu("1").priority(1), make.pod("high").cpu("1").priority(9))
    answer = cluster.capacity(workloads=["low", "high"])
    assert answer.evicting is not None
    assert (answer.rounds, answer.evicting.rounds, answer.evicting.victims) == (1, 1, ())


def test_gates_are_taken_to_be_open() -> None:
    assert cluster_of(small_node("a"), make.pod("x").cpu("1").gate("later")).capacity(workloads=["x"]).rounds == 2


def test_asking_changes_nothing() -> None:
    cluster = cluster_of(small_node("a"), make.pod("low").cpu("2").priority(-1).running("a"))
    first = cluster.capacity(["cpu=1"], replicas=5)
    assert cluster.capacity(["cpu=1"], replicas=5) == first


def test_no_nodes_at_all() -> None:
    answer = cluster_of(make.pod("x")).capacity(["cpu=1"], replicas=3)
    assert (answer.rounds, answer.stop.message) == (0, "no nodes available to schedule pods")
    assert answer.needed == ()


def test_a_scheduler_that_is_not_configured() -> None:
    with pytest.raises(InvalidObject, match="no profile for scheduler 'other'"):
        cluster_of(make.node("a"), make.pod("x").scheduler("other")).capacity(workloads=["x"])
