"""Attempts are counted when their result is known, and timed up to then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest
from tests.support.metered_scheduler import MILLISECOND, SECOND, Watched

from bayplan.core.actions import Bind, Evict
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.events import BindAnswered, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.framework.contract import Wait, WaitingPod
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import ClusterEventWithHint
from bayplan.core.framework.verdict import SUCCESS, Status, unschedulable
from bayplan.core.snapshot import View
from bayplan.testing.builders import node, pod

N = node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()
RESULTS = "scheduler_schedule_attempts_total"
DURATIONS = "scheduler_scheduling_attempt_duration_seconds_sum"
OURS = "default-scheduler"


class Porter:
    """Makes every pod wait at Permit for ten seconds at most, or until a node of a certain name comes."""

    name: ClassVar[str] = "Porter"

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Wait:
        return Wait(10 * SECOND)

    def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> dict[str, Status]:
        says = {"yes": SUCCESS, "no": unschedulable("no")}
        answers = [says[name] for name in view.nodes.names if name in says]
        return {one.pod.key: answer for one in waiting for answer in answers}

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return ()


def with_porter(profile: Profile) -> Profile:
    return replace(profile, permit=(Porter(),))


def bind_of(watched: Watched) -> Bind:
    decision = watched.decide()
    assert decision is not None
    (action,) = decision.actions
    assert isinstance(action, Bind)
    return action


def test_a_pod_is_scheduled_when_the_api_server_says_so() -> None:
    watched = Watched(N, pod("p").cpu("1").obj())
    bind = bind_of(watched)
    assert watched.samples(RESULTS) == {}
    watched.wrote(bind, took_ns=7 * MILLISECOND)
    assert watched.samples(RESULTS) == {("scheduled", OURS): 1}
    assert watched.samples(DURATIONS) == {("scheduled", OURS): 0.007}
    assert watched.samples("scheduler_pod_scheduling_attempts_sum") == {(): 1}
    assert watched.samples("scheduler_pod_scheduling_sli_duration_seconds_sum") == {("1",): 0.007}
    assert watched.samples("scheduler_scheduling_algorithm_duration_seconds_count") == {(): 1}


def test_a_pod_that_fits_nowhere_is_unschedulable_at_once() -> None:
    watched = Watched(N, pod("p").cpu("9").obj())
    watched.decide(took_ns=3 * MILLISECOND)
    assert watched.samples(RESULTS) == {("unschedulable", OURS): 1}
    assert watched.samples(DURATIONS) == {("unschedulable", OURS): 0.003}
    assert watched.samples("scheduler_preemption_attempts_total") == {(): 1}


def test_without_nodes_preemption_is_not_asked() -> None:
    watched = Watched(pod("p").obj())
    watched.run()
    assert watched.samples(RESULTS) == {("unschedulable", OURS): 1}
    assert watched.samples("scheduler_preemption_attempts_total") == {(): 0}


def test_a_refused_binding_is_an_error() -> None:
    watched = Watched(N, pod("p").cpu("1").obj())
    watched.wrote(bind_of(watched), error="conflict")
    watched.decide()  # the condition on the pod
    assert watched.samples(RESULTS) == {("error", OURS): 1}
    assert watched.samples("scheduler_pod_scheduling_attempts_count") == {(): 0}


def test_a_binding_that_is_asked_for_again_is_one_attempt() -> None:
    watched = Watched(N, pod("p").cpu("1").obj())
    bind = bind_of(watched)
    watched.see(BindAnswered(bind.pod, bind.uid, "timed out", lost=True))
    assert watched.samples(RESULTS) == {}
    watched.run()
    assert watched.samples(RESULTS) == {("scheduled", OURS): 1}


def test_a_pod_seen_on_its_node_is_scheduled_whatever_became_of_the_answer() -> None:
    waiting = pod("p").cpu("1")
    watched = Watched(N, waiting.obj())
    bind = bind_of(watched)
    watched.see(ObjectChanged(waiting.obj(), waiting.node("n").obj()))
    watched.see(BindAnswered(bind.pod, bind.uid, "timed out", lost=True))
    assert watched.samples(RESULTS) == {("scheduled", OURS): 1}


def test_a_pod_deleted_on_its_way_has_no_result() -> None:
    waiting = pod("p").cpu("1").obj()
    watched = Watched(N, waiting)
    bind = bind_of(watched)
    watched.see(ObjectRemoved(waiting))
    watched.see(BindAnswered(bind.pod, bind.uid))
    assert watched.samples(RESULTS) == {}


def test_the_pod_s_wait_counts_from_its_first_entry_into_the_queue() -> None:
    watched = Watched(N, pod("p").cpu("9").obj())
    watched.run()
    watched.now += 4 * SECOND
    watched.see(ObjectAdded(node("large").capacity(cpu="16", memory="8Gi", pods=10).obj()))
    watched.run()
    ((attempts, seconds),) = watched.samples("scheduler_pod_scheduling_sli_duration_seconds_sum").items()
    assert attempts == ("2",)
    assert seconds > 4
    assert watched.samples("scheduler_pod_scheduled_after_flush_total") == {(): 0}


def test_a_pod_that_nothing_but_its_age_brought_back_is_counted() -> None:
    watched = Watched(N, pod("p").cpu("9").obj())
    watched.run()
    watched.scheduler.cache.add_node(node("large").capacity(cpu="16", memory="8Gi", pods=10).obj())  # nobody was told
    watched.now += 400 * SECOND
    watched.run()
    assert watched.samples("scheduler_pod_scheduled_after_flush_total") == {(): 1}


@pytest.mark.parametrize(
    ("allowed", "waited", "result"),
    [(True, "Success", "scheduled"), (False, "Unschedulable", "unschedulable")],
)
def test_the_wait_at_permit_is_timed(*, allowed: bool, waited: str, result: str) -> None:
    watched = Watched(N, pod("p").cpu("1").obj(), change=with_porter)
    watched.decide()
    watched.now += 2 * SECOND
    watched.see(ObjectAdded(node("yes" if allowed else "no").obj()))
    decision = watched.decide()
    assert decision is not None
    for action in decision.actions:
        watched.wrote(action)
    assert watched.samples("scheduler_permit_wait_duration_seconds_sum") == {(waited,): 2}
    assert watched.samples(RESULTS) == {(result, OURS): 1}


@pytest.mark.parametrize(("error", "result"), [("", "success"), ("no", "error")])
def test_a_preemption_lasts_until_all_victims_are_answered_for(error: str, result: str) -> None:
    victims = [pod(f"v{number}").cpu("2").node("n").obj() for number in range(2)]
    watched = Watched(N, *victims, pod("p").cpu("4").priority(10).obj())
    decision = watched.decide()
    assert decision is not None
    first, second = (action for action in decision.actions if isinstance(action, Evict))
    watched.wrote(first, error, took_ns=20 * MILLISECOND)
    assert watched.samples("scheduler_preemption_goroutines_execution_total") == {}
    watched.wrote(second, took_ns=30 * MILLISECOND)
    assert watched.samples("scheduler_preemption_goroutines_execution_total") == {(result,): 1}
    assert watched.samples("scheduler_preemption_goroutines_duration_seconds_sum") == {(result,): 0.05}
    assert watched.samples("scheduler_preemption_victims_sum") == {(): 2}
    assert watched.samples("scheduler_preemption_attempts_total") == {(): 1}
