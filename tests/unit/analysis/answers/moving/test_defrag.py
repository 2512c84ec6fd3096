"""Making room for a pod: which pods move, in which order, and which never do."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan import Cluster
from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.stock import LEAVE_ALONE
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

SECONDS = 5.0
A, B, C = (make.node(name).capacity(cpu="4") for name in "abc")


def app(name: str, cpu: str, node: str) -> PodBuilder:
    return owned(name).labels(app=name).cpu(cpu).running(node)


def room_for(wanted: str, *things: Builder[Any], **rest: Any) -> Defrag:
    return cluster_of(*things).defrag(wanted, seconds=SECONDS, **rest)


def moves(found: Defrag) -> list[tuple[str, str, str]]:
    return [(step.pod.removeprefix("default/"), step.source, step.node) for step in found.steps or ()]


def test_one_pod_makes_room() -> None:
    found = room_for("cpu=3", A, B, app("p", "1", "a"), app("q", "2", "a"), app("r", "2", "b"))
    assert moves(found) == [("q", "a", "b")] or moves(found) == [("r", "b", "a")]
    assert (found.works, found.is_proven, found.bound) == (True, True, 1)


def test_the_fewest_pods_move() -> None:
    small = [app(f"s{number}", "1", "a") for number in range(2)]
    found = room_for("cpu=4", A, B, C, *small, app("large", "3", "b"), app("two", "2", "c"))
    assert (moves(found), found.is_proven) == ([("two", "c", "a")], True)


def test_a_pod_makes_room_for_another_that_makes_room() -> None:
    """The pods that are in the way on a fit only on b, where q is in the way; q can go to c, where they may not."""
    ssd = {"disk": "ssd"}
    a, b = deepcopy(A).label("disk", "ssd"), deepcopy(B).label("disk", "ssd")
    pods = (app("p", "3", "a").node_selector(ssd), app("q", "2", "b"), make.pod("bare").cpu("1").running("b"))
    wanted = make.pod("wanted").cpu("4").node_selector(ssd)
    found = room_for("wanted", a, b, make.node("c").capacity(cpu="2"), *pods, wanted)
    assert (moves(found), found.is_proven) == ([("q", "b", "c"), ("p", "a", "b")], True)
    assert found.steps is not None
    assert found.steps[0].cordoned[0] == "b"


def test_a_pending_pod_gets_the_room() -> None:
    found = room_for("big", A, B, app("p", "2", "a"), app("q", "2", "b"), make.pod("big").cpu("4"))
    assert (len(moves(found)), found.is_new, found.pod) == (1, False, "default/big")


def test_nothing_moves_for_a_pod_that_fits() -> None:
    found = room_for("cpu=2", A, B, app("p", "4", "a"))
    assert (found.runs_on, found.steps, found.works) == ("b", None, True)


def test_a_new_pod_need_not_evict_what_can_move() -> None:
    found = room_for("cpu=4", A, B, app("p", "2", "a").priority(-5), app("q", "2", "b").priority(-5))
    assert len(moves(found)) == 1
    assert len(found.evicts) == 1


def test_a_pending_pod_that_can_preempt_does_not_wait_for_moves() -> None:
    low = [app(name, "2", node).priority(1) for name, node in (("p", "a"), ("q", "b"))]
    found = room_for("big", A, B, *low, make.pod("big").cpu("4").priority(5))
    assert (found.steps, found.evicts) == (None, ("default/p",))


@pytest.mark.parametrize(
    "stays",
    [
        make.pod("p").cpu("2").running("a"),
        make.pod("p").owner(make.daemon_set("d")).cpu("2").running("a"),
        make.pod("p").owner(make.job("j")).cpu("2").running("a"),
        app("p", "2", "a").terminating(),
        *(app("p", "2", "a").annotations({name: value}) for name, value in LEAVE_ALONE.items()),
    ],
)
def test_pods_that_are_not_moved(stays: PodBuilder) -> None:
    found = room_for("cpu=4", A, B, stays, make.pod("bare").cpu("2").running("b"))
    assert (found.works, found.bound) == (False, None)
    assert sum(found.fixed.values()) == 2


def test_a_budget_keeps_a_pod_where_it_is() -> None:
    bare = make.pod("bare").cpu("2").running("b")
    budget = make.budget("p").selects(app="p")
    assert room_for("cpu=4", A, B, bare, app("p", "2", "a"), budget.allows(1)).works
    assert not room_for("cpu=4", A, B, bare, app("p", "2", "a"), budget.allows(0)).works


def test_a_sibling_is_not_moved() -> None:
    web = make.deployment("web")
    one = make.pod("web-1").owner(web).cpu("2").running("a")
    two = make.pod("web-2").owner(web).cpu("4")
    bare = make.pod("bare").cpu("2").running("b")
    found = room_for("web-2", A, B, web, one, two, bare)
    assert (found.works, found.bound) == (False, None)


def test_what_a_solver_does_not_know_is_found_out() -> None:
    """By resources p could go to b, where its anti-affinity forbids it; c is left."""
    apart = app("p", "1", "a").labels(app="web").pod_anti_affinity("kubernetes.io/hostname", {"app": "web"})
    there = app("q", "1", "b").labels(app="web").pod_anti_affinity("kubernetes.io/hostname", {"app": "web"})
    nodes = [deepcopy(node).label("kubernetes.io/hostname", node.obj().metadata.name) for node in (A, B)]
    third = make.node("c").capacity(cpu="1").label("kubernetes.io/hostname", "c")
    found = room_for("cpu=4", *nodes, third, apart, there)
    assert found.works
    assert moves(found) in ([("p", "a", "c")], [("q", "b", "c")])


def test_too_many_moves() -> None:
    small = [app(f"{node}{number}", "1", node) for node in "ab" for number in range(2)]
    found = room_for("cpu=4", A, B, *small, max_moves=1)
    assert (found.works, found.bound, found.max_moves) == (False, 2, 1)


def test_room_that_a_pod_ahead_takes_is_no_room() -> None:
    things = (A, B, app("p", "2", "a"), app("q", "2", "b"), make.pod("ahead").cpu("3").priority(9).never_preempts())
    found = room_for("cpu=4", *things)
    assert not found.works
    assert "default/pod-1 still gets no node: default/ahead is ahead of it and takes the room" in found.failures


def test_nothing_that_could_be_moved_is_enough() -> None:
    found = room_for("cpu=5", A, B, app("p", "1", "a"))
    assert (found.works, found.bound) == (False, None)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("p", "Pod default/p: runs on a already, so it needs no room"),
        ("nobody", "Pod default/nobody: not found in the input"),
        ("cpu=x", "cpu"),
        ("nowhere.yaml", "nowhere.yaml"),
        ("gated", "Pod default/gated: is not tried, so room would not help"),
        ("foreign", "foreign"),
    ],
)
def test_what_room_cannot_be_made_for(wanted: str, message: str) -> None:
    things = (A, app("p", "1", "a"), make.pod("gated").gate("wait"), make.pod("foreign").scheduler("other"))
    with pytest.raises((InvalidObject, OSError), match=message):
        room_for(wanted, *things)


def test_the_document_has_every_move() -> None:
    found = room_for("cpu=4", A, B, app("p", "2", "a"), app("q", "2", "b"))
    document = found.to_dict()
    assert document["moves"] == [
        {
            "pod": "default/p",
            "from": "a",
            "to": "b",
            "priority": 0,
            "owner": "replicaset/somebody",
            "cordoned": [],
        }
    ]
    assert (document["proven"], document["atLeast"], document["node"], document["cordoned"]) == (True, 1, "a", "a")


def test_a_dump_without_pods_of_its_own_is_fine() -> None:
    assert Cluster([deepcopy(A.obj())]).defrag("cpu=1", seconds=SECONDS).runs_on == "a"


def test_moves_that_would_have_to_wait_for_each_other_are_no_answer() -> None:
    """Only if q and r changed places, p would have room; neither can go first."""
    swapping = {"pool": "swapping"}
    found = room_for(
        "big",
        make.node("a").capacity(cpu="4").labels(swapping),
        make.node("b").capacity(cpu="3").labels(swapping),
        make.node("c").capacity(cpu="4").labels(pool="c"),
        app("p", "2", "c"),
        app("q", "3", "a").node_selector(swapping),
        app("r", "2", "b").node_selector(swapping),
        make.pod("big").cpu("4").node_selector(pool="c"),
    )
    assert not found.works
    assert found.failures["some moves would have to wait for each other"]


def test_a_resource_that_no_node_has() -> None:
    found = room_for("example.com/fpga=1", A, app("p", "1", "a"))
    assert (found.works, found.bound) == (False, None)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("done", "Pod default/done: has finished .Succeeded., so it needs no room"),
        ("p", "Pod default/p: runs on a already"),
        ("cpu=-1", "--for: cpu: -1 is negative"),
        ("cpu=1e40", "--for: cpu: 1e40 is more than any machine has"),
        ("=", "--for: '=': expected a file, or requests"),
    ],
)
def test_who_needs_no_room_or_asks_for_nonsense(wanted: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        room_for(wanted, A, app("p", "1", "a"), make.pod("done").phase("Succeeded"))
