"""Placing pods one after another: who is pushed out is gone at once, and what follows sees it."""

from __future__ import annotations

from typing import Any

import pytest

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


def test_a_nomination_that_was_overtaken_is_gone_when_the_pods_turn_comes() -> None:
    """The pod is scored like any other, and does not take that node because it once waited for it."""
    waiting = pod("waiting").cpu("1").priority(50).nominated("b")
    things = [node("a"), node("b"), on("on-a", "4", 200, "a"), on("on-b", "4", 10, "b"), waiting]
    urgent = pod("urgent").cpu("2").priority(100)
    freed = cluster(*things, node("c"), on("on-c", "4", 200, "c"), urgent).place(["default/urgent", "default/waiting"])
    assert [(one.node, one.total is None) for one in freed.decisions] == [("b", True), ("b", False)]


def test_a_pod_that_preemption_looked_for_in_vain_loses_its_nomination() -> None:
    """Room that was kept for it is free for those who come after."""
    waiting = pod("waiting").cpu("2").priority(50).node_selector(disk="none").nominated("n")
    things = [node("n"), on("a", "2", 100), waiting, pod("small").cpu("2").priority(1)]
    assert [one.node for one in cluster(*things).place(["default/small", "default/waiting"]).decisions] == [None, None]
    assert [one.node for one in cluster(*things).place(["default/waiting", "default/small"]).decisions] == [None, "n"]


def test_a_pod_that_may_not_preempt_keeps_its_nomination() -> None:
    """Nobody looked for candidates, so nothing is known against it."""
    waiting = pod("waiting").cpu("2").priority(50).node_selector(disk="none").nominated("n").never_preempts()
    things = [node("n"), on("a", "2", 100), waiting, pod("small").cpu("2").priority(1)]
    assert [one.node for one in cluster(*things).place(["default/waiting", "default/small"]).decisions] == [None, None]


@pytest.mark.parametrize(
    ("waiting", "makes_room"),
    [
        pytest.param(pod("waiting"), False, id="ours"),
        pytest.param(pod("waiting").scheduler("another"), True, id="of-another-scheduler"),
    ],
)
def test_only_pods_in_the_queue_have_a_node_kept_for_them(waiting: PodBuilder, makes_room: bool) -> None:
    """A nomination of any other pod counts for nothing."""
    things = [node("n"), waiting.cpu("4").priority(100).nominated("n"), pod("new").cpu("2")]
    assert (cluster(*things).place(["default/new"]).decisions[0].node == "n") == makes_room
    assert cluster(*things).explain("default/new").fits == makes_room


def test_gated_pods_are_placed_only_when_told_to() -> None:
    """Even if somebody names them."""
    asked = cluster(node("n"), pod("held").gate("later"))
    assert asked.place().decisions == ()
    (held,) = asked.place(["default/held"]).decisions
    assert (held.node, held.message) == (None, "waiting for scheduling gates: [later]")
    assert asked.place(["default/held"], gated=True).decisions[0].node == "n"


def test_policy_never_evicts_nobody() -> None:
    (decision,) = (
        cluster(node("n"), on("a"), pod("new").cpu("2").priority(100).never_preempts()).place(["default/new"]).decisions
    )
    assert (decision.node, decision.victims) == (None, ())
    assert decision.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")
