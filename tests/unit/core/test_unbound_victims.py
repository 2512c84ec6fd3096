"""Victims that have a node but are not bound yet: they lose it in memory, and nothing is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.actions import Action, Bind, Emit, Evict, Nominate, SetCondition
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Decision
from bayplan.core.events import ObjectAdded
from bayplan.core.framework.contract import Wait, WaitingPod
from bayplan.core.framework.verdict import SUCCESS, Status
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import View
from bayplan.testing.builders import node, pod

SECOND = 10**9
NOW = 1_700_000_000 * SECOND


class Patience:
    """Makes pods of priority 0 wait."""

    name: ClassVar[str] = "Patience"

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:
        return SUCCESS if pod.priority else Wait(60 * SECOND)

    def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> dict[str, Status]:
        assert waiting, "nobody is asked about nobody"
        return {one.pod.key: SUCCESS for one in waiting if "urgent" in view.nodes.names}


def patient_scheduler() -> Scheduler:
    profiles = {
        name: replace(profile, permit=(Patience(),))
        for name, profile in build_profiles(load_configuration(None, release=DEFAULT_RELEASE)).items()
    }
    scheduler = Scheduler(profiles, PrioritySort().sort_key, started_at=NOW, gates=DEFAULT_GATES)
    scheduler.observe(ObjectAdded(node("n1").obj()), NOW)
    scheduler.observe(ObjectAdded(pod("victim").cpu("4").obj()), NOW)
    return scheduler


def decided(scheduler: Scheduler, now: int = NOW) -> Decision:
    decision = scheduler.decide(now)
    assert decision is not None
    return decision


def of_kind(actions: tuple[Action, ...], kind: type) -> list[Action]:
    return [action for action in actions if isinstance(action, kind)]


def test_a_pod_that_has_to_wait_is_nominated() -> None:
    decision = decided(patient_scheduler())
    assert (decision.outcome, decision.actions) == ("waiting", (Nominate("default/victim", "n1"),))


def test_a_victim_that_waits_for_permission_is_stopped() -> None:
    scheduler = patient_scheduler()
    decided(scheduler)
    scheduler.observe(ObjectAdded(pod("urgent").cpu("4").priority(10).obj()), NOW)
    decision = decided(scheduler)
    assert (decision.outcome, decision.victims) == ("nominated", ("default/victim",))
    assert not of_kind(decision.actions, Evict)
    conditions = {one.pod: one for one in decision.actions if isinstance(one, SetCondition)}
    stopped = conditions["default/victim"]
    assert (stopped.reason, stopped.message) == ("SchedulerError", "waiting on permit for pod: preempted")
    assert stopped.nominated_node == ""
    told = [one.note for one in decision.actions if isinstance(one, Emit) and one.reason == "Preempted"]
    assert told == ["Preempted by pod pod-default-urgent on node n1 (in kube-scheduler memory)."]


def test_the_preemptor_takes_the_place_at_once_and_the_victim_backs_off() -> None:
    scheduler = patient_scheduler()
    decided(scheduler)
    scheduler.observe(ObjectAdded(pod("urgent").cpu("4").priority(10).obj()), NOW)
    decided(scheduler)
    taken = decided(scheduler)
    assert taken.actions == (Bind("default/urgent", "pod-default-urgent", "n1"),)
    assert [(queued.key, queued.state) for queued in scheduler.queue.queued_pods()] == [
        ("default/victim", PodState.BACKOFF)
    ]
    # Permission that comes late is for nobody.
    scheduler.observe(ObjectAdded(node("urgent").allocatable(pods=0).obj()), NOW)
    assert scheduler.decide(NOW) is None
