"""Units: what is evicted as a whole, how important it is, and which budgets that breaks."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import RELEASES
from bayplan.core.cache import Cache
from bayplan.core.groups.member import Member
from bayplan.core.groups.single import PodAttempt, attempt_pod
from bayplan.core.preemption.units import Unit, order_of_reprieve, units_on
from bayplan.model.kinds import Object
from bayplan.testing.builders import budget, node, pod, pod_group

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
PROFILE = build_profiles(CONFIGURATION)["default-scheduler"]
NODES = [node(name).capacity(cpu="4", memory="8Gi", pods=10).obj() for name in ("m", "n")]


def cache_with(*objects: Object) -> Cache:
    cache = Cache(CONFIGURATION.gates)
    for obj in (*NODES, *objects):
        cache.add(obj)
    return cache


def units(cache: Cache) -> list[Unit]:
    view = cache.view()
    return sorted(units_on(view, [view.nodes.rows_by_name[name] for name in ("m", "n")]), key=lambda unit: unit.order)


def names(cache: Cache, unit: Unit) -> list[str]:
    return [cache.pods.keys[row].removeprefix("default/") for row in unit.pod_rows]


def members(name: str, priority: int = 0) -> list[Object]:
    """One on each node."""
    return [pod(f"{name}{at}").cpu("1").priority(priority).in_group(name).node(at).obj() for at in ("m", "n")]


@pytest.mark.parametrize(("whole", "expected"), [(True, [["gm", "gn"]]), (False, [["gm"], ["gn"]])])
def test_a_group_goes_as_a_whole_or_pod_by_pod(whole: bool, expected: list[list[str]]) -> None:
    group = pod_group("g")
    cache = cache_with((group.disrupted_as_a_whole() if whole else group).obj(), *members("g"))
    assert [names(cache, unit) for unit in units(cache)] == expected


@pytest.mark.parametrize("whole", [True, False])
def test_the_priority_of_the_group_counts_whatever_its_pods_say(whole: bool) -> None:
    group = pod_group("g").priority(7)
    cache = cache_with((group.disrupted_as_a_whole() if whole else group).obj(), *members("g", priority=3))
    assert {unit.priority for unit in units(cache)} == {7}


def test_without_their_group_pods_have_their_own_priority() -> None:
    cache = cache_with(*members("g", priority=3))
    assert [(names(cache, unit), unit.priority) for unit in units(cache)] == [(["gm"], 3), (["gn"], 3)]


def test_groups_are_more_important_than_pods_and_large_ones_more_than_small_ones() -> None:
    small = pod_group("small").disrupted_as_a_whole().obj()
    large = pod_group("large").disrupted_as_a_whole().obj()
    one, single = pod("small-m").in_group("small").node("m").obj(), pod("a").node("m").obj()
    cache = cache_with(small, large, one, single, *members("large"))
    assert [names(cache, unit) for unit in units(cache)] == [["largem", "largen"], ["small-m"], ["a"]]


def test_units_that_break_budgets_are_put_back_first_and_each_of_their_pods_counts() -> None:
    group = pod_group("g").disrupted_as_a_whole().obj()
    guarded = [pod(f"g{at}").labels(app="x").in_group("g").node(at).obj() for at in ("m", "n")]
    important = pod("important").priority(9).node("m").obj()
    cache = cache_with(group, *guarded, important, budget("guard").selects(app="x").allows(0).obj())
    ordered, broken = order_of_reprieve(cache.view(), units(cache))
    assert [names(cache, unit) for unit in ordered] == [["gm", "gn"], ["important"]]
    assert [broken.violations(unit) for unit in ordered] == [2, 0]


def preempting(priority: int) -> PodAttempt:
    """A pod that needs a whole node, where a group of priority 5 is, as a whole, with pods of priority 0."""
    group = pod_group("g").priority(5).disrupted_as_a_whole().obj()
    cache = cache_with(group, *members("g"))
    made = pod("x").cpu("4").priority(priority).obj()
    return attempt_pod(cache, PROFILE, Member(made, cache.info(made)))


def test_a_single_pod_evicts_a_less_important_group_on_all_its_nodes() -> None:
    assert preempting(6).evicted == ["default/gm", "default/gn"]


def test_a_single_pod_evicts_no_group_that_is_as_important() -> None:
    assert preempting(5).evicted == []
