"""Placing pods one after another: who is pushed out is gone at once, and what follows sees it."""

from __future__ import annotations

from typing import Any

from bayplan import Cluster
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder


def cluster(*things: Any) -> Cluster:
    return Cluster.from_objects([thing.dict() for thing in things])


def on(name: str, cpu: str = "4", priority: int = 10, where: str = "n") -> PodBuilder:
    return pod(name).cpu(cpu).priority(priority).running(where)


def test_the_pod_takes_the_place_of_its_victims() -> None:
    before = cluster(node("n"), on("a", "2", 20), on("b", "2", 10), pod("new").cpu("2").priority(100))
    placement = before.place(["default/new"])
    (decision,) = placement.decisions
    assert (decision.node, decision.victims, decision.total) == ("n", ("default/b",), None)
    assert sorted(before.after(placement).pods) == ["default/a", "default/new"]


def test_of_equal_candidates_the_first_name_is_taken() -> None:
    nodes = [node(name) for name in ("c", "a", "b")]
    pods = [on(f"on-{name}", where=name) for name in ("c", "a", "b")]
    (decision,) = cluster(*nodes, *pods, pod("new").cpu("2").priority(100)).place(["default/new"]).decisions
    assert decision.tied == ("a", "b", "c")
    assert decision.victims == ("default/on-a",)


def test_a_pod_placed_before_may_have_to_go_again() -> None:
    """In the end it is nowhere."""
    new = [pod("first").cpu("3").priority(10), pod("second").cpu("3").priority(20)]
    before = cluster(node("n"), *new)
    placement = before.place(["default/first", "default/second"])
    assert [(one.node, one.victims) for one in placement.decisions] == [("n", ()), ("n", ("default/first",))]
    assert {key: one.spec.node_name for key, one in before.after(placement).pods.items()} == {"default/second": "n"}


def test_nominations_that_are_overtaken_end() -> None:
    """The waiting pod held the room before; now it has to make do with what is left."""
    waiting = pod("waiting").cpu("2").priority(50).nominated("n")
    new = [pod("urgent").cpu("4").priority(100), pod("small").cpu("0").priority(1)]
    placed = cluster(node("n"), on("a"), waiting, *new).place(["default/urgent", "default/small", "default/waiting"])
    assert [one.node for one in placed.decisions] == ["n", "n", None]


def test_policy_never_evicts_nobody() -> None:
    (decision,) = (
        cluster(node("n"), on("a"), pod("new").cpu("2").priority(100).never_preempts()).place(["default/new"]).decisions
    )
    assert (decision.node, decision.victims) == (None, ())
    assert decision.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")
