"""The queue as a whole: order, what comes back where, changes, gates, flushes, activation."""

from __future__ import annotations

import pytest
from tests.unit.core.queue.stage import (
    ASSIGNED_POD_DELETE,
    LABELS,
    MS,
    NEW_NODE,
    NODE_ADD,
    NODE_LABEL,
    ROOM,
    SECOND,
    START,
    VICTIM,
    Gate,
    Silent,
    Stage,
    choosy,
)

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, ClusterEvent, EventResource
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.scheduling_gates import SchedulingGates
from bayplan.core.queue import FLUSH_PERIOD_NS, SchedulingQueue
from bayplan.core.queue.hints import QueueProfile, Reactions
from bayplan.core.release import V1_36
from bayplan.testing.builders import pod

OWN_LABEL = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)


# ---------------------------------------------------------------- order


def test_priority_then_time_then_arrival() -> None:
    stage = Stage()
    for name, priority in (("a", 0), ("b", 0), ("urgent", 7)):
        stage.add(pod(name).priority(priority))
    stage.wait(1)
    stage.add("later")
    assert stage.all_popped() == ["urgent", "a", "b", "later"]


def test_a_returned_pod_queues_up_behind_those_that_came_meanwhile() -> None:
    stage = Stage()
    stage.add("first")
    queued = stage.pop()
    stage.wait(0.1)
    stage.add("second")
    stage.wait(0.1)
    stage.fail(queued, "Room")
    stage.queue.activate(["default/first"], stage.now)
    assert stage.all_popped() == ["second", "first"]


def test_a_move_leaves_the_timestamp_alone() -> None:
    stage = Stage()
    queued = stage.parked("old")
    stage.wait(5)
    stage.add("new")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert queued.timestamp == START
    assert stage.all_popped() == ["old", "new"]


def test_attempts_and_first_entry_are_counted() -> None:
    gate = Gate("default/p")
    stage = Stage(gates=(gate,))
    stage.add("p")
    stage.wait(3)
    gate.shut.clear()
    stage.queue.activate(["default/p"], stage.now)
    queued = stage.pop()
    assert (queued.attempts, queued.initial_attempt_at) == (1, START + 3 * SECOND), "time behind a gate is not counted"
    stage.fail(queued, "Room")
    stage.wait(9)
    stage.happens(NODE_ADD, None, NEW_NODE)
    queued = stage.pop()
    assert (queued.attempts, queued.initial_attempt_at) == (2, START + 3 * SECOND)


# ---------------------------------------------------------------- back from a failed attempt


def test_where_a_failed_pod_goes() -> None:
    stage = Stage()
    for name in ("refused", "broken"):
        stage.add(name)
    assert stage.fail(stage.pop(), "Room") is PodState.UNSCHEDULABLE
    assert stage.fail(stage.pop()) is PodState.BACKOFF


def test_an_error_is_not_cut_short_by_what_happens() -> None:
    """As recorded: the first node of a cluster does not wake a pod that failed for want of any node."""
    stage = Stage()
    stage.add("p")
    stage.fail(stage.pop())
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.BACKOFF
    assert stage.queue.pop(stage.now) is None


def test_pending_plugins_are_rejectors_too() -> None:
    stage = Stage()
    stage.add("p")
    queued = stage.pop()
    stage.fail(queued, "Room", pending=("Labels",))
    assert (queued.rejectors, queued.pending_plugins) == (("Labels", "Room"), ("Labels",))
    stage.queue.activate(["default/p"], stage.now)
    assert stage.pop().rejectors == ()


def test_a_return_clears_the_flush_marks() -> None:
    stage = Stage()
    queued = stage.parked("p")
    stage.wait(331)
    assert stage.pop() is queued
    assert queued.was_flushed
    stage.fail(queued, "Room")
    assert (queued.was_flushed, queued.flushed_at) == (False, 0)


def test_a_return_after_done_backs_off_and_is_never_parked() -> None:
    """While a pod is bound nothing is recorded for it: parked, it might wait for what has already happened."""
    stage = Stage()
    stage.add("p")
    queued = stage.pop()
    stage.queue.assume(queued, "n1", stage.now)
    stage.queue.done(queued)
    queued.enter(PodState.BINDING)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.fail(queued, "Room") is PodState.BACKOFF


def test_a_pod_deleted_while_in_flight_does_not_come_back() -> None:
    stage = Stage()
    stage.add("p")
    queued = stage.pop()
    stage.queue.delete("default/p", stage.now)
    assert stage.place("p") is None
    assert stage.fail(queued, "Room") is PodState.GONE
    assert stage.queue.in_flight_counts() == (0, 0)


def test_a_pod_recreated_while_the_old_one_is_in_flight_is_a_pod_of_its_own() -> None:
    stage = Stage()
    stage.add("p")
    old = stage.pop()
    stage.queue.delete("default/p", stage.now)
    stage.add(pod("p").uid("second"))
    assert stage.place("p") is PodState.ACTIVE
    assert stage.fail(old, "Room") is PodState.GONE
    new = stage.pop()
    assert new.info.uid == "second"
    assert stage.fail(new, "Room") is PodState.UNSCHEDULABLE


def test_a_pod_replaced_unseen_is_taken_as_deleted_and_added() -> None:
    """After a gap in the watch: another uid under the same name."""
    stage = Stage()
    stage.parked("p")
    stage.add(pod("p").uid("second"))
    queued = stage.pop()
    assert (queued.info.uid, queued.attempts) == ("second", 1)


# ---------------------------------------------------------------- changes


@pytest.mark.parametrize("place", [PodState.ACTIVE, PodState.BACKOFF])
def test_a_waiting_pod_is_replaced_and_finds_its_new_position(place: PodState) -> None:
    stage = Stage()
    things = {name: stage.add(name) for name in ("a", "b")}
    if place is PodState.BACKOFF:
        stage.fail(stage.pop(), "Room")
        stage.fail(stage.pop(), "Room")
        stage.happens(NODE_ADD, None, NEW_NODE)
    stage.update(things["b"], pod("b").priority(9))
    assert stage.place("b") is place
    queued = stage.pop()
    assert (queued.info.name, queued.info.priority, queued.pod.spec.priority) == ("b", 9, 9)


def test_a_parked_pod_is_woken_by_its_own_change_only_if_a_rejector_says_so() -> None:
    stage = Stage([choosy("Own", OWN_LABEL), ROOM])
    for name, rejector in (("p", "Own"), ("q", "Room")):
        stage.parked(name, rejector)
        stage.update(pod(name).obj(), pod(name).labels(x="y"))
    assert stage.place("p") is PodState.BACKOFF
    assert stage.place("q") is PodState.UNSCHEDULABLE


def test_a_change_of_one_parked_pod_leaves_the_others_alone() -> None:
    stage = Stage([choosy("Own", OWN_LABEL)])
    stage.parked("p", "Own")
    stage.parked("twin", "Own")
    stage.update(pod("p").obj(), pod("p").labels(x="y"))
    assert stage.place("twin") is PodState.UNSCHEDULABLE


def test_a_parked_pod_changes_its_group_with_its_shape() -> None:
    stage = Stage([choosy("Fit", (NODE_ADD, lambda info, old, new: "x" in info.shape.labels))])
    stage.parked("p", "Fit")
    stage.parked("twin", "Fit")
    stage.update(pod("p").obj(), pod("p").labels(x="y"))
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert (stage.place("p"), stage.place("twin")) == (PodState.BACKOFF, PodState.UNSCHEDULABLE)


def test_a_plugin_without_registrations_is_helped_by_the_pods_own_status() -> None:
    """As recorded with an extender: the pod's own status patch wakes it, and it is tried a second time at once."""
    stage = Stage([Silent()])
    stage.parked("p", "Silent")
    stage.update(pod("p").obj(), pod("p").condition("PodScheduled", "False"))
    assert stage.popped() == "p"


def test_a_pod_in_flight_takes_its_newest_copy_home() -> None:
    stage = Stage()
    stage.add("p")
    queued = stage.pop()
    stage.update(pod("p").obj(), pod("p").labels(x="y"))
    assert queued.info.shape.labels == {}, "the attempt goes on with what it has"
    stage.fail(queued, "Room")
    assert queued.info.shape.labels == {"x": "y"}


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    stage = Stage()
    stage.update(pod("p").obj(), pod("p").labels(x="y"))
    assert stage.place("p") is PodState.ACTIVE


def test_adding_twice_is_an_update() -> None:
    stage = Stage()
    stage.add("p")
    stage.add(pod("p").priority(3))
    assert stage.all_popped() == ["p"]
    stage.add("q")
    queued = stage.pop()
    stage.add("q")
    assert stage.queue.pop(stage.now) is None
    assert queued.state is PodState.IN_FLIGHT


@pytest.mark.parametrize("rejectors", [(), ("Room",)])
def test_deletion_from_every_place(rejectors: tuple[str, ...]) -> None:
    stage = Stage(gates=(Gate("default/gated"),))
    stage.add("failed")
    stage.fail(stage.pop(), *rejectors)
    for name in ("active", "gated"):
        stage.add(name)
    for name in ("failed", "active", "gated", "unknown"):
        stage.queue.delete(f"default/{name}", stage.now)
    assert set(stage.queue.counts().values()) == {0}
    assert list(stage.queue.queued_pods()) == []
    assert set(stage.queue.figures.rejected.values()) == {0}, "no pod, but still named"


# ---------------------------------------------------------------- gates


def test_scheduling_gates_hold_a_pod_until_the_last_is_gone() -> None:
    stage = Stage()
    gates = SchedulingGates()
    profile = QueueProfile((gates,), Reactions([gates, ROOM], V1_36))
    stage.queue = SchedulingQueue(
        {"default-scheduler": profile}, lambda info, at: (at,), started_at=START, gates=DEFAULT_GATES
    )
    two = stage.add(pod("p").gate("a", "b"))
    assert stage.place("p") is PodState.GATED
    queued = stage.queue.find("default/p")
    assert queued is not None
    assert (queued.gating_plugin, queued.rejectors) == ("SchedulingGates", ("SchedulingGates",))
    one = stage.update(two, pod("p").gate("a"))
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.GATED
    stage.update(one, pod("p"))
    assert stage.place("p") is PodState.ACTIVE, "never tried, so no backoff"


def test_gates_are_asked_on_every_way_in_but_not_between_backoff_and_active() -> None:
    gate = Gate()
    stage = Stage(gates=(gate,))
    stage.parked("p")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert (stage.place("p"), len(gate.asked)) == (PodState.BACKOFF, 2)
    stage.wait(5)
    stage.queue.tick(stage.now)
    assert (stage.place("p"), len(gate.asked)) == (PodState.ACTIVE, 2)


def test_a_gate_adds_itself_to_the_rejectors_of_the_last_attempt() -> None:
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = stage.parked("p")
    gate.shut.add("default/p")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert (queued.gating_plugin, queued.rejectors) == ("Gate", ("Gate", "Room"))
    assert stage.queue.figures.rejected == {("Room", "default-scheduler"): 1, ("Gate", "default-scheduler"): 1}


# ---------------------------------------------------------------- the flush of parked pods


def test_old_pods_are_tried_again_when_the_recorded_scheduler_did() -> None:
    """Started at -0.4 s; failures at 20.1 s, 329.6 s and 629.6 s, each a few milliseconds after the flush."""
    stage = Stage(started_at=START - 400 * MS)
    stage.now = START + 20_100 * MS
    stage.add("p")
    tried = []
    for _ in range(3):
        stage.wait(0.003)
        tried.append(stage.now)
        stage.fail(stage.pop(), "Room")
        wake_at = stage.queue.wake_at()
        assert wake_at is not None
        assert stage.queue.pop(wake_at - 1) is None
        stage.now = wake_at
    assert [round((at - START) / SECOND, 1) for at in tried] == [20.1, 329.6, 629.6]


def test_a_flush_wakes_only_what_is_older_than_the_limit() -> None:
    stage = Stage(parked_max_ns=100 * SECOND)
    stage.parked("old")
    stage.wait(1)
    stage.parked("young")
    stage.queue.flush_parked(START + 100 * SECOND)
    assert stage.place("old") is PodState.UNSCHEDULABLE
    stage.queue.flush_parked(START + 100 * SECOND + 1)
    assert (stage.place("old"), stage.place("young")) == (PodState.ACTIVE, PodState.UNSCHEDULABLE)
    assert stage.queue.figures.incoming["active", "UnschedulableTimeout"] == 1


def test_a_late_tick_flushes_once_and_keeps_the_rhythm() -> None:
    stage = Stage(parked_max_ns=SECOND)
    stage.parked("p")
    assert stage.queue.wake_at() == START + FLUSH_PERIOD_NS
    stage.now = START + 5 * FLUSH_PERIOD_NS + 1
    queued = stage.pop()
    assert queued.flushed_at == START + 5 * FLUSH_PERIOD_NS
    stage.fail(queued, "Room")
    assert stage.queue.wake_at() == START + 6 * FLUSH_PERIOD_NS


def test_no_pod_is_flushed_between_two_flushes_however_old() -> None:
    """Nobody called at the flushes before, as there was nothing to do at them."""
    stage = Stage(parked_max_ns=SECOND)
    stage.now = START + 5 * FLUSH_PERIOD_NS + 1
    stage.parked("p")
    stage.wait(20)
    assert stage.queue.pop(stage.now) is None
    stage.now = START + 6 * FLUSH_PERIOD_NS
    assert stage.popped() == "p"


def test_a_gated_pod_is_asked_again_by_the_flush_and_stays_if_refused() -> None:
    gate = Gate("default/p")
    stage = Stage(gates=(gate,), parked_max_ns=100 * SECOND)
    stage.add("p")
    stage.now = START + 101 * SECOND
    stage.queue.flush_parked(stage.now)
    assert (stage.place("p"), len(gate.asked)) == (PodState.GATED, 2)
    assert stage.queue.figures.incoming == {("unschedulable", "UnscheduledPodAdd"): 1}, "it never left"
    stage.queue.flush_parked(stage.now + 100 * SECOND)
    assert len(gate.asked) == 2, "its age counts from the last flush"
    gate.shut.clear()
    stage.queue.flush_parked(stage.now + 101 * SECOND)
    assert stage.place("p") is PodState.ACTIVE


def test_nothing_waits_for_time_when_nothing_waits() -> None:
    stage = Stage()
    assert stage.queue.wake_at() is None
    stage.add("p")
    assert stage.queue.wake_at() is None
    stage.pop()
    assert stage.queue.wake_at() is None


# ---------------------------------------------------------------- activation


def test_activation_ignores_backoff_and_unknown_pods() -> None:
    stage = Stage()
    stage.parked("parked")
    stage.add("broken")
    stage.fail(stage.pop())
    stage.queue.activate(["default/parked", "default/broken", "default/unknown"], stage.now)
    assert (stage.place("parked"), stage.place("broken")) == (PodState.ACTIVE, PodState.ACTIVE)
    assert stage.queue.figures.incoming["active", "ForceActivate"] == 2


def test_activation_does_not_pass_a_gate() -> None:
    gate = Gate()
    stage = Stage(gates=(gate,))
    stage.add("p")
    stage.fail(stage.pop())
    gate.shut.add("default/p")
    stage.queue.activate(["default/p"], stage.now)
    assert stage.place("p") is PodState.GATED


# ---------------------------------------------------------------- figures


def test_counts_by_place() -> None:
    stage = Stage(gates=(Gate("default/gated"),))
    stage.parked("parked")
    stage.add("broken")
    stage.fail(stage.pop())
    for name in ("gated", "active"):
        stage.add(name)
    assert set(stage.queue.counts().values()) == {1}
    assert [queued.info.name for queued in stage.queue.queued_pods()] == ["parked", "broken", "gated", "active"]


def test_incoming_and_rejected_are_counted() -> None:
    stage = Stage()
    stage.parked("p", "Room", "Labels")
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert stage.queue.figures.incoming == {
        ("active", "UnscheduledPodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeUpdateNodeLabel"): 1,
    }
    assert sum(stage.queue.figures.rejected.values()) == 2
    stage.pop()
    assert sum(stage.queue.figures.rejected.values()) == 0


def test_two_profiles_react_each_in_its_own_way() -> None:
    stage = Stage()
    profiles = {
        "default-scheduler": QueueProfile((), Reactions([ROOM], V1_36)),
        "other": QueueProfile((), Reactions([choosy("Room", NODE_LABEL), LABELS], V1_36)),
    }
    stage.queue = SchedulingQueue(profiles, lambda info, at: (at,), started_at=START, gates=DEFAULT_GATES)
    stage.parked("p")
    stage.parked(pod("q").scheduler("other"))
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert (stage.place("p"), stage.place("q")) == (PodState.UNSCHEDULABLE, PodState.BACKOFF)
