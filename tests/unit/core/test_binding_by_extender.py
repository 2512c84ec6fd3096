"""Bindings that an extender is asked for: by whom, with which words they fail, and what is done then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest
from tests.support.extenders import Scripted
from tests.support.preemption_attempts import default_profile

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.actions import Bind, Emit, SetCondition
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.events import BindAnswered, ObjectAdded
from bayplan.core.framework.extender import FilterAnswer
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.scheduler import Scheduler
from bayplan.testing.builders import node, pod

SECOND = 10**9
URL = "http://extender/"
BOUND = Bind("default/p", "pod-default-p", "n")
BY_EXTENDER = Bind("default/p", "pod-default-p", "n", URL)


class Elsewhere:
    name: ClassVar[str] = "Elsewhere"

    def bind_target(self, pod: PodInfo, node_name: str) -> str:
        return f"{node_name}-really"


def scheduler_with(*extenders: Scripted, **plugins: Any) -> Scheduler:
    profile = replace(default_profile(), extenders=extenders, **plugins)
    scheduler = Scheduler({"default-scheduler": profile}, PrioritySort().sort_key, started_at=0, gates=DEFAULT_GATES)
    scheduler.observe(ObjectAdded(node("n").obj()), 0)
    scheduler.observe(ObjectAdded(pod("p").obj()), 0)
    return scheduler


def actions(scheduler: Scheduler, now: int) -> tuple[Any, ...]:
    decision = scheduler.decide(now)
    return () if decision is None else decision.actions


def answered(scheduler: Scheduler, error: str = "", *, lost: bool = False) -> tuple[Any, ...]:
    scheduler.observe(BindAnswered("default/p", "pod-default-p", error, lost), 2)
    return actions(scheduler, 3)


@pytest.mark.parametrize(
    ("extenders", "binding"),
    [
        ((Scripted(binds=True),), BY_EXTENDER),
        ((Scripted(binds=True, interest=lambda _: False),), BOUND),
        ((Scripted(None, {}),), BOUND),
        ((Scripted(None, {}, name="http://other"), Scripted(binds=True)), BY_EXTENDER),
    ],
)
def test_an_interested_extender_that_binds_is_asked(extenders: tuple[Scripted, ...], binding: Bind) -> None:
    assert actions(scheduler_with(*extenders), 1) == (binding,)


def test_what_it_says_is_believed() -> None:
    scheduler = scheduler_with(Scripted(binds=True))
    scheduler.decide(1)
    (event,) = answered(scheduler)
    assert isinstance(event, Emit)
    assert (event.reason, event.note) == ("Scheduled", "Successfully assigned default/p to n")
    assert "default/p" in scheduler.cache.pods.rows_by_key


@pytest.mark.parametrize("lost", [False, True])
def test_its_error_is_shown_as_it_is_and_the_pod_is_tried_after_its_backoff(lost: bool) -> None:
    """A lost answer is not asked for again: nobody knows what that would mean to an extender."""
    scheduler = scheduler_with(Scripted(binds=True))
    scheduler.decide(1)
    event, condition = answered(scheduler, "cannot bind", lost=lost)
    assert isinstance(condition, SetCondition)
    assert (condition.reason, condition.message, event.note) == ("SchedulerError", "cannot bind", "cannot bind")
    assert "default/p" not in scheduler.cache.pods.rows_by_key, "it holds no room any more"
    assert actions(scheduler, SECOND) == ()
    assert actions(scheduler, 3 * SECOND) == (BY_EXTENDER,)


def test_where_it_is_ignorable_the_binding_goes_the_usual_way() -> None:
    scheduler = scheduler_with(Scripted(binds=True, ignorable=True))
    scheduler.decide(1)
    assert answered(scheduler, "broken") == (BOUND,)
    (event, condition) = answered(scheduler, "no")
    assert condition.message == event.note == 'running Bind plugin "DefaultBinder": no'


def test_it_is_asked_to_bind_to_the_chosen_node_whatever_a_bind_plugin_says() -> None:
    scheduler = scheduler_with(Scripted(binds=True, ignorable=True), bind=Elsewhere())
    assert actions(scheduler, 1) == (BY_EXTENDER,)
    assert answered(scheduler, "broken") == (Bind("default/p", "pod-default-p", "n-really"),)


def test_a_pod_that_an_extender_rejected_is_woken_by_nearly_anything() -> None:
    extender = Scripted(FilterAnswer(failed={"n": "no"}))
    scheduler = scheduler_with(extender)
    scheduler.decide(1)
    assert scheduler.decide(2) is None
    scheduler.observe(ObjectAdded(pod("other").running("n").obj()), 3)
    assert scheduler.decide(4) is not None
    assert len(extender.asked) == 2


def test_a_crowd_that_an_extender_rejected_sends_no_scout() -> None:
    """It may say yes to any of them, alike as they are to the scheduler."""
    accepted: set[str] = set()
    extender = Scripted(lambda info, nodes: FilterAnswer(tuple(nodes) if info.name in accepted else ()))
    scheduler = scheduler_with(extender)
    for number in range(50):
        scheduler.observe(ObjectAdded(pod(f"alike-{number}").obj()), 0)
    while scheduler.decide(1) is not None:
        pass
    accepted.add("alike-49")
    scheduler.observe(ObjectAdded(node("another").capacity(cpu=1).obj()), 2)
    found = []
    while (decision := scheduler.decide(3 * SECOND)) is not None:
        found += [action.pod for action in decision.actions if isinstance(action, Bind)]
    assert found == ["default/alike-49"]


def test_a_pod_backs_off_from_when_its_extender_had_failed() -> None:
    """Five seconds of waiting for an extender are none of resting: upstream counts from the end of the attempt."""
    scheduler = scheduler_with(Scripted("it hangs"))
    decision = scheduler.decide(1, lambda: 5 * SECOND)
    assert decision is not None
    assert decision.ended_at == 5 * SECOND
    assert scheduler.wake_at() == 7 * SECOND  # the whole second after six
