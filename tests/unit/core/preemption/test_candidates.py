"""The dry run: who would have to go from each node, and in which order pods are put back on trial.

Cases where upstream's bookkeeping differs from counting anew stand here too, as the oracle keeps away from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import tried, tried_in

from bayplan.core.columns import row_array
from bayplan.core.framework.verdict import Status, unresolvable, unschedulable
from bayplan.core.plugins.node_ports import NO_FREE_PORTS
from bayplan.core.plugins.volume_restrictions import CLAIM_IN_USE, DISK_CONFLICT
from bayplan.core.preemption.candidates import FEW_NODES, NO_VICTIMS, find_potential_victims
from bayplan.core.preemption.unstable_order import sorted_like_go
from bayplan.model.storage import CSIPersistentVolumeSource
from bayplan.model.volumes import GCEPersistentDiskVolumeSource, Volume
from bayplan.testing.builders import budget, claim, csi_node, node, pod, volume
from bayplan.testing.pods import PodBuilder

DRIVER = "csi.example.com"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def wanting(cpu: str = "2") -> PodBuilder:
    return pod("wanting").cpu(cpu).priority(1000)


def on(name: str, cpu: str = "2", priority: int = 10, where: str = "n", since: int | None = None) -> PodBuilder:
    return pod(name).cpu(cpu).priority(priority).running(where, since)


def bare(status: Status) -> Status:
    """Without the plugin it came from."""
    return Status(status.code, status.reasons)


# Budgets, and the order of trials.


def guarded_example() -> list[Any]:
    return [
        node("n"),
        on("a", "1", 100).labels(app="x"),
        on("b", "1", 50).labels(app="x"),
        on("c", "2", 10),
        budget("pdb").selects(app="x").allows(1),
    ]


def test_a_pod_whose_budget_is_used_up_is_spared_first() -> None:
    done = tried(wanting("2"), *guarded_example())
    assert done.reprieves == {"n": [("b", True), ("a", True), ("c", False)]}
    assert done.candidates == {"n": ["c"]}
    assert done.violations == {"n": 0}


def test_so_a_more_important_pod_may_go_in_its_place() -> None:
    done = tried(wanting("3"), *guarded_example())
    assert done.reprieves == {"n": [("b", True), ("a", False), ("c", False)]}
    assert done.candidates == {"n": ["a", "c"]}
    assert done.violations == {"n": 0}


def test_violations_are_pods_that_have_to_go() -> None:
    """Victims of both kinds are listed together, the most important first."""
    done = tried(wanting("4"), *guarded_example())
    assert done.reprieves == {"n": [("b", False), ("a", False), ("c", False)]}
    assert done.candidates == {"n": ["a", "b", "c"]}
    assert done.violations == {"n": 1}


ORDERS: dict[str, tuple[list[PodBuilder], list[str]]] = {
    "priority": ([on("low", "1", 1), on("high", "1", 3), on("mid", "1", 2)], ["high", "mid", "low"]),
    "no priority is 0": ([on("neg", "1", -1), pod("none").priority(None).running("n")], ["none", "neg"]),
    "earlier start": ([on("new", since=300), on("old", since=100), on("mid", since=200)], ["old", "mid", "new"]),
    "no start is the latest": ([on("none"), on("new", since=900)], ["new", "none"]),
    "priority before start": ([on("old", priority=1, since=1), on("new", priority=2, since=9)], ["new", "old"]),
    "order of arrival": ([on("b", since=5), on("c", since=5), on("a", since=5)], ["b", "c", "a"]),
}


@pytest.mark.parametrize(("pods", "expected"), ORDERS.values(), ids=ORDERS.keys())
def test_order_of_importance(pods: list[PodBuilder], expected: list[str]) -> None:
    done = tried(wanting("4"), node("n"), *(one.cpu("100m") for one in pods))
    assert [name for name, _ in done.reprieves["n"]] == expected
    assert done.candidates == {"n": expected}


def test_a_pod_that_left_gives_its_place_to_the_last() -> None:
    cache = cache_of(node("n").obj(), *(on(name, "500m", since=7).obj() for name in "abcd"))
    cache.remove_pod("default/b")
    assert tried_in(cache, wanting("4").obj()).candidates == {"n": ["a", "d", "c"]}


def test_sparing_a_big_pod_can_cost_several_small_ones() -> None:
    small = [on(f"small-{number}", "500m", 1) for number in range(4)]
    done = tried(wanting("2"), node("n"), on("big", "2", 5), *small)
    assert done.candidates == {"n": ["small-0", "small-1", "small-2", "small-3"]}


def test_only_what_is_needed_goes() -> None:
    done = tried(wanting("1"), node("n"), on("a", "3"), on("b", "1"))
    assert done.reprieves == {"n": [("a", True), ("b", False)]}
    assert done.candidates == {"n": ["b"]}


@pytest.mark.parametrize("length", [13, 40, 60])
def test_many_equal_pods_stand_as_upstream_sorts_them(length: int) -> None:
    """Beyond twelve pods upstream's order of equal ones is that of its sort, on this node and on no other."""
    starts = [(number * 7) % 3 for number in range(length)]
    many = [on(f"p{number}", "10m", since=1000 + start) for number, start in enumerate(starts)]
    few = [on(f"q{number}", "10m", where="m", since=1) for number in range(3)]
    done = tried(wanting("4"), node("m"), node("n"), *many, *few)
    expected = [f"p{number}" for number in sorted_like_go(range(length), lambda i, j: starts[i] < starts[j])]
    assert done.candidates == {"m": ["q0", "q1", "q2"], "n": expected}
    stable = [f"p{number}" for number in sorted(range(length), key=starts.__getitem__)]
    assert expected != stable, "this case does not show a difference"


def test_victims_of_two_groups_are_sorted_once_more_as_upstream_sorts_them() -> None:
    """Pods that break a budget stand before the others when the victims are sorted."""
    length = 20
    pods = [on(f"p{number}", "10m", since=1).labels(**({"app": "x"} if number % 3 else {})) for number in range(length)]
    done = tried(wanting("4"), node("n"), *pods, budget("pdb").selects(app="x").allows(4))
    tried_first = [name for name, _ in done.reprieves["n"]]
    assert done.candidates == {"n": sorted_like_go(tried_first, lambda one, other: False)}


def test_few_nodes_and_many_are_searched_alike() -> None:
    """One pass over all pods finds what the lists of the nodes say."""
    nodes = [node(f"n{number}").obj() for number in range(FEW_NODES + 6)]
    pods = [
        on(f"p{number}", "10m", priority=number % 3, where=f"n{number % 67}", since=1).obj() for number in range(300)
    ]
    cache = cache_of(*nodes, *pods)
    for number in range(0, 300, 5):
        cache.remove_pod(f"default/p{number}")
    info, view = cache.info(wanting().priority(2).obj()), cache.view()
    rows = row_array(range(view.nodes.count))
    at_once = find_potential_victims(info, view, rows)
    one_by_one = [find_potential_victims(info, view, row_array([row])).pod_rows for row in rows]
    assert at_once.pod_rows.tolist() == np.concatenate(one_by_one).tolist()
    assert (view.pods.priorities[at_once.pod_rows] < 2).all()


# Who may be a victim.


def test_equal_priority_protects() -> None:
    done = tried(wanting(), node("n"), on("a", "4", priority=1000))
    assert done.candidates == {}
    assert done.statuses == {"n": NO_VICTIMS}


def test_nothing_but_priority_protects() -> None:
    """Not policy, not leaving already, not another namespace or scheduler, not an owner."""
    pods = [
        on("never", "1").never_preempts(),
        on("leaving", "1").terminating(),
        pod("foreign", "kube-system").cpu("1").priority(10).running("n").scheduler("other"),
        on("owned", "1").owner("DaemonSet", "logs"),
    ]
    done = tried(wanting("4"), node("n"), *pods)
    assert sorted(done.candidates["n"]) == ["kube-system/foreign", "leaving", "never", "owned"]


def test_finished_and_pending_pods_are_no_victims() -> None:
    done = tried(wanting("4"), node("n"), on("a", "4"), on("over", "4").phase("Failed"), pod("waits").nominated("n"))
    assert done.candidates == {"n": ["a"]}


# Every node in a world of its own.


def test_no_node_sees_what_another_loses() -> None:
    """The pod in the way is on m; making room on n does not move it."""
    blocker = on("blocker", "1", where="m").labels(app="x")
    pending = wanting("1").pod_anti_affinity(ZONE, "app=x")
    done = tried(pending, node("m").zone("a"), node("n").zone("a"), blocker, on("bystander", "1"))
    assert done.candidates == {"m": ["blocker"]}
    assert bare(done.statuses["n"]) == unschedulable("node(s) didn't match pod anti-affinity rules")


def test_a_dry_run_leaves_no_trace() -> None:
    pending = wanting("3").port(80).labels(app="x").spread(ZONE, "app=x", max_skew=2).pod_anti_affinity(HOST, "app=y")
    things: list[Any] = [
        node("n").zone("a"),
        on("a", "1").port(80).labels(app="x"),
        on("b", "3").labels(app="y"),
        pod("waits").cpu("1").port(81).priority(2000).labels(app="x").nominated("n"),
    ]
    cache = cache_of(*(thing.obj() for thing in things))
    first = tried_in(cache, pending.obj())
    usage = cache.view().usage.copy()
    again = tried_in(cache, pending.obj())
    assert first.candidates == again.candidates == {"n": ["a", "b"]}
    assert (usage.requested == cache.view().usage.requested).all()
    assert (usage.pod_counts == cache.view().usage.pod_counts).all()


def test_affinity_to_a_victim_makes_the_node_impossible() -> None:
    done = tried(wanting("2").pod_affinity(HOST, "app=x"), node("n"), on("friend", "3").labels(app="x"))
    assert done.candidates == {}
    assert bare(done.statuses["n"]) == unresolvable("node(s) didn't match pod affinity rules")


def test_the_friend_is_spared_when_there_is_somebody_else() -> None:
    """With the friend gone the pod does not fit, whoever else goes."""
    friend = on("friend", "1", priority=2000).labels(app="x")
    done = tried(wanting("2").pod_affinity(HOST, "app=x"), node("n"), friend, on("other", "3"))
    assert done.candidates == {"n": ["other"]}


# Nominated pods.


def nominee(name: str = "nominee", cpu: str = "2", priority: int = 1000) -> PodBuilder:
    return pod(name).cpu(cpu).priority(priority).nominated("n")


@pytest.mark.parametrize(("priority", "expected"), [(999, ["b"]), (1000, ["a", "b"]), (2000, ["a", "b"])])
def test_nominated_pods_that_are_not_less_important_must_find_room_too(priority: int, expected: list[str]) -> None:
    done = tried(wanting(), node("n"), on("a", priority=11), on("b", priority=10), nominee(priority=priority))
    assert done.candidates == {"n": expected}


def test_its_own_nomination_does_not_stand_in_its_way() -> None:
    done = tried(wanting().nominated("n"), node("n"), on("a", priority=11), on("b"), nominee("wanting"))
    assert done.candidates == {"n": ["b"]}


def test_no_room_for_both() -> None:
    done = tried(wanting("3"), node("n"), on("a", "4"), nominee(cpu="2"))
    assert done.candidates == {}
    assert bare(done.statuses["n"]) == unschedulable("Insufficient cpu")


def test_a_victim_does_not_take_the_port_of_a_nominated_pod_with_it() -> None:
    """The nominated pod waits for the very port that the victim holds, so it will be taken in any case."""
    done = tried(wanting("1").port(80), node("n"), on("holder", "1").port(80), nominee(cpu="1", priority=2000).port(80))
    assert done.candidates == {}
    assert bare(done.statuses["n"]) == unschedulable(NO_FREE_PORTS)


def test_affinity_needs_a_friend_without_the_nominated_pods_too() -> None:
    """A nominated friend may never come."""
    done = tried(wanting("1").pod_affinity(HOST, "app=x"), node("n"), on("a", "4"), nominee(cpu="1").labels(app="x"))
    assert bare(done.statuses["n"]) == unresolvable("node(s) didn't match pod affinity rules")


# Where upstream's bookkeeping differs from counting anew.


def test_held_ports_are_a_set() -> None:
    """Two pods hold the port; with the lesser one gone it looks free."""
    pods = [on("master", "1", priority=5000).port(80), on("slave", "1").port(80)]
    assert tried(wanting("1").port(80), node("n"), *pods).candidates == {"n": ["slave"]}


def test_spread_a_terminating_pod_counts_when_it_goes() -> None:
    """It was never counted, so taking it away makes the domain look emptier than it is."""
    pods = [on("stays", "1", 5000).labels(app="x"), on("leaving", "1").labels(app="x").terminating()]
    pending = wanting("1").labels(app="x").spread(ZONE, "app=x")
    done = tried(pending, node("n").zone("a"), node("m").zone("b").taint("gpu"), *pods)
    assert done.candidates == {"n": ["leaving"]}


def test_spread_the_emptiest_domain_may_be_the_node_s_own() -> None:
    """With the nominated pod there are two on n and three in the other zone: the least is two."""
    pods = [on("x", "1", 5000).labels(app="x"), on("filler", "3")]
    others = [pod(f"far-{number}").labels(app="x").running("far") for number in range(3)]
    pending = wanting("1").labels(app="x").spread(ZONE, "app=x")
    nodes = [node("n").zone("a"), node("far").zone("b").taint("gpu")]
    done = tried(pending, *nodes, *pods, *others, nominee(cpu="1").labels(app="x"))
    assert done.candidates == {"n": ["filler"]}


@pytest.mark.parametrize("somebody_minds", [False, True])
def test_affinity_skipped_at_first_stays_skipped(somebody_minds: bool) -> None:
    """A nominated pod that wants no `app=x` beside it is heard only if somebody who runs wants the same."""
    things: list[Any] = [node("n").zone("a"), on("v", "4"), nominee().pod_anti_affinity(ZONE, "app=x")]
    things += [node("far").zone("b").taint("gpu")]
    if somebody_minds:
        things += [pod("minds").running("far").pod_anti_affinity(ZONE, "app=x")]
    done = tried(wanting().labels(app="x"), *things)
    if somebody_minds:
        reason = "node(s) didn't satisfy existing pods anti-affinity rules"
        assert {name: bare(status) for name, status in done.statuses.items()} == {"n": unschedulable(reason)}
    else:
        assert done.candidates == {"n": ["v"]}


# Volumes.


def exclusive(name: str = "data", namespace: str = "default") -> list[Any]:
    made = claim(name, namespace).modes("ReadWriteOncePod").bound(f"pv-{namespace}-{name}")
    return [made, volume(f"pv-{namespace}-{name}").modes("ReadWriteOncePod").bound_to(made)]


def test_an_exclusive_claim_is_freed_where_its_user_runs() -> None:
    things = [node("n"), node("m"), on("user", "1").claim("data"), on("other", "1", where="m"), *exclusive()]
    done = tried(wanting("1").claim("data"), *things)
    assert done.candidates == {"n": ["user"]}
    assert bare(done.statuses["m"]) == unschedulable(CLAIM_IN_USE)


def test_claims_of_other_namespaces_are_not_told_apart_when_pods_go() -> None:
    """Upstream compares names only: a stranger's pod seems to free the claim."""
    stranger = pod("stranger", "other").cpu("1").priority(10).running("m").claim("data")
    things = [
        node("n"),
        node("m"),
        on("user", "1", 5000).claim("data"),
        stranger,
        *exclusive(),
        *exclusive("data", "other"),
    ]
    done = tried(wanting("1").claim("data"), *things)
    assert done.candidates == {"m": ["other/stranger"]}
    assert done.statuses == {"n": NO_VICTIMS}


def test_a_claim_nobody_used_at_first_is_free_for_good() -> None:
    """The plugin was skipped, so a nominated pod that wants the claim is not seen."""
    done = tried(wanting("2").claim("data"), node("n"), on("v", "4"), nominee().claim("data"), *exclusive())
    assert done.candidates == {"n": ["v"]}


def disk(name: str, *, read_only: bool = False) -> Volume:
    return Volume(name=name, gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only))


def test_an_inline_disk_is_freed() -> None:
    pods = [on("reads", "1").volume(disk("d", read_only=True)), on("writes", "1").volume(disk("d"))]
    done = tried(wanting("1").volume(disk("d", read_only=True)), node("n"), *pods)
    assert done.candidates == {"n": ["writes"]}
    assert done.record["candidates"][0]["reprieves"][1]["reasons"] == [DISK_CONFLICT]


def csi_volumes(*names: str) -> list[Any]:
    claims = {name: claim(name).bound(f"pv-{name}") for name in names}
    sources = {name: CSIPersistentVolumeSource(driver=DRIVER, volume_handle=name) for name in names}
    volumes = [volume(f"pv-{name}").set(csi=sources[name]).bound_to(claims[name]) for name in names]
    return [*claims.values(), *volumes]


def test_volume_limits_count_shared_volumes_once() -> None:
    """Two pods share a volume: one of them alone frees nothing."""
    pods = [on("one", "1", 30).claim("s"), on("two", "1", 20).claim("s"), on("three", "1", 10).claim("t")]
    things = [node("n"), csi_node("n").driver(DRIVER, count=2), *csi_volumes("s", "t", "new"), *pods]
    done = tried(wanting("1").claim("new"), *things)
    assert done.reprieves == {"n": [("one", True), ("two", True), ("three", False)]}
    assert done.candidates == {"n": ["three"]}
