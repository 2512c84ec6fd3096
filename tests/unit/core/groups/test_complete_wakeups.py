"""Gaps of upstream with groups, as they are by default and cured by `wakeups: complete`."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import RELEASES
from bayplan.core.actions import Evict
from bayplan.core.decision import Outcome
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod, pod_group

CONFIGURATION = load_configuration(None, "GenericWorkload=true", release=RELEASES["1.37"], with_groups=True)
PROFILES = build_profiles(CONFIGURATION)
START = 1_000 * SECOND

NODE = node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()
OTHER = node("m").capacity(cpu="4", memory="8Gi", pods=10).obj()
GANG = pod_group("g").gang(2)
MEMBERS = [pod(name).cpu("3").in_group("g").obj() for name in ("a", "b")]


def scheduler_with(wakeups: Wakeups, *objects: Object) -> Scheduler:
    scheduler = Scheduler(PROFILES, queue_order(PROFILES), started_at=START, gates=CONFIGURATION.gates, wakeups=wakeups)
    for each in objects:
        scheduler.observe(ObjectAdded(each), START)
    return scheduler


def tried_in_vain(scheduler: Scheduler, times: int) -> int:
    """When that was last."""
    now = START + 1
    for _ in range(times):
        now = max(now, scheduler.due_at(now) or now)
        decision = scheduler.decide(now)
        assert decision is not None
        assert decision.outcome is Outcome.UNSCHEDULABLE
    return now


@pytest.mark.parametrize(
    ("wakeups", "happening", "seconds"),
    [
        (Wakeups.UPSTREAM, ObjectAdded(OTHER), 15),
        (Wakeups.COMPLETE, ObjectAdded(OTHER), 2),
        (Wakeups.COMPLETE, ObjectAdded(pod("c").cpu("3").in_group("g").obj()), 2),
        (Wakeups.UPSTREAM, ObjectAdded(pod("c").cpu("3").in_group("g").obj()), 15),
        (Wakeups.COMPLETE, ObjectChanged(GANG.obj(), pod_group("g").gang(1).obj()), 2),
        (Wakeups.UPSTREAM, ObjectChanged(GANG.obj(), pod_group("g").gang(1).obj()), 15),
        (Wakeups.COMPLETE, ObjectAdded(pod_group("another").gang(2).obj()), 15),
    ],
    ids=[
        "node",
        "node, cured",
        "member, cured",
        "member",
        "smaller gang, cured",
        "smaller gang",
        "nothing to do with it",
    ],
)
def test_a_group_waits_for_its_backoff_whatever_helps(wakeups: Wakeups, happening: Event, seconds: int) -> None:
    scheduler = scheduler_with(wakeups, NODE, GANG.obj(), *MEMBERS)
    tried_at = tried_in_vain(scheduler, 6)
    scheduler.observe(happening, tried_at + 1)
    due = scheduler.due_at(tried_at + 1)
    assert due is not None
    assert -(-(due - tried_at) // SECOND) == seconds


@pytest.mark.parametrize(("wakeups", "seconds"), [(Wakeups.UPSTREAM, 0), (Wakeups.COMPLETE, 13)])
def test_it_is_known_how_much_waiting_that_spares(wakeups: Wakeups, seconds: int) -> None:
    scheduler = scheduler_with(wakeups, NODE, GANG.obj(), *MEMBERS)
    tried_at = tried_in_vain(scheduler, 6)
    scheduler.observe(ObjectAdded(OTHER), tried_at + 1)
    now = scheduler.due_at(tried_at + 1)
    assert now is not None
    decision = scheduler.decide(now)
    assert decision is not None
    assert decision.outcome is Outcome.ASSUMED
    assert round(scheduler.queue.figures.spared_ns / SECOND) == seconds


def with_a_stray(wakeups: Wakeups) -> Scheduler:
    """A group that goes as a whole has lost a node, and one of its pods is still said to be there."""
    stray = pod_group("stray").gang(2).disrupted_as_a_whole().obj()
    there = [pod(f"s-{name}").cpu("1").in_group("stray").node(name).obj() for name in ("n", "m")]
    victim = pod("v").cpu("3").priority(-1).node("n").obj()
    preemptor = pod_group("g").gang(1).priority(5).obj()
    member = pod("a").cpu("3").priority(5).in_group("g").obj()
    scheduler = scheduler_with(wakeups, NODE, OTHER, stray, *there, victim)
    scheduler.observe(ObjectRemoved(OTHER), START)
    for each in (preemptor, member):
        scheduler.observe(ObjectAdded(each), START)
    return scheduler


def test_one_pod_on_a_deleted_node_keeps_all_groups_from_preempting() -> None:
    decision = with_a_stray(Wakeups.UPSTREAM).decide(START + 1)
    assert decision is not None
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.members[0].message == (
        'error in "DefaultPreemption" PodGroupPostFilter plugins: pod group preemption: failed to create domain: '
        'failed to get node info for node "m" from snapshot: nodeinfo not found for node name "m"'
    )


def test_which_is_cured_on_request() -> None:
    decision = with_a_stray(Wakeups.COMPLETE).decide(START + 1)
    assert decision is not None
    assert decision.outcome is Outcome.NOMINATED
    assert [action.pod for action in decision.actions if isinstance(action, Evict)] == ["default/v"]


def test_a_single_pod_spares_the_group_with_a_stray_and_takes_others() -> None:
    for wakeups, outcome in ((Wakeups.UPSTREAM, Outcome.UNSCHEDULABLE), (Wakeups.COMPLETE, Outcome.NOMINATED)):
        scheduler = with_a_stray(wakeups)
        scheduler.observe(ObjectAdded(pod("single").cpu("3").priority(9).obj()), START)
        decision = scheduler.decide(START + 1)
        assert decision is not None
        assert (decision.pod, decision.outcome) == ("default/single", outcome)
