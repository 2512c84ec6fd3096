"""Permit plugins answer the pods that wait for them; PreBind plugins wait for objects, and not for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.actions import Action, Bind, Emit, SetCondition
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Outcome
from bayplan.core.events import BindAnswered, ObjectAdded, ObjectRemoved
from bayplan.core.framework.contract import (
    AssumedPod,
    Pending,
    Wait,
    WaitingPod,
)
from bayplan.core.framework.verdict import SUCCESS, Status, unschedulable
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import View
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod, service

SECOND = 10**9


class Pairs:
    """Pods go two by two; a pod named alone is rejected once it has company."""

    name: ClassVar[str] = "Pairs"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:
        return SUCCESS if len(view.nodes.pod_rows[node_row]) > 1 else Wait(30 * SECOND)

    def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> dict[str, Status]:
        self.asked.append([one.pod.name for one in waiting])
        together = [one for one in waiting if len(view.nodes.pod_rows[one.node_row]) > 1]
        return {one.pod.key: unschedulable("alone") if one.pod.name == "alone" else SUCCESS for one in together}


class Waits:
    """Waits until there is a service of the pod's name."""

    name: ClassVar[str] = "Waits"

    def __init__(self, name: str = "Waits", **more: Any) -> None:
        self.name = name  # type: ignore[misc]
        self.more = more
        self.asked: list[AssumedPod] = []

    def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status | Pending:
        self.asked.append(placement)
        if (pod.namespace, pod.name) in view.objects.services:
            return SUCCESS
        return Pending(**{"until": placement.asked_at + 30 * SECOND, "kinds": frozenset({"Service"}), **self.more})


def scheduler_with(*pods: Pod, **plugins: Any) -> Scheduler:
    profiles = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))
    profile = replace(profiles["default-scheduler"], **plugins)
    scheduler = Scheduler({"default-scheduler": profile}, queue_order(profiles), started_at=0, gates=DEFAULT_GATES)
    scheduler.observe(ObjectAdded(node("n").obj()), 0)
    for each in pods or (pod("p").obj(),):
        scheduler.observe(ObjectAdded(each), 0)
    return scheduler


def actions_of(scheduler: Scheduler, now: int) -> list[Action]:
    """Everything that there is to do at this time."""
    actions: list[Action] = []
    while (decision := scheduler.decide(now)) is not None:
        actions += decision.actions
    return actions


def bound(actions: Sequence[Action]) -> list[str]:
    return [action.pod.partition("/")[2] for action in actions if isinstance(action, Bind)]


def refusals(actions: Sequence[Action]) -> list[str]:
    return [action.message for action in actions if isinstance(action, SetCondition)]


# ---------------------------------------------------------------- Permit


def test_the_second_pod_lets_the_first_go() -> None:
    scheduler = scheduler_with(permit=(Pairs(),))
    assert bound(actions_of(scheduler, 1)) == []
    scheduler.observe(ObjectAdded(pod("q").obj()), 2)
    assert bound(actions_of(scheduler, 2)) == ["q", "p"]
    assert scheduler.wake_at() is None


def test_a_scheduler_with_an_answer_to_ask_for_is_due_at_once() -> None:
    scheduler = scheduler_with(permit=(Pairs(),))
    decision = scheduler.decide(1)
    assert decision is not None
    assert decision.outcome is Outcome.WAITING
    assert actions_of(scheduler, 1) == []
    assert scheduler.due_at(1) == 1 + 30 * SECOND
    scheduler.observe(ObjectAdded(pod("elsewhere").node("n").obj()), 2)
    assert scheduler.due_at(2) == 2
    assert bound(actions_of(scheduler, 2)) == ["p"]


def test_a_plugin_is_asked_only_when_something_has_happened() -> None:
    pairs = Pairs()
    scheduler = scheduler_with(permit=(pairs,))
    actions_of(scheduler, 1)
    actions_of(scheduler, 2)
    assert pairs.asked == [["p"]]


def test_a_plugin_can_reject_a_pod_that_waits() -> None:
    scheduler = scheduler_with(pod("alone").obj(), permit=(Pairs(),))
    actions_of(scheduler, 1)
    scheduler.observe(ObjectAdded(pod("elsewhere").node("n").obj()), 2)
    assert refusals(actions_of(scheduler, 2)) == ["0/1 nodes are available: 1 alone."]


def test_every_plugin_that_holds_a_pod_back_must_let_it_go() -> None:
    class Patience(Pairs):
        name: ClassVar[str] = "Patience"

        def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> dict[str, Status]:
            return {one.pod.key: SUCCESS for one in waiting if view.objects.services}

    scheduler = scheduler_with(permit=(Pairs(), Patience()))
    actions_of(scheduler, 1)
    scheduler.observe(ObjectAdded(pod("elsewhere").node("n").obj()), 2)
    assert bound(actions_of(scheduler, 2)) == []
    scheduler.observe(ObjectAdded(service("s").obj()), 3)
    assert bound(actions_of(scheduler, 3)) == ["p"]


def test_who_is_not_let_go_is_rejected_in_time() -> None:
    scheduler = scheduler_with(permit=(Pairs(),))
    actions_of(scheduler, 1)
    (refusal,) = refusals(actions_of(scheduler, 1 + 30 * SECOND))
    assert refusal == "0/1 nodes are available: 1 rejected due to timeout after waiting at plugin Pairs."


# ---------------------------------------------------------------- PreBind


def test_a_pod_is_bound_when_the_object_comes() -> None:
    waits = Waits()
    scheduler = scheduler_with(pre_bind=(waits,))
    assert bound(actions_of(scheduler, 1)) == []
    assert scheduler.cache.stands_on_a_node("default/p"), "its room is kept"
    assert scheduler.wake_at() == 1 + 30 * SECOND
    scheduler.observe(ObjectAdded(service("other").obj()), 2)
    assert bound(actions_of(scheduler, 2)) == []
    scheduler.observe(ObjectAdded(service("p").obj()), 3)
    assert bound(actions_of(scheduler, 3)) == ["p"]
    assert [(it.asked_at, it.times_asked, it.now) for it in waits.asked] == [(1, 0, 1), (1, 1, 2), (1, 2, 3)]
    assert scheduler.wake_at() is None


def test_a_plugin_is_not_asked_about_kinds_that_it_does_not_name() -> None:
    waits = Waits()
    scheduler = scheduler_with(pre_bind=(waits,))
    actions_of(scheduler, 1)
    scheduler.observe(ObjectAdded(pod("q").node("n").obj()), 2)
    scheduler.observe(ObjectAdded(node("m").obj()), 2)
    assert len(waits.asked) == 1


@pytest.mark.parametrize("kind", ["Pod", "Node"])
def test_pods_and_nodes_can_be_waited_for(kind: str) -> None:
    waits = Waits(kinds=frozenset({kind}))
    scheduler = scheduler_with(pre_bind=(waits,))
    actions_of(scheduler, 1)
    come = pod("q").node("n").obj() if kind == "Pod" else node("m").obj()
    scheduler.observe(ObjectAdded(come), 2)
    scheduler.observe(ObjectRemoved(come), 3)
    assert [placement.now for placement in waits.asked] == [1, 2, 3]


def test_plugins_wait_one_after_another() -> None:
    first, second = Waits("First"), Waits("Second", until=90 * SECOND)
    scheduler = scheduler_with(pre_bind=(first, second))
    actions_of(scheduler, 1)
    assert second.asked == []
    scheduler.observe(ObjectAdded(service("p").obj()), 2)
    assert bound(actions_of(scheduler, 2)) == ["p"]
    assert [len(it.asked) for it in (first, second)] == [2, 1]


def test_a_pod_that_waits_too_long_loses_its_node() -> None:
    scheduler = scheduler_with(pre_bind=(Waits(),))
    actions_of(scheduler, 1)
    (refusal,) = refusals(actions_of(scheduler, 1 + 30 * SECOND))
    assert refusal == 'running PreBind plugin "Waits": context deadline exceeded'
    assert not scheduler.cache.stands_on_a_node("default/p")


def test_a_plugin_is_asked_when_it_wants_to_look() -> None:
    waits = Waits(look_at=6 * SECOND, until=30 * SECOND)
    scheduler = scheduler_with(pre_bind=(waits,))
    actions_of(scheduler, 1)
    assert scheduler.wake_at() == 6 * SECOND


def test_a_plugin_may_say_that_a_wait_begins() -> None:
    said = Emit("default/p", "pod-default-p", "Normal", "Waiting", "Binding", "for a service")
    scheduler = scheduler_with(pre_bind=(Waits(actions=(said,)),))
    assert said in actions_of(scheduler, 1)


def test_a_victim_that_waits_before_it_is_bound_is_stopped() -> None:
    scheduler = scheduler_with(pod("p").cpu("4").obj(), pre_bind=(Waits(),))
    actions_of(scheduler, 1)
    scheduler.observe(ObjectAdded(pod("urgent").cpu("4").priority(10).obj()), 2)
    assert 'running PreBind plugin "Waits": preempted by DefaultPreemption' in refusals(actions_of(scheduler, 2))


def test_what_was_written_is_taken_back() -> None:
    class Keeps(Waits):
        def reserve(self, pod: PodInfo, view: View, node_row: int) -> Sequence[Any]:
            return ()

        def unreserve(self, pod: PodInfo, view: View, placement: AssumedPod) -> Sequence[Action]:
            return [Emit(pod.key, pod.uid, "Normal", "GivenBack", "Binding", placement.node_name)]

    keeps = Keeps()
    scheduler = scheduler_with(reserve=(keeps,), pre_bind=(keeps,))
    actions_of(scheduler, 1)
    given_up = actions_of(scheduler, 1 + 30 * SECOND)
    assert [action.note for action in given_up if isinstance(action, Emit) and action.reason == "GivenBack"] == ["n"]


def test_a_failed_binding_takes_back_what_was_written() -> None:
    class Keeps(Waits):
        def reserve(self, pod: PodInfo, view: View, node_row: int) -> Sequence[Any]:
            return ()

        def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status:
            return SUCCESS

        def unreserve(self, pod: PodInfo, view: View, placement: AssumedPod) -> Sequence[Action]:
            return [Emit(pod.key, pod.uid, "Normal", "GivenBack", "Binding", "")]

    keeps = Keeps()
    scheduler = scheduler_with(reserve=(keeps,), pre_bind=(keeps,))
    assert bound(actions_of(scheduler, 1)) == ["p"]
    scheduler.observe(BindAnswered("default/p", "pod-default-p", "conflict"), 2)
    assert "GivenBack" in [action.reason for action in actions_of(scheduler, 2) if isinstance(action, Emit)]
