"""What is free, by resource and zone."""

from __future__ import annotations

from bayplan import Cluster
from bayplan.testing import builders as make


def test_pieces_and_what_is_left_of_them() -> None:
    nodes = [
        make.node("a").capacity(cpu="4").zone("east"),
        make.node("b").capacity(cpu="2").zone("west"),
        make.node("closed").capacity(cpu="64").unschedulable(),
    ]
    running = make.pod("x").cpu("1500m").running("a")
    answer = Cluster([*(each.obj() for each in nodes), running.obj()]).capacity(["cpu=1"])
    cpu = [each for each in answer.headroom if each.resource == "cpu"]
    assert [(each.zone, each.nodes, each.allocatable, each.requested, each.free) for each in cpu] == [
        ("", 2, 6000, 1500, 4500),
        ("east", 1, 4000, 1500, 2500),
        ("west", 1, 2000, 0, 2000),
    ]
    assert [(each.largest_free, each.largest_on, each.left) for each in cpu] == [
        (2500, "a", 500),
        (2500, "a", 500),
        (2000, "b", 0),
    ]


def test_a_resource_that_no_node_has() -> None:
    answer = Cluster([make.node("a").obj()]).capacity(["nvidia.com/gpu=1"])
    (gpu,) = [each for each in answer.headroom if each.resource == "nvidia.com/gpu"]
    assert (gpu.allocatable, gpu.free, gpu.largest_free) == (0, 0, 0)
    assert [each.resource for each in answer.headroom] == ["cpu", "memory", "nvidia.com/gpu", "pods"]


def test_more_requested_than_there_is_leaves_nothing() -> None:
    answer = Cluster([make.node("a").capacity(cpu="1").obj(), make.pod("x").cpu("3").running("a").obj()]).capacity(
        ["cpu=1"]
    )
    assert [(each.requested, each.free) for each in answer.headroom if each.resource == "cpu"] == [(3000, 0)]


def test_sums_may_be_larger_than_any_quantity() -> None:
    nodes = [make.node(name).capacity(memory="7Ei").obj() for name in ("a", "b", "c")]
    answer = Cluster([*nodes, *(make.pod(f"on-{name}").memory("5Ei").running(name).obj() for name in "abc")]).capacity(
        [make.pod("more").memory("1Ei").manifest().dict()]
    )
    (memory,) = [each for each in answer.headroom if each.resource == "memory"]
    assert (memory.allocatable, memory.requested, memory.free, memory.left) == (21 << 60, 15 << 60, 6 << 60, 0)
