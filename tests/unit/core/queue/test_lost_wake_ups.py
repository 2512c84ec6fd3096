"""Interleavings in which a wake-up could be lost: a pod must never wait for something that has already happened.

Each test ends with the pod awake without the five-minute flush. `Gate` plays the part of preemption, which keeps a
preemptor out of the queue while its victims are evicted.
"""

from __future__ import annotations

import pytest
from tests.unit.core.queue.stage import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NEW_NODE,
    NODE_ADD,
    NODE_LABEL,
    ROOM,
    VICTIM,
    Gate,
    Silent,
    Stage,
    choosy,
)

from bayplan.core.framework.requeue import ActionType, ClusterEvent, EventResource
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.testing.builders import pod
from bayplan.testing.pods import PodBuilder

PREEMPTOR = "default/p"


def preemptor_in_flight(stage: Stage) -> QueuedPod:
    stage.add("p")
    return stage.pop()


def is_awake(stage: Stage) -> bool:
    return stage.place("p") in (PodState.ACTIVE, PodState.BACKOFF)


# ---------------------------------------------------------------- while the pod is tried


def test_the_victim_goes_while_the_preemptor_is_tried() -> None:
    stage = Stage()
    queued = preemptor_in_flight(stage)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    stage.fail(queued, "Room")
    assert is_awake(stage)


def test_the_victim_goes_between_the_return_and_the_nomination() -> None:
    stage = Stage()
    queued = preemptor_in_flight(stage)
    stage.fail(queued, "Room")
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    stage.queue.nominate(queued, "n1", stage.now)
    assert is_awake(stage)


def test_what_happened_before_the_pop_is_old_news() -> None:
    stage = Stage()
    stage.add("first")
    first = stage.pop()
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    queued = preemptor_in_flight(stage)
    stage.fail(queued, "Room")
    assert not is_awake(stage)
    stage.fail(first, "Room")
    assert stage.place("first") is PodState.BACKOFF


def test_a_pod_that_comes_back_first_does_not_take_the_others_news_along() -> None:
    stage = Stage()
    queued = preemptor_in_flight(stage)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    for name in ("second", "third"):
        stage.add(name)
    second, third = stage.pop(), stage.pop()
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    stage.queue.discard(second)
    assert stage.queue.in_flight_counts() == (2, 2)
    stage.fail(queued, "Room")
    assert is_awake(stage)
    assert stage.queue.in_flight_counts() == (1, 1)
    stage.queue.discard(third)
    assert stage.queue.in_flight_counts() == (0, 0)


def test_what_nobody_needs_any_more_is_forgotten() -> None:
    stage = Stage()
    queued = preemptor_in_flight(stage)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    stage.add("second")
    stage.pop()
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    stage.queue.done(queued)
    assert stage.queue.in_flight_counts() == (1, 1)


def test_only_what_helps_counts() -> None:
    stage = Stage()
    queued = preemptor_in_flight(stage)
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    stage.happens(ASSIGNED_POD_ADD, None, VICTIM)
    assert stage.fail(queued, "Room") is PodState.UNSCHEDULABLE


def test_immediately_wins_over_after_backoff_whatever_came_first() -> None:
    stage = Stage([ROOM, choosy("Pending", NODE_LABEL)])
    queued = preemptor_in_flight(stage)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert stage.fail(queued, "Room", pending=("Pending",)) is PodState.ACTIVE


def test_a_change_of_the_pod_in_flight_counts() -> None:
    own = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)
    stage = Stage([choosy("Own", own)])
    queued = preemptor_in_flight(stage)
    stage.update(pod("p").obj(), pod("p").labels(x="y"))
    stage.fail(queued, "Own")
    assert is_awake(stage)


def test_activation_in_flight_counts_for_that_pod_alone() -> None:
    stage = Stage()
    stage.add("other")
    other = stage.pop()
    queued = preemptor_in_flight(stage)
    stage.queue.activate([PREEMPTOR], stage.now)
    stage.fail(queued, "Room")
    stage.fail(other, "Room")
    assert is_awake(stage)
    assert stage.place("other") is PodState.UNSCHEDULABLE


def test_a_flush_of_others_counts_in_flight() -> None:
    stage = Stage()
    stage.parked("old")
    queued = preemptor_in_flight(stage)
    stage.wait(301)
    stage.queue.flush_parked(stage.now)
    assert stage.place("old") is PodState.ACTIVE
    stage.fail(queued, "Room")
    assert is_awake(stage)


# ---------------------------------------------------------------- while a gate is shut


def test_the_last_victim_is_gone_before_the_preemption_ends() -> None:
    """Seen upstream: woken while gated, then nothing more happens. One preemptor of a thousand waited five minutes."""
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Room")
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is PodState.BACKOFF
    assert stage.queue.pop(stage.now) is queued


def test_the_victim_goes_in_flight_and_the_return_meets_a_shut_gate() -> None:
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.fail(queued, "Room") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert is_awake(stage)


def test_help_from_elsewhere_while_the_gate_is_shut_is_not_forgotten() -> None:
    """A gated pod does not listen, but it was on its way to an attempt, which sees whatever it missed."""
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Labels", "Room")
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert is_awake(stage)


def test_a_pod_that_met_no_gate_is_not_woken_by_its_opening() -> None:
    """The preemption ended without anything else happening: the preemptor goes on waiting for its victims."""
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Room")
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is PodState.UNSCHEDULABLE
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert is_awake(stage)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (pod("p").condition("PodScheduled", "False"), PodState.GATED),
        (pod("p").annotations({"a": "1"}), PodState.BACKOFF),
        (pod("p").labels(x="y"), PodState.BACKOFF),
    ],
    ids=["status", "annotation", "label"],
)
def test_its_own_status_alone_does_not_wake_a_pod_when_its_gate_opens(change: PodBuilder, place: PodState) -> None:
    """As recorded with an extender: the preemptor is tried again when its victim is gone, and not before."""
    gate = Gate()
    stage = Stage([Silent()], gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Silent")
    stage.update(pod("p").obj(), change)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is place
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert is_awake(stage)


def test_the_status_of_the_victim_does_not_wake_the_preemptor_when_its_gate_opens() -> None:
    gate = Gate()
    stage = Stage([Silent()], gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Silent")
    marked = pod("victim").node("n1").condition("DisruptionTarget").obj()
    stage.happens(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE), VICTIM, marked)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is PodState.GATED
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert is_awake(stage)


def test_a_gate_that_is_still_shut_keeps_the_wake_up() -> None:
    gate = Gate()
    stage = Stage([ROOM, choosy("Pending", NODE_ADD)], gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, pending=("Pending",))
    stage.happens(NODE_ADD, None, NEW_NODE)
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is PodState.ACTIVE, "as urgent as it was when the gate swallowed it"


def test_a_gate_keeps_the_most_urgent_wake_up() -> None:
    gate = Gate()
    stage = Stage([ROOM, choosy("Pending", NODE_ADD)], gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Room", pending=("Pending",))
    stage.happens(NODE_ADD, None, NEW_NODE)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is PodState.ACTIVE


@pytest.mark.parametrize("place", [PodState.ACTIVE, PodState.IN_FLIGHT, None])
def test_releasing_others_changes_nothing(place: PodState | None) -> None:
    stage = Stage(gates=(Gate(),))
    if place is not None:
        stage.add("p")
    if place is PodState.IN_FLIGHT:
        stage.pop()
    stage.queue.release(PREEMPTOR, stage.now)
    assert stage.place("p") is place


def test_eviction_failed_and_the_preemptor_is_activated() -> None:
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = preemptor_in_flight(stage)
    gate.shut.add(PREEMPTOR)
    stage.fail(queued, "Room")
    gate.shut.clear()
    stage.queue.activate([PREEMPTOR], stage.now)
    assert stage.place("p") is PodState.ACTIVE
