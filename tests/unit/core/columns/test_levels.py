"""Levels: what the node table says in floats, whatever has happened to it, and when floats are not good enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of

from bayplan.core.cache import Cache
from bayplan.core.columns.levels import EXACT_BELOW, FEW_ROWS, Levels
from bayplan.core.plugins.node_resources_fit import (
    least_allocated,
    least_allocated_by_levels,
    most_allocated,
    most_allocated_by_levels,
)
from bayplan.testing.builders import node, pod

GIBIBYTE = 1 << 30
ALLOWED_PODS = 110  # what nodes say where a test does not


def two_nodes() -> Cache:
    return cache_of(*(node(name).capacity(cpu=4, memory="8Gi").obj() for name in "ab"))


def free_memory(levels: Levels | None) -> list[float]:
    assert levels is not None
    return [float(free) / 100 / GIBIBYTE for free in levels.room[1]]


def test_they_follow_pods_and_nodes() -> None:
    cache = two_nodes()
    levels = Levels(cache.nodes)
    assert free_memory(levels.now()) == [8, 8]
    cache.add_pod(pod("p").memory("3Gi").running("b").obj())
    assert free_memory(levels.now()) == [8, 5]
    cache.remove_pod("default/p")
    cache.add_node(node("a").capacity(cpu=4, memory="16Gi").obj())
    assert free_memory(levels.now()) == [16, 8]
    for number in range(2 * FEW_ROWS):
        cache.add_pod(pod(f"p{number}").memory("128Mi").running("a").obj())
    assert free_memory(levels.now()) == [16 - FEW_ROWS / 4, 8]
    cache.add_node(node("c").capacity(cpu=4, memory="1Gi").obj())
    assert free_memory(levels.now()) == [16 - FEW_ROWS / 4, 8, 1]


def test_what_is_kept_is_worked_out_again_for_rows_that_changed() -> None:
    cache = two_nodes()
    levels = Levels(cache.nodes)
    asked: list[int] = []

    def pods_on(row: int) -> int:
        asked.append(row)
        return cache.nodes.pod_counts.item(row)

    def kept() -> list[int]:
        now = levels.now()
        assert now is not None
        return [
            int(count)
            for count in now.kept("pods", lambda rows: cache.nodes.pod_counts[rows].astype(np.int32), pods_on)
        ]

    assert kept() == [0, 0]
    cache.add_pod(pod("p").running("b").obj())
    assert (kept(), asked) == ([0, 1], [1])
    cache.add_node(node("a").capacity(cpu=1).obj())
    assert (kept(), asked) == ([0, 1], [1, 0])


@pytest.mark.parametrize("changes", [1, FEW_ROWS, FEW_ROWS + 1, 2 * FEW_ROWS, 200])
def test_however_many_rows_have_changed_levels_are_those_of_the_table(changes: int) -> None:
    cache = cache_of(*(node(f"n{number}").capacity(cpu=4, memory="8Gi").obj() for number in range(400)))
    assert cache.nodes.allowed_pods.tolist() == [ALLOWED_PODS] * 400

    def of(levels: Levels) -> list[list[list[float]]]:
        now = levels.now()
        assert now is not None
        kept = now.kept("free cpu", lambda rows: now.free[0, rows].astype(np.int32), lambda row: now.free.item(0, row))
        return [now.used.tolist(), now.free.tolist(), now.room.tolist(), [kept.tolist()]]

    followed = Levels(cache.nodes)
    before = of(followed)
    assert followed.all_have(0, 4_000)
    for number in range(changes):
        cache.add_pod(pod(f"p{number}").cpu("100m").running(f"n{number * 7 % 5}").obj())
    assert of(followed) == of(Levels(cache.nodes)) != before
    least = int(followed.free[0].min())
    assert [followed.all_have(0, amount) for amount in (least, least + 1)] == [True, False]
    room = float(followed.room[0].min())
    assert [followed.all_have_room(0, amount) for amount in (room, room + 1)] == [True, False]
    assert followed.all_admit_a_pod() == (int(cache.nodes.pod_counts.max()) < ALLOWED_PODS)


@pytest.mark.parametrize("too_much", [EXACT_BELOW, EXACT_BELOW - 1])
@pytest.mark.parametrize("whose", ["a node's", "a pod's"])
def test_there_are_none_of_amounts_too_large_for_floats(whose: str, too_much: int) -> None:
    cache = two_nodes()
    levels = Levels(cache.nodes)
    assert levels.now() is not None
    if whose == "a node's":
        cache.add_node(node("a").capacity(cpu=4, memory=too_much).obj())
    else:
        cache.add_pod(pod("p").memory(too_much).running("a").obj())
    assert (levels.now() is None) == (too_much == EXACT_BELOW)


def test_what_is_left_may_be_too_large_for_an_int64() -> None:
    """What pods use turns negative, and what is left with it."""
    cache = cache_of(node("a").capacity(memory=2**63 - 1).obj())
    levels = Levels(cache.nodes)
    levels.now()
    for name in ("one", "two"):
        cache.add_pod(pod(name).memory(str(2**63 - 1)).running("a").obj())
        levels.now()
    assert levels.free[1].tolist() == [-(2**63) + 1]


def test_a_node_that_offers_nothing_of_a_resource_is_noticed() -> None:
    cache = two_nodes()
    levels = Levels(cache.nodes).now()
    assert levels is not None
    assert (levels.all_offer((0, 1)), levels.all_offer((0, 2))) == (True, False)
    cache.remove_node("b")
    levels = levels.now()
    assert levels is not None
    assert levels.all_offer((0, 1))  # nobody is judged by a node that is gone
    cache.add_node(node("b").capacity(cpu=4).allocatable(memory=0).obj())
    levels = levels.now()
    assert levels is not None
    assert (levels.all_offer((0,)), levels.all_offer((0, 1))) == (True, False)


def test_nobody_is_short_by_a_node_that_is_gone() -> None:
    """Neither by one that has left pods behind."""
    cache = cache_of(
        *(node(name).capacity(cpu=4, memory="8Gi").obj() for name in "abc"),
        pod("p").cpu(4).memory("8Gi").running("b").obj(),
    )
    cache.remove_node("b")
    cache.remove_node("c")
    levels = Levels(cache.nodes).now()
    assert levels is not None
    assert levels.all_have(0, 4_000)
    assert levels.all_have_room(0, 400_000.0)
    assert levels.all_admit_a_pod()
    cache.add_node(node("b").capacity(cpu=4, memory="8Gi").obj())
    assert levels.now() is not None
    assert not levels.all_have(0, 1)
    assert not levels.all_have_room(0, 1.0)


@st.composite
def close_to_whole_percentages(draw: st.DrawFn) -> tuple[int, int]:
    """A capacity and a part of it that is just below, at or just above a whole percentage."""
    capacity = draw(st.integers(1, EXACT_BELOW - 1) | st.integers(EXACT_BELOW - 1000, EXACT_BELOW - 1))
    part = capacity * draw(st.integers(0, 100)) // 100 + draw(st.integers(-2, 2))
    return capacity, min(max(part, 0), capacity)


@given(close_to_whole_percentages())
def test_percentages_of_floats_are_those_of_whole_numbers(amounts: tuple[int, int]) -> None:
    capacity, free = amounts
    capacities, needed = np.array([capacity]), np.array([capacity - free])
    for of_whole_numbers, of_floats in (
        (least_allocated, least_allocated_by_levels),
        (most_allocated, most_allocated_by_levels),
    ):
        found = of_floats(capacities.astype(np.float64), np.array([100.0 * free]))
        assert found.astype(np.int32).tolist() == of_whole_numbers(capacities, needed).tolist()
