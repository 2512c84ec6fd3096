"""A scheduler that holds preemptions back: what it says, when it tries again, and that it never turns in circles."""

from __future__ import annotations

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.own_settings import with_settings
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Emit, Evict
from bayplan.core.decision import Decision
from bayplan.core.events import EvictAnswered, ObjectAdded, ObjectRemoved
from bayplan.core.preemption.guard import BUDGET, LOOP, NAMESPACE_BUDGET
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.core.scheduler import Scheduler
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

NOW = 1_700_000_000 * SECOND


def victim(name: str, where: str, namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).cpu("4").node(where)


class Stage:
    """A scheduler with as many full nodes as there are victims; evicted pods leave at once."""

    def __init__(self, *victims: PodBuilder, **limits: object) -> None:
        safety = with_settings(UPSTREAM, limits)
        configuration = load_configuration(None, safety=safety, release=DEFAULT_RELEASE)
        self.scheduler: Scheduler = build_scheduler(configuration, started_at=NOW)
        self.now = NOW
        self.running: dict[str, Pod] = {}
        for one in victims:
            self.scheduler.observe(ObjectAdded(node(one.obj().spec.node_name).obj()), NOW)
            self.run(one)

    def run(self, one: PodBuilder) -> None:
        built = one.obj()
        self.running[f"{built.metadata.namespace}/{built.metadata.name}"] = built
        self.scheduler.observe(ObjectAdded(built), self.now)

    def preemptor(self, name: str, priority: int = 10) -> None:
        self.scheduler.observe(ObjectAdded(pod(name).cpu("4").priority(priority).obj()), self.now)

    def decide(self) -> Decision | None:
        decision = self.scheduler.decide(self.now)
        for action in decision.actions if decision is not None else ():
            if isinstance(action, Evict):
                self.scheduler.observe(EvictAnswered(action.pod, action.uid), self.now)
                self.scheduler.observe(ObjectRemoved(self.running.pop(action.pod)), self.now)
        return decision

    def decide_all(self) -> list[str]:
        """What is decided now, until there is nothing to do; a hundred would be endless."""
        decided: list[str] = []
        for _ in range(100):
            decision = self.decide()
            if decision is None:
                return decided
            decided.append(f"{decision.pod.removeprefix('default/')} {decision.outcome}")
        raise AssertionError(f"it goes round in circles: {decided[-10:]}")

    def sleep(self) -> int:
        """Until the scheduler wants to be asked; how long that was, in seconds."""
        due = self.scheduler.due_at(self.now)
        assert due is not None
        slept, self.now = due - self.now, due
        return slept // SECOND


def stage_with_two(**limits: object) -> Stage:
    """Two full nodes and two preemptors."""
    stage = Stage(victim("v1", "n1"), victim("v2", "n2", "web"), **limits)
    stage.preemptor("a")
    stage.preemptor("b")
    return stage


def test_the_second_eviction_of_a_minute_waits() -> None:
    stage = stage_with_two(evictions_per_minute=1)
    assert stage.decide_all() == ["a nominated", "b unschedulable", "a assumed"]
    assert stage.scheduler.guard.waiting == 1
    assert stage.sleep() == 60
    assert stage.decide_all() == ["b nominated", "b assumed"]
    assert stage.scheduler.guard.waiting == 0
    assert stage.scheduler.guard.figures.evictions == 2


def test_it_says_so() -> None:
    stage = stage_with_two(evictions_per_minute=1)
    stage.decide()
    held = stage.decide()
    assert held is not None
    assert held.message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: withheld: evictions are limited to 1 a minute."
    )
    notes = [(action.reason, action.note) for action in held.actions if isinstance(action, Emit)]
    assert notes == [
        ("FailedScheduling", held.message),
        ("EvictionBudgetExhausted", "Preemption has to wait: evictions are limited to 1 a minute"),
    ]
    assert stage.scheduler.guard.figures.withheld == {BUDGET: 1}


def test_a_namespace_has_a_budget_of_its_own() -> None:
    stage = Stage(victim("v1", "n1", "web"), victim("v2", "n2", "web"), evictions_per_minute_per_namespace=1)
    stage.preemptor("a")
    stage.preemptor("b")
    assert stage.decide_all() == ["a nominated", "b unschedulable", "a assumed"]
    assert stage.scheduler.guard.figures.withheld == {NAMESPACE_BUDGET: 1}
    other = stage_with_two(evictions_per_minute_per_namespace=1)
    assert other.decide_all() == ["a nominated", "b nominated", "a assumed", "b assumed"]


def test_more_victims_than_a_minute_allows_are_never_evicted() -> None:
    """Nothing is worth waiting for then, but a change in the cluster."""
    stage = Stage(victim("v1", "n1").cpu("2"), evictions_per_minute=1)
    stage.run(victim("v2", "n1").cpu("2"))
    stage.preemptor("a")
    held = stage.decide()
    assert held is not None
    assert held.message.endswith("preemption: withheld: evictions are limited to 1 a minute, and it takes 2.")
    assert stage.scheduler.guard.due_at() is None
    stage.scheduler.observe(ObjectRemoved(stage.running["default/v1"]), stage.now + 5 * SECOND)
    stage.now += 20 * SECOND
    assert stage.decide_all() == ["a nominated", "a assumed"]


def test_who_waits_is_served_by_priority() -> None:
    stage = Stage(*(victim(f"v{number}", f"n{number}") for number in range(4)), evictions_per_minute=1)
    for number, priority in enumerate((1, 9, 5, 7)):
        stage.preemptor(f"p{number}", priority)
    order = [decision.split()[0] for decision in stage.decide_all() if decision.endswith("assumed")]
    for _ in range(3):
        assert stage.sleep() == 60
        order += [decision.split()[0] for decision in stage.decide_all() if decision.endswith("assumed")]
    assert order == ["p1", "p3", "p2", "p0"]


@pytest.mark.parametrize("how", ["deleted", "bound by somebody else"])
def test_a_preemptor_that_is_gone_waits_no_longer(how: str) -> None:
    stage = stage_with_two(evictions_per_minute=1)
    stage.decide_all()
    waiting = pod("b").cpu("4").priority(10)
    if how == "deleted":
        stage.scheduler.observe(ObjectRemoved(waiting.obj()), stage.now)
    else:
        stage.scheduler.observe(ObjectAdded(waiting.node("n2").obj()), stage.now)
    assert stage.scheduler.guard.waiting == 0
    assert stage.scheduler.guard.due_at() is None


def test_room_that_comes_earlier_is_taken_without_an_eviction() -> None:
    stage = stage_with_two(evictions_per_minute=1)
    stage.decide_all()
    stage.now += 20 * SECOND
    stage.scheduler.observe(ObjectAdded(node("n3").obj()), stage.now)
    assert stage.decide_all() == ["b assumed"]
    assert stage.scheduler.guard.waiting == 0
    assert stage.scheduler.guard.due_at() is None


def test_a_loop_of_evicting_and_recreating_is_paused() -> None:
    """Somebody binds the recreated pod to the node each time before the preemptor gets there."""
    stage = Stage(victim("low", "n1").owner("ReplicaSet", "low"), preemption_loop_rounds=2)
    stage.preemptor("a")
    evicted, held = 0, None
    for number in range(20):
        decision = stage.decide()
        if decision is None:
            break
        if decision.outcome == "nominated":
            evicted += 1
            stage.now += 20 * SECOND
            stage.run(victim(f"low-{number}", "n1").owner("ReplicaSet", "low"))
        else:
            held = decision
    assert evicted == 2
    assert held is not None
    assert held.message.endswith(
        "preemption: withheld: pods of ReplicaSet default/low are recreated as often as they are evicted for "
        "Pod default/a."
    )
    notes = [action.note for action in held.actions if isinstance(action, Emit) and action.reason == "PreemptionPaused"]
    assert notes == [
        "Preemption of pods of ReplicaSet default/low for Pod default/a is paused for 60 s: they are recreated as "
        "often as evicted"
    ]
    figures = stage.scheduler.guard.figures
    assert (figures.withheld, figures.loops, stage.scheduler.guard.paused_pairs(stage.now)) == ({LOOP: 1}, 1, 1)
    assert stage.sleep() == 60
    assert stage.decide_all()[0] == "a nominated", "one more try after the pause"


def test_an_eviction_that_somebody_waits_for_already_costs_nothing() -> None:
    """Two preemptors of one victim: the second orders nothing, so it need not be allowed anything."""
    stage = Stage(victim("v1", "n1"), evictions_per_minute=1)
    stage.preemptor("a")
    first = stage.scheduler.decide(stage.now)
    assert first is not None
    assert first.outcome == "nominated"
    stage.preemptor("b", priority=20)
    second = stage.scheduler.decide(stage.now)
    assert second is not None
    assert second.outcome == "nominated"
    assert not any(isinstance(action, Evict) for action in second.actions)
