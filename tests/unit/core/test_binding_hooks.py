"""PreBind, Bind and PostBind plugins have their say between the choice of a node and the end of the story."""

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
from bayplan.core.events import BindAnswered, ObjectAdded, ObjectChanged
from bayplan.core.framework.contract import AssumedPod, Wait
from bayplan.core.framework.requeue import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Code, CycleError, Status, unschedulable
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import View
from bayplan.testing.builders import node, pod

SECOND = 10**9


BOUND = (Bind("default/p", "pod-default-p", "n"),)


class Inspector:
    """Says at PreBind what it was told to say."""

    name: ClassVar[str] = "Inspector"

    def __init__(self, says: Status | Exception) -> None:
        self.says = says
        self.asked: list[tuple[str, str]] = []

    def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status:
        self.asked.append((pod.key, placement.node_name))
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Warden:
    """Says at Permit what it was told to say, and waits for a new label on some node."""

    name: ClassVar[str] = "Warden"

    def __init__(self, says: Status | Wait) -> None:
        self.says = says

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:
        return self.says

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)),)


class Herald:
    name: ClassVar[str] = "Herald"

    def post_bind(self, pod: PodInfo, node_name: str) -> Sequence[Action]:
        return [Emit(pod.key, pod.uid, "Normal", "Arrived", "Binding", f"on {node_name}")]


class Elsewhere:
    name: ClassVar[str] = "Elsewhere"

    def bind_target(self, pod: PodInfo, node_name: str) -> str:
        return f"{node_name}-really"


def scheduler_with(**plugins: Any) -> Scheduler:
    profiles = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))
    profile = replace(profiles["default-scheduler"], **plugins)
    scheduler = Scheduler({"default-scheduler": profile}, queue_order(profiles), started_at=0, gates=DEFAULT_GATES)
    scheduler.observe(ObjectAdded(node("n").obj()), 0)
    scheduler.observe(ObjectAdded(pod("p").obj()), 0)
    return scheduler


def test_a_pod_is_bound_when_pre_bind_agrees() -> None:
    inspector = Inspector(SUCCESS)
    decision = scheduler_with(pre_bind=(inspector,)).decide(1)
    assert decision is not None
    assert decision.actions == BOUND
    assert inspector.asked == [("default/p", "n")]


@pytest.mark.parametrize(
    ("says", "outcome", "reason", "message"),
    [
        (unschedulable("not now"), "unschedulable", "Unschedulable", "0/1 nodes are available: 1 not now."),
        (
            Status(Code.ERROR, ("it broke",)),
            "error",
            "SchedulerError",
            'running PreBind plugin "Inspector": it broke',
        ),
        (
            CycleError("Inspector", "it broke"),
            "error",
            "SchedulerError",
            'running PreBind plugin "Inspector": it broke',
        ),
    ],
)
def test_a_pod_that_pre_bind_refuses_goes_back(
    says: Status | Exception, outcome: str, reason: str, message: str
) -> None:
    scheduler = scheduler_with(pre_bind=(Inspector(says),))
    decision = scheduler.decide(1)
    assert decision is not None
    assert (decision.outcome, decision.message) == (outcome, message)
    (condition,) = [action for action in decision.actions if isinstance(action, SetCondition)]
    assert (condition.reason, condition.message) == (reason, message)
    assert not any(isinstance(action, Bind) for action in decision.actions)
    assert "default/p" not in scheduler.cache.pods.rows_by_key, "it holds no room any more"


def test_a_pod_that_pre_bind_refused_is_tried_again_after_its_backoff() -> None:
    """Permit is the last point at which a pod can become unschedulable, and wait for an event."""
    inspector = Inspector(unschedulable("not now"))
    scheduler = scheduler_with(pre_bind=(inspector,))
    scheduler.decide(1)
    inspector.says = SUCCESS
    assert bound_at(scheduler, 2 * SECOND) == BOUND


def test_what_permit_waits_for_wakes_the_pod() -> None:
    """Not every change does: the plugin that refused says which."""
    warden = Warden(unschedulable("not now"))
    scheduler = scheduler_with(permit=(warden,))
    scheduler.decide(1)
    warden.says = SUCCESS
    annotated = node("n").annotations({"a": "1"}).obj()
    scheduler.observe(ObjectChanged(node("n").obj(), annotated), 2)
    assert bound_at(scheduler, 20 * SECOND) == ()
    scheduler.observe(ObjectChanged(annotated, node("n").label("x").obj()), 20 * SECOND)
    assert bound_at(scheduler, 40 * SECOND) == BOUND


def bound_at(scheduler: Scheduler, now: int) -> tuple[Action, ...]:
    decision = scheduler.decide(now)
    return () if decision is None else decision.actions


def test_a_pod_that_somebody_else_binds_is_no_longer_waited_for() -> None:
    scheduler = scheduler_with(permit=(Warden(Wait(10 * SECOND)),))
    decision = scheduler.decide(1)
    assert decision is not None
    assert decision.outcome is Outcome.WAITING
    assert scheduler.wake_at() == 1 + 10 * SECOND
    scheduler.observe(ObjectChanged(pod("p").obj(), pod("p").running("n").obj()), 2)
    assert scheduler.wake_at() is None
    assert scheduler.decide(20 * SECOND) is None
    assert scheduler.cache.stands_on_a_node("default/p")


@pytest.mark.parametrize("watch_first", [True, False])
def test_post_bind_follows_the_answer(watch_first: bool) -> None:
    """Also when the watch has shown the pod on its node before."""
    scheduler = scheduler_with(post_bind=(Herald(),))
    scheduler.decide(1)
    if watch_first:
        scheduler.observe(ObjectChanged(pod("p").obj(), pod("p").node("n").obj()), 2)
    scheduler.observe(BindAnswered("default/p", "pod-default-p"), 3)
    decision = scheduler.decide(4)
    assert decision is not None
    notes = [action.note for action in decision.actions if isinstance(action, Emit)]
    assert notes == ["Successfully assigned default/p to n", "on n"]


def test_post_bind_is_not_asked_after_a_failed_bind() -> None:
    scheduler = scheduler_with(post_bind=(Herald(),))
    scheduler.decide(1)
    scheduler.observe(BindAnswered("default/p", "pod-default-p", "conflict"), 2)
    decision = scheduler.decide(3)
    assert decision is not None
    assert "on n" not in [action.note for action in decision.actions if isinstance(action, Emit)]


def test_the_bind_plugin_names_the_node() -> None:
    decision = scheduler_with(bind=Elsewhere()).decide(1)
    assert decision is not None
    assert decision.actions == (Bind("default/p", "pod-default-p", "n-really"),)
