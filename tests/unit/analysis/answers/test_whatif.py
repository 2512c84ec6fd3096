"""What is different with a change, and nothing else."""

from __future__ import annotations

import pytest
from tests.support.changed_clusters import cluster_of, owned, whatif

from bayplan.analysis.answers.course import DepartureCause
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make

A, B = make.node("a").capacity(cpu="2"), make.node("b").capacity(cpu="2")
HIGH = make.priority_class("high", 100)
NEW = make.pod("new").cpu("2").priority_class("high").manifest()


def test_nothing_happens_if_nothing_changes() -> None:
    found = whatif(cluster_of(A, make.pod("waits").cpu("99"), owned("runs").running("a")), A)
    assert all(not value for value in found.to_dict().values())


def test_what_pending_pods_do_anyway_is_not_the_changes_doing() -> None:
    low, pending = owned("low").cpu("2").running("a"), make.pod("pending").cpu("2").priority(5)
    found = whatif(cluster_of(A, low, pending), make.node("b").capacity(cpu="1").manifest())
    assert (found.evicted, found.placed, found.pending) == ((), (), ())


def test_evictions_that_a_change_prevents_are_seen_in_what_runs() -> None:
    low, pending = owned("low").cpu("2").running("a"), make.pod("pending").cpu("2").priority(5)
    found = whatif(cluster_of(A, low, pending), add_nodes=["a=1"])
    assert (found.placed, found.moved) == ((), ())
    assert {fate.pod: (fate.node_before, fate.node_without, fate.node_after) for fate in found.indirect} == {
        "default/low": ("a", "", "a"),
        "default/pending": ("", "a", "a-0"),
    }


def test_a_pod_that_is_spared_an_eviction_is_not_new() -> None:
    low, pending = make.pod("low").cpu("2").running("a"), make.pod("pending").cpu("2").priority(5)
    found = whatif(cluster_of(A, low, pending), add_nodes=["a=1"])
    assert {fate.pod: (fate.node_after, fate.is_spared) for fate in found.indirect} == {
        "default/low": ("a", True),
        "default/pending": ("a-0", False),
    }


def test_before_is_where_a_pod_is_now() -> None:
    """Not where it would be once today's pending pods have evicted it."""
    old = owned("old").cpu("2").running("a")
    pending = make.pod("pending").cpu("2").priority(5).node_selector({"kubernetes.io/hostname": "a"})
    found = whatif(cluster_of(A, B, old, pending), add_nodes=["8cpu,32Gi=1"])
    assert [(fate.node_before, fate.node_without, fate.node_after) for fate in found.indirect] == [
        ("a", "b", "8cpu-32gi-0")
    ]
    assert (found.placed, found.moved, found.evicted) == ((), (), ())


def test_a_victim_that_is_evicted_anyway_is_told_from_the_others() -> None:
    """`new` takes the place of what the pending pod would have evicted, and of more."""
    small = [owned(name).cpu("1").running("a") for name in ("p", "q")]
    pending = make.pod("pending").cpu("1").priority(5)
    new = make.pod("new").cpu("2").priority_class("high").manifest()
    found = whatif(cluster_of(A, HIGH, *small, pending), new)
    (fate,) = found.placed
    assert set(fate.victims) == {"default/p", "default/q"}
    assert {each.pod for each in found.evicted} == {*fate.victims} - {*fate.evicted_anyway}
    assert len(fate.evicted_anyway) == 1


def test_a_pod_that_is_evicted_and_then_replaced_has_one_fate() -> None:
    """The new pod of a rollout evicts the old one, of which the rollout would have got rid anyway."""
    whole = make.pod("t").labels(app="web").cpu("2")
    web = make.deployment("web").replicas(1).template(whole)
    made = make.replica_set("web-1").replicas(1).template(whole).owner(web)
    old = make.pod("web-1-a").labels(app="web").cpu("2").running("a").owner(made)
    better = make.pod("t").labels(app="web").cpu("2").priority(None, class_name="high")
    found = whatif(cluster_of(A, HIGH, web, made, old), make.deployment("web").replicas(1).template(better).manifest())
    assert [each.pod for each in found.evicted] == ["default/web-1-a"]
    assert found.removed == ()
    assert [(fate.pod, fate.removal) for fate in found.lost] == [("default/web-1-a", DepartureCause.UPDATED)]


def test_a_victim_is_followed_until_it_runs_again() -> None:
    low, lower = owned("low").cpu("2").priority(2).running("a"), owned("lower").cpu("2").priority(1).running("b")
    new = make.pod("new").cpu("2").priority_class("high").node_selector({"kubernetes.io/hostname": "a"}).manifest()
    found = whatif(cluster_of(A, B, HIGH, low, lower), new)
    assert [(each.pod, each.by) for each in found.evicted] == [
        ("default/low", "default/new"),
        ("default/lower", "default/low"),
    ]
    assert [(fate.pod, fate.node_after, fate.victims) for fate in found.moved] == [
        ("default/low", "b", ("default/lower",))
    ]
    assert [(fate.pod, fate.node_before) for fate in found.pending] == [("default/lower", "b")]


def test_a_bare_victim_is_lost() -> None:
    found = whatif(cluster_of(A, HIGH, make.pod("low").cpu("2").running("a")), NEW)
    assert [fate.pod for fate in found.lost] == ["default/low"]
    assert found.placed[0].victims == ("default/low",)


def test_budgets_that_break_are_named_with_the_pods() -> None:
    low = owned("low").labels(app="x").cpu("2").running("a")
    found = whatif(cluster_of(A, HIGH, make.budget("b").selects(app="x").allows(0), low), NEW)
    assert found.broken_budgets == {"default/b": ["default/low"]}


def test_an_applied_budget_protects_at_once() -> None:
    """Both nodes would do; with the budget the pod that it covers is spared."""
    low = [owned(name).labels(app=name).cpu("2").running(node) for name, node in (("x", "a"), ("y", "b"))]
    cluster = cluster_of(A, B, HIGH, make.replica_set("somebody").replicas(2), *low)
    assert [each.pod for each in whatif(cluster, NEW).evicted] == ["default/x"]
    budget = make.budget("b").selects(app="x").min_available(1).manifest()
    assert [each.pod for each in whatif(cluster, NEW, budget).evicted] == ["default/y"]


def test_a_deleted_workload_makes_room() -> None:
    owner = make.replica_set("r").replicas(1).template(make.pod("t").cpu("2"))
    cluster = cluster_of(A, owner, owned("p", owner).cpu("2").running("a"), make.pod("waits").cpu("2"))
    found = cluster.whatif(delete=["rs/r"])
    assert [(each.pod, each.cause) for each in found.removed] == [("default/p", DepartureCause.DELETED)]
    assert [(fate.pod, fate.pending_before) for fate in found.placed] == [("default/waits", True)]
    assert [fate.pod for fate in found.lost] == ["default/p"]


def test_a_deleted_pod_comes_back() -> None:
    found = cluster_of(A, B, owned("p").cpu("2").running("b")).whatif(delete=["pod/p"])
    assert {fate.pod: fate.node_after for fate in found.moved} == {"default/p": "a"}


def test_the_pods_of_a_deleted_node_are_evicted() -> None:
    found = cluster_of(A, B, owned("p").cpu("2").running("b")).whatif(delete=["node/b"])
    assert [(each.pod, each.cause, each.by) for each in found.evicted] == [
        ("default/p", DepartureCause.NODE_DELETED, "b")
    ]
    assert [(node.node, node.after is None) for node in found.nodes] == [("a", False), ("b", True)]


def test_daemons_come_to_nodes_that_are_added() -> None:
    owner = make.daemon_set("d").template(make.pod("t").labels(app="d").cpu("1"))
    cluster = cluster_of(A, owner, make.pod("d-a").owner(owner).running("a"))
    found = cluster.whatif(add_nodes=["a=2"])
    assert {fate.pod: fate.node_after for fate in found.placed} == {"default/d-a-0": "a-0", "default/d-a-1": "a-1"}


def test_a_drain_comes_after_what_is_applied() -> None:
    cluster = cluster_of(A, B, HIGH, owned("p").cpu("1").running("b"))
    found = whatif(cluster, NEW, drain=["b"])
    assert found.draining is not None
    assert {fate.pod: fate.node_after for fate in found.placed} == {"default/new": "a"}
    assert [fate.pod for fate in found.pending] == ["default/p"]
    assert [each.cause for each in found.removed] == [DepartureCause.DRAINED]


def test_a_node_that_is_added_can_be_drained_and_one_that_is_deleted_cannot() -> None:
    cluster = cluster_of(A, B)
    assert cluster.whatif(add_nodes=["a=1"], drain=["a-0"]).draining is not None
    with pytest.raises(InvalidObject, match="Node b: not found in the input"):
        cluster.whatif(delete=["node/b"], drain=["b"])


def test_the_cluster_itself_stays_as_it_was() -> None:
    cluster = cluster_of(A, HIGH, owned("low").cpu("2").running("a"))
    first, second = whatif(cluster, NEW).to_dict(), whatif(cluster, NEW).to_dict()
    assert first == second
    assert cluster.pods["default/low"].spec.node_name == "a"


def test_a_workload_that_is_deleted_and_applied_gets_new_pods() -> None:
    owner = make.replica_set("r").replicas(1).template(make.pod("t").cpu("2"))
    cluster = cluster_of(A, owner, owned("p", owner).cpu("2").running("a"))
    found = whatif(cluster, owner.manifest(), delete=["rs/r"])
    assert [each.pod for each in found.removed] == ["default/p"]
    assert {fate.pod: fate.node_after for fate in found.placed} == {"default/r-new-1": "a"}


def test_a_stateful_set_that_is_deleted_and_applied_gets_pods_of_the_same_names() -> None:
    owner = make.stateful_set("s").replicas(1).template(make.pod("t").cpu("1"))
    cluster = cluster_of(A, B, owner, owned("s-0", owner).cpu("1").running("b"))
    found = whatif(cluster, make.stateful_set("s").replicas(1).template(make.pod("t").cpu("2")), delete=["sts/s"])
    assert {fate.pod: fate.node_after for fate in found.moved} == {"default/s-0": "a"}


@pytest.mark.parametrize("waits", [True, False])
def test_a_pod_that_is_deleted_and_applied_is_another_one(waits: bool) -> None:
    old = make.pod("p").cpu("99") if waits else make.pod("p").cpu("1").running("b")
    found = whatif(cluster_of(A, B, old), make.pod("p").manifest().cpu("2"), delete=["pod/p"])
    assert {fate.pod: fate.node_after for fate in (*found.placed, *found.moved)} == {"default/p": "a"}
