"""Groups that cannot work as they are: they are told so in upstream's words, and no pod is lost."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import RELEASES
from bayplan.core.actions import Bind, SetCondition, SetGroupCondition
from bayplan.core.decision import Decision
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing import builders as make

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
PROFILES = build_profiles(CONFIGURATION)
NOW = 1_000 * SECOND
NODE = make.node("n").capacity(cpu="8", memory="8Gi", pods=10).obj()


def scheduler_with(*objects: Object) -> Scheduler:
    scheduler = Scheduler(PROFILES, queue_order(PROFILES), started_at=NOW, gates=CONFIGURATION.gates)
    for each in objects:
        scheduler.observe(ObjectAdded(each), NOW)
    return scheduler


def members(count: int, priority: int = 0) -> list[Object]:
    return [make.pod(f"p{number}").cpu("1").priority(priority).in_group("g").obj() for number in range(count)]


def places(scheduler: Scheduler) -> dict[str, PodState]:
    return {queued.key: queued.state for queued in scheduler.queue.resting.values()}


def messages(decision: Decision) -> set[str]:
    return {each.message for each in decision.actions if isinstance(each, SetCondition | SetGroupCondition)}


def bound_in(scheduler: Scheduler, at: int = NOW + 60 * SECOND) -> list[str]:
    """Whatever is bound from now on, once backoffs are over."""
    bound: list[str] = []
    while (decision := scheduler.decide(at)) is not None and len(bound) < 10:
        bound += [each.pod for each in decision.actions if isinstance(each, Bind)]
    return sorted(bound)


def test_a_gang_that_needs_more_pods_than_it_has_waits_for_them() -> None:
    """Nobody is tried; the pod that was missing brings all of them in, and so does a smaller need."""
    scheduler = scheduler_with(NODE, make.pod_group("g").gang(3).obj(), *members(2))
    assert scheduler.decide(NOW + 1) is None
    assert places(scheduler) == {"default/p0": PodState.GATED, "default/p1": PodState.GATED}
    scheduler.observe(ObjectAdded(make.pod("p2").cpu("1").in_group("g").obj()), NOW + 2)
    assert bound_in(scheduler) == ["default/p0", "default/p1", "default/p2"]
    waiting, group = scheduler_with(NODE, make.pod_group("g").gang(3).obj(), *members(2)), make.pod_group("g").gang(3)
    smaller = make.pod_group("g").gang(2).obj()
    waiting.observe(ObjectChanged(group.obj(), smaller), NOW + 2)
    assert bound_in(waiting) == ["default/p0", "default/p1"]


def test_pods_of_another_priority_than_their_group_are_told_so_until_it_agrees() -> None:
    group = make.pod_group("g").gang(2).priority(5).obj()
    scheduler = scheduler_with(NODE, group, *members(2))
    decision = scheduler.decide(NOW + 1)
    assert decision is not None
    words = "all pods in a single pod group should have the same priority as the pod group's priority, got 0 and 5"
    assert messages(decision) == {words}
    assert places(scheduler) == {"default/p0": PodState.BACKOFF, "default/p1": PodState.BACKOFF}
    agreeing = replace(group, spec=replace(group.spec, priority=0))
    scheduler.observe(ObjectChanged(group, agreeing), NOW + 2)
    assert bound_in(scheduler) == ["default/p0", "default/p1"]


def test_pods_without_their_group_are_bound_once_it_comes() -> None:
    scheduler = scheduler_with(NODE, *members(2))
    assert scheduler.decide(NOW + 1) is None
    assert places(scheduler) == {"default/p0": PodState.INCOMPLETE, "default/p1": PodState.INCOMPLETE}
    scheduler.observe(ObjectAdded(make.pod_group("g").gang(2).obj()), NOW + 2)
    assert bound_in(scheduler) == ["default/p0", "default/p1"]


def test_pods_whose_group_goes_wait_for_another_of_that_name() -> None:
    group = make.pod_group("g").gang(2).obj()
    scheduler = scheduler_with(NODE, group, *members(2))
    scheduler.observe(ObjectRemoved(group), NOW + 1)
    assert scheduler.decide(NOW + 2) is None
    scheduler.observe(ObjectAdded(make.pod_group("g").gang(2).obj()), NOW + 3)
    assert bound_in(scheduler) == ["default/p0", "default/p1"]


@pytest.mark.parametrize("min_count", [2, 3])
def test_members_on_a_node_that_is_gone_count_for_their_gang(min_count: int) -> None:
    """As upstream counts them: until the pod itself is deleted, it is one of those that have a node."""
    stray = make.pod("old").cpu("1").in_group("g").node("gone").obj()
    scheduler = scheduler_with(NODE, make.pod_group("g").gang(min_count).obj(), stray, *members(2))
    assert bound_in(scheduler) == ["default/p0", "default/p1"]


def test_a_group_under_a_group_of_groups_stands_alone() -> None:
    """CompositePodGroup is off, so upstream never sees the field either."""
    group = make.pod_group("g").gang(2).obj()
    group.spec.parent_composite_pod_group_name = "g"
    assert bound_in(scheduler_with(NODE, group, *members(2))) == ["default/p0", "default/p1"]


def test_an_error_is_waited_out_as_the_first_one_however_often_the_group_was_rejected() -> None:
    """After two rejections comes an error: its penalty is a second, and not the four of a third rejection."""
    large = [make.pod(f"p{number}").cpu("9").in_group("g").obj() for number in range(2)]
    scheduler = scheduler_with(NODE, make.pod_group("g").gang(2).obj(), *large)
    assert scheduler.decide(NOW) is not None
    assert scheduler.decide(NOW + 3 * SECOND) is not None
    scheduler.observe(ObjectAdded(make.pod("other").priority(5).in_group("g").node("n").obj()), NOW + 10 * SECOND)
    failed = scheduler.decide(NOW + 10 * SECOND)
    assert failed is not None
    assert "should have the same priority" in failed.message
    assert scheduler.decide(NOW + 12 * SECOND) is not None
