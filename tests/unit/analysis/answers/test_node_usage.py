"""Nodes that are fuller or emptier."""

from __future__ import annotations

from tests.support.caches import cache_of

from bayplan.analysis.answers.node_usage import NodeUsage, node_changes
from bayplan.testing import builders as make

A, B = make.node("a").capacity(cpu="4", memory="8Gi"), make.node("b").capacity(cpu="4", memory="8Gi")


def test_only_nodes_with_a_difference_are_named() -> None:
    before = cache_of(A.obj(), B.obj(), make.pod("p").cpu("1").running("a").obj())
    after = cache_of(A.obj(), B.obj(), make.pod("p").cpu("3").running("a").obj())
    (change,) = node_changes(before, after)
    assert change.node == "a"
    assert change.before is not None
    assert change.after is not None
    assert (change.before.share("cpu"), change.after.share("cpu")) == (0.25, 0.75)
    assert (change.before.pods, change.after.pods) == (1, 1)


def test_nodes_come_and_go() -> None:
    changes = list(node_changes(cache_of(A.obj()), cache_of(B.obj())))
    assert [(each.node, each.before is None, each.after is None) for each in changes] == [
        ("a", False, True),
        ("b", True, False),
    ]


def test_a_node_that_only_pods_name_is_none() -> None:
    ghost = cache_of(make.pod("p").running("gone").obj())
    with_node = cache_of(A.obj(), make.pod("p").running("gone").obj())
    assert [change.node for change in node_changes(ghost, with_node)] == ["a"]
    assert list(node_changes(ghost, ghost)) == []


def test_devices_are_counted_where_a_node_has_them() -> None:
    gpu = make.node("a").capacity({"example.com/gpu": 2})
    used = make.pod("p").request({"example.com/gpu": 1}).running("a")
    (change,) = node_changes(cache_of(gpu.obj()), cache_of(gpu.obj(), used.obj()))
    assert change.after is not None
    assert change.after.requested["example.com/gpu"] == 1


def test_what_a_node_does_not_have_is_not_full() -> None:
    assert NodeUsage(0, {"cpu": 5}, {}).share("cpu") == 0.0
