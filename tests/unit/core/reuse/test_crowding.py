"""Crowding: nominated pods count as present, whatever happened since anybody looked, unless they matter less."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.core.reuse.crowding import PUT_OFF_MAX, CrowdedUsage
from bayplan.core.reuse.shape_answers import PRIORITIES_MAX
from bayplan.testing.builders import node, pod

PROFILES = {"default-scheduler": default_profile()}


def cluster() -> Cache:
    cache = cache_of(*(node(name).capacity(cpu=4, memory="8Gi").obj() for name in "abc"))
    cache.nominate(pod("waits").cpu(3).priority(10).obj(), "a")
    cache.nominate(pod("waits-for-a-node").cpu(3).priority(10).obj(), "new")
    return cache


def wanting(cache: Cache, cpu: int = 2, priority: int = 5) -> PodInfo:
    return cache.info(pod(f"p{priority}-{cpu}").cpu(cpu).priority(priority).obj())


def go_and_come_back(cache: Cache) -> None:
    cache.remove_node("a")
    cache.add_node(node("a").capacity(cpu=16).obj())


def nominate_elsewhere(cache: Cache) -> None:
    cache.remove_pod("default/waits")
    cache.nominate(pod("y").cpu(4).priority(5).obj(), "b")


CHANGES: dict[str, Callable[[Cache], object]] = {
    "nothing": lambda cache: cache,
    "a pod comes to a crowded node": lambda cache: cache.add_pod(pod("x").cpu(1).running("a").obj()),
    "a pod comes to another": lambda cache: cache.add_pod(pod("x").cpu(1).running("b").obj()),
    "a pod comes to a node that nobody has seen": lambda cache: cache.add_pod(pod("x").cpu(1).running("d").obj()),
    "a resource is named": lambda cache: cache.nominate(pod("y").request({"example.com/r": 1}).priority(5).obj(), "b"),
    "another is nominated": lambda cache: cache.nominate(pod("y").cpu(1).priority(5).obj(), "b"),
    "one of less importance is nominated": lambda cache: cache.nominate(pod("y").cpu(1).priority(4).obj(), "b"),
    "a second is nominated": lambda cache: cache.nominate(pod("y").cpu(1).priority(5).obj(), "a"),
    "a nomination ends": lambda cache: cache.remove_pod("default/waits"),
    "a nomination ends while another begins": nominate_elsewhere,
    "a node changes": lambda cache: cache.add_node(node("a").capacity(cpu=16).obj()),
    "a node goes": lambda cache: cache.remove_node("a"),
    "a node joins that one waits for": lambda cache: cache.add_node(node("new").capacity(cpu=4, memory="8Gi").obj()),
    "a node is cordoned": lambda cache: cache.add_node(node("a").capacity(cpu=4, memory="8Gi").unschedulable().obj()),
    "a node goes and comes back": go_and_come_back,
}


@pytest.mark.parametrize("change", CHANGES)
def test_crowded_usage_follows_what_happens(change: str) -> None:
    cache = cluster()
    known = CrowdedUsage(wanting(cache), cache.view())
    CHANGES[change](cache)
    assert_followed(known, cache)


def test_a_node_that_is_gone_is_not_crowded() -> None:
    """Though pods are still on it, and one is nominated to it."""
    cache = cluster()
    for name in ("x", "y"):
        cache.add_pod(pod(name).cpu(1).running("a").obj())
    cache.remove_node("a")
    known = CrowdedUsage(wanting(cache), cache.view())
    assert not known.crowded.any()
    cache.remove_pod("default/x")
    assert_followed(known, cache)


def assert_followed(known: CrowdedUsage, cache: Cache) -> None:
    """What is known already is what somebody finds who has never looked before."""
    fresh = CrowdedUsage(wanting(cache), cache.view())
    followed = known if known.follow(cache.view()) else fresh
    assert followed.crowded.tolist() == fresh.crowded.tolist()
    crowded = fresh.crowded
    for column in ("requested", "nonzero_requested", "pod_counts"):
        found, expected = (getattr(it.world.usage, column)[crowded].tolist() for it in (followed, fresh))
        assert found == expected, column


@pytest.mark.parametrize("cpu", [1, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_decisions_are_those_of_a_full_attempt(change: str, cpu: int) -> None:
    """Before a change and after it; the pod takes no room, so that node a would be chosen if it were not crowded."""
    cache = cluster()
    decider, waiting = Decider(PROFILES), wanting(cache, cpu)  # answers last as long as there is a pod like it
    for step in ("nothing", "nothing", change):
        CHANGES[step](cache)
        found = decider.decide(waiting, cache.view())
        expected = Decider(PROFILES, reuse=False).decide(waiting, cache.view())
        assert isinstance(found, Fits)
        assert isinstance(expected, Fits)
        assert (found.row, found.total) == (expected.row, expected.total)
        assert sorted(found.tied_rows.tolist()) == sorted(expected.tied_rows.tolist())


@pytest.mark.parametrize("decisions", [1, 3, PUT_OFF_MAX + 3])
def test_changes_while_nobody_is_nominated_are_not_missed(decisions: int) -> None:
    """Node b fills up meanwhile, and node a becomes free; then pods are nominated to both."""
    cache = cluster()
    decider, waiting = Decider(PROFILES), wanting(cache)
    decider.decide(waiting, cache.view())
    cache.remove_pod("default/waits")
    cache.remove_pod("default/waits-for-a-node")
    for number in range(decisions):
        cache.add_pod(pod(f"x{number}").cpu("50m").running("b").obj())
        decider.decide(waiting, cache.view())
    for name in "ab":
        cache.nominate(pod(f"waits-for-{name}").cpu("1950m").priority(10).obj(), name)
    found = decider.decide(waiting, cache.view())
    expected = Decider(PROFILES, reuse=False).decide(waiting, cache.view())
    assert isinstance(found, Fits)
    assert isinstance(expected, Fits)
    assert sorted(found.tied_rows.tolist()) == sorted(expected.tied_rows.tolist())


def test_a_pod_makes_room_for_none_of_less_importance() -> None:
    cache = cluster()
    decider, waiting = Decider(PROFILES), [wanting(cache, 2, priority) for priority in (10, 11)]
    for _ in range(2):
        rows = [decider.decide(each, cache.view()).row for each in waiting]  # type: ignore[union-attr]
        assert [cache.nodes.names[row] for row in rows] == ["b", "a"]


def test_usages_of_a_few_priorities_are_kept() -> None:
    cache = cluster()
    decider = Decider(PROFILES)
    waiting = [wanting(cache, 1, priority) for priority in range(3 * PRIORITIES_MAX)]
    for each in waiting * 2:
        decider.decide(each, cache.view())
        assert len(decider._crowded) <= PRIORITIES_MAX
    assert decider._crowded
