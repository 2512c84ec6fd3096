"""Random worlds are not dull: whatever their tables offer happens, and whatever the product knows occurs in one.

What the product knows is read from its code, and what occurs from worlds that are lived through. What no simulated
world brings about is listed here with the reason, and must not occur.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import pytest
from tests.random_worlds.character import LATENCIES
from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld

from bayplan.analysis.simulation.inputs.commands import Command
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.actions import Action
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Answer, Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.requeue import KINDS_OF_PODS, ActionType, EnqueueExtensions, EventResource, SleepsUpstream
from bayplan.core.lifecycle import PodState
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.changes import pod_changes
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.snapshot import _PLACES
from bayplan.model.kinds import KINDS
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.worlds.delays import Latencies
from bayplan.worlds.faults import FaultRates

SEEDS = 40
#: Enough for most of what happens, and far less than the rest of a world's time costs.
SECONDS = 40

#: What the core knows and no simulated world brings about.
NOT_DRAWN = {
    "waiting": "plugins of one's own hold pods back; tests/unit/core has some that do",
    "SetGroupCondition": "there are no pod groups; tests/simulation/test_random_groups.py draws worlds with some",
    "PodGroup": "tests/simulation/test_random_groups.py draws worlds with some",
    "Workload": "the scheduler does not look at it; tests/unit/controllers/workloads/test_job_groups.py makes some",
    "incomplete": "there are no pod groups; tests/simulation/test_random_groups.py draws worlds with some",
    "ClaimWriteFailed": "simulated writes that free a claim do not fail; tests/live has some that do",
}
#: The bits of an action one by one.
BITS = [bit for bit in ActionType if bit not in (ActionType.UPDATE, ActionType.ALL)]


class Meter:
    """What happened in some worlds."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.offered: set[str] = set()
        self.drawn: Counter[str] = Counter()
        self.kinds: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.actions: set[str] = set()
        self.events: Counter[tuple[str, str]] = Counter()  # by type, and for objects by kind
        self.cluster_events: Counter[tuple[EventResource, ActionType]] = Counter()
        self.states: set[PodState] = set()
        self.commands: set[str] = set()
        self.faults: set[str] = set()
        self.in_circles = 0
        self._patch(patch)
        for seed in range(SEEDS):
            self._live_through(seed)

    def _patch(self, patch: pytest.MonkeyPatch) -> None:
        move, enter, command = SchedulingQueue.move, QueuedPod.enter, RandomWorld.command

        def counted_move(queue: SchedulingQueue, cluster_event: Any, *args: Any, **named: Any) -> None:
            self.cluster_events[cluster_event.resource, cluster_event.action] += 1
            move(queue, cluster_event, *args, **named)

        def counted_enter(queued: QueuedPod, state: PodState) -> None:
            self.states |= {queued.state, state}
            enter(queued, state)

        def counted_command(world: RandomWorld, given: Command, now: int) -> None:
            self.commands.add(type(given).__name__)
            command(world, given, now)

        patch.setattr(SchedulingQueue, "move", counted_move)
        patch.setattr(QueuedPod, "enter", counted_enter)
        patch.setattr(RandomWorld, "command", counted_command)

    def _live_through(self, seed: int) -> None:
        world = RandomWorld(seed, on_event=self._heard, on_decision=self._decided)
        self.faults |= {each.name for each in fields(FaultRates) if getattr(world.faults, each.name) != each.default}
        log = world.store.watch(since=0, essential=True)
        try:
            world.world.run_until(STARTED_AT + min(SECONDS, world.seconds) * SECOND)
        except GoesInCircles:
            self.in_circles += 1
        self.offered |= world.draw.offered
        self.drawn += world.draw.drawn
        self.kinds |= {change.kind for change in log.read()}

    def _heard(self, event: Event, now: int) -> None:
        obj = event.old if isinstance(event, ObjectRemoved) else getattr(event, "new", None)
        self.events[type(event).__name__, type(obj).__name__ if obj is not None else ""] += 1
        if isinstance(event, ObjectChanged) and isinstance(event.old, Pod) and isinstance(event.new, Pod):
            resource = EventResource.ASSIGNED_POD if event.new.spec.node_name else EventResource.UNSCHEDULED_POD
            self.cluster_events.update(
                (resource, action) for action in pod_changes(event.old, event.new, DEFAULT_GATES)
            )

    def _decided(self, decision: Decision, now: int) -> None:
        self.outcomes[decision.outcome] += 1
        self.actions |= {type(action).__name__ for action in decision.actions}


@pytest.fixture(scope="module")
def meter() -> Iterator[Meter]:
    with pytest.MonkeyPatch.context() as patch:
        yield Meter(patch)


def names_of(union: Any) -> set[str]:
    return {kind.__name__ for kind in get_args(union)}


def test_everything_that_can_be_drawn_is_drawn(meter: Meter) -> None:
    """Every kind, constraint and change of the tables, and every value of a field that has a choice."""
    assert sorted(meter.offered - set(meter.drawn)) == []
    assert len(meter.offered) > 150


def test_every_kind_of_object_is_in_some_world(meter: Meter) -> None:
    assert sorted(set(KINDS) - meter.kinds) == sorted(set(KINDS) & set(NOT_DRAWN))


def test_objects_of_every_kind_that_the_scheduler_hears_of_come_change_and_go(meter: Meter) -> None:
    """Nodes, pods, and what plugins look up."""
    heard = [kind.__name__ for kind in (Node, Pod, *_PLACES) if kind.__name__ in KINDS.keys() - NOT_DRAWN]
    wanted = {(type_.__name__, kind) for type_ in (ObjectAdded, ObjectChanged, ObjectRemoved) for kind in heard}
    assert sorted(wanted - set(meter.events)) == []


def test_everything_that_may_wake_a_pod_happens(meter: Meter) -> None:
    """Whatever a built-in plugin registers for, or names as something that upstream sleeps through."""
    missing = {
        (resource.value, bit.name)
        for resource, action in registered()
        for bit in BITS
        if action & bit and not any(covers(resource, seen) and done & bit for seen, done in meter.cluster_events)
    }
    assert sorted(missing) == []


def registered() -> Iterator[tuple[EventResource, ActionType]]:
    profile = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))["default-scheduler"]
    for plugin in {*profile.pre_enqueue, *profile.pre_filter, *profile.filter, *profile.reserve}:
        hinted = plugin.events_to_register() if isinstance(plugin, EnqueueExtensions) else ()
        slept_through = plugin.events_slept_through() if isinstance(plugin, SleepsUpstream) else ()
        for each in (*hinted, *slept_through):
            yield each.cluster_event.resource, each.cluster_event.action


def covers(wanted: EventResource, seen: EventResource) -> bool:
    return wanted in (seen, EventResource.ANY) or (wanted is EventResource.POD and seen in KINDS_OF_PODS)


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(names_of(Answer), id="answers"),
        pytest.param(names_of(Action), id="actions"),
        pytest.param({state.value for state in PodState}, id="states of pods"),
        pytest.param({outcome.value for outcome in Outcome}, id="outcomes"),
        pytest.param(names_of(Command), id="commands"),
        pytest.param({each.name for each in fields(FaultRates)}, id="faults"),
    ],
)
def test_whatever_the_product_knows_occurs(meter: Meter, known: set[str]) -> None:
    """But for what is listed as not drawn, which does not."""
    states = {state.value for state in meter.states}
    heard = {event for event, _ in meter.events}
    occurred = heard | meter.actions | states | set(meter.outcomes) | meter.commands | meter.faults
    assert sorted(known - occurred) == sorted(known & set(NOT_DRAWN))


def test_every_delay_differs_between_worlds() -> None:
    """Which of them a world has is drawn, and the test of what is drawn sees to it that each is."""
    same = [each.name for each in fields(Latencies) if len({getattr(one, each.name) for one in LATENCIES.values()}) < 2]
    assert same == []


def test_pods_are_placed_refused_and_preempted(meter: Meter) -> None:
    decided = sum(meter.outcomes[outcome] for outcome in ("assumed", "unschedulable", "nominated"))
    assert decided > 50 * SEEDS
    assert meter.outcomes["assumed"] > decided // 20
    assert meter.outcomes["unschedulable"] > decided // 5
    assert meter.outcomes["nominated"] > SEEDS
    assert meter.in_circles < SEEDS // 5, "few worlds end early, because preempting and recreating goes on and on"
