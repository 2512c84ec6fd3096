"""Groups placed in the order of the queue, without a clock."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.testing.test_group_stories import gang, node, pod

from bayplan import Cluster

GATES = {"GenericWorkload": True}


def placed(*objects: dict[str, Any]) -> list[tuple[str, str | None, tuple[str, ...]]]:
    cluster = Cluster.from_objects(objects, kubernetes_version="1.37")
    placement = cluster.place(feature_gates=GATES)
    return [(each.pod.partition("/")[2], each.node, each.victims) for each in placement.decisions]


def test_a_gang_is_placed_whole_or_not_at_all() -> None:
    gangs = (gang("small", 2), gang("large", 3))
    small = [pod(f"s{number}", "small", cpu="2") for number in range(2)]
    large = [pod(f"l{number}", "large", cpu="2") for number in range(3)]
    assert placed(node("a"), *gangs, *large, *small) == [
        ("l0", None, ()),
        ("l1", None, ()),
        ("l2", None, ()),
        ("s0", "a", ()),
        ("s1", "a", ()),
    ]


def test_groups_and_pods_take_turns_by_priority_then_age() -> None:
    """The group counts, not its pods: the young member comes with the old one, before the pod between them."""
    order = placed(
        node("a", cpu="9"),
        gang("g", 2),
        gang("h", 1, priority=5),
        pod("g1", "g"),
        pod("between"),
        pod("g2", "g"),
        pod("h1", "h", priority=5),
    )
    assert [name for name, _, _ in order] == ["h1", "g1", "g2", "between"]


def test_a_group_takes_the_place_of_its_victims() -> None:
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    assert placed(node("a"), pod("low", cpu="3", on="a"), gang("g", 2, priority=5), *members) == [
        ("x", "a", ("default/low",)),
        ("y", "a", ()),
    ]


def test_the_rest_of_a_group_is_tried_again() -> None:
    """What fits is placed first, then pods have to go for the rest."""
    members = [pod(name, "g", cpu="2", priority=5) for name in ("x", "y")]
    assert placed(node("a"), pod("low", cpu="2", on="a"), gang("g", 1, priority=5), *members) == [
        ("x", "a", ()),
        ("y", "a", ("default/low",)),
    ]


def test_a_single_pod_evicts_a_group_as_a_whole() -> None:
    whole = gang("g", 2)
    whole["spec"]["disruptionMode"] = {"all": {}}
    running = [pod("x", "g", cpu="3", on="a"), pod("y", "g", cpu="3", on="b")]
    assert placed(node("a"), node("b"), whole, *running, pod("high", cpu="2", priority=5)) == [
        ("high", "a", ("default/x", "default/y")),
    ]


def test_members_that_are_held_back_hold_back_the_others() -> None:
    assert placed(node("a"), gang("g", 2), pod("x", "g")) == [("x", None, ())]
    assert placed(node("a"), pod("x", "missing")) == [("x", None, ())]
    gated = pod("y", "g")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    cluster = Cluster.from_objects([node("a"), gang("g", 1), pod("x", "g"), gated], kubernetes_version="1.37")
    assert set(cluster.queue(feature_gates=GATES).gated) == {"default/x", "default/y"}


def test_groups_need_a_version_that_has_them() -> None:
    cluster = Cluster.from_objects([node("a")], kubernetes_version="1.36")
    with pytest.raises(ValueError, match="GenericWorkload=true is not supported"):
        cluster.place(feature_gates=GATES)
