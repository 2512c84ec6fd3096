"""What a cluster event is worth: who is asked, and what the answers add up to."""

from __future__ import annotations

import pytest
from tests.unit.core.queue.stage import (
    LABELS,
    NEW_NODE,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETE,
    VICTIM,
    Choosy,
    CountingHint,
    Gate,
    Silent,
    Stage,
    choosy,
    never,
)

from bayplan.core.framework.requeue import (
    UNHEARD_UPSTREAM,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    Wakeups,
)
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.hints import WILDCARD, QueueProfile, Reactions
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.release import V1_36
from bayplan.testing.builders import pod

A, R = ActionType, EventResource


@pytest.mark.parametrize(
    ("registered", "incoming", "matches"),
    [
        ((R.ANY, A.ALL), (R.CSI_NODE, A.DELETE), True),
        ((R.POD, A.DELETE), (R.ASSIGNED_POD, A.DELETE), True),
        ((R.POD, A.DELETE), (R.UNSCHEDULED_POD, A.DELETE), True),
        ((R.ASSIGNED_POD, A.DELETE), (R.POD, A.DELETE), False),
        ((R.NODE, A.ADD | A.UPDATE_NODE_TAINT), (R.NODE, A.UPDATE_NODE_TAINT), True),
        ((R.NODE, A.ADD | A.UPDATE_NODE_TAINT), (R.NODE, A.UPDATE_NODE_LABEL), False),
        # As integers: one that asks for some updates does not hear of an unspecific one, one that asks for all does.
        ((R.POD, A.UPDATE_POD_LABEL), (R.POD, A.UPDATE), False),
        ((R.POD, A.UPDATE), (R.POD, A.UPDATE), True),
        ((R.POD, A.UPDATE), (R.POD, A.UPDATE_POD_LABEL), True),
        ((R.POD, A.ALL), (R.POD, A.ADD), True),
    ],
)
def test_matching(
    registered: tuple[EventResource, ActionType], incoming: tuple[EventResource, ActionType], matches: bool
) -> None:
    reactions = Reactions([choosy("P", ClusterEvent(*registered))], V1_36)
    assert reactions.to(ClusterEvent(*incoming)) == ({"P": (None,)} if matches else {})


def test_a_plugin_that_waits_for_nodes_hears_of_every_taint_change() -> None:
    waits, knows_taints = (
        choosy("Waits", (NODE_ADD, never)),
        choosy("Knows", (ClusterEvent(R.NODE, A.ADD | A.UPDATE_NODE_TAINT), never)),
    )
    in_two_lines = choosy("TwoLines", (NODE_ADD, never), (NODE_TAINT, never))
    reactions = Reactions([waits, knows_taints, in_two_lines, LABELS], V1_36)
    assert reactions.to(NODE_TAINT) == {"Waits": (None,), "Knows": (never,), "TwoLines": (never,)}


@pytest.mark.parametrize(
    ("resource", "heard"),
    [
        (resource, resource not in (R.VOLUME_ATTACHMENT, R.RESOURCE_SLICE, R.ANY, *UNHEARD_UPSTREAM))
        for resource in EventResource
    ],
)
def test_a_plugin_that_says_nothing_hears_of_nearly_everything(resource: EventResource, heard: bool) -> None:
    updated = ClusterEvent(resource, A.UPDATE)
    assert bool(Reactions([Silent()], V1_36).to(updated)) is heard
    assert bool(Reactions([Silent()], V1_36, Wakeups.COMPLETE).to(updated)) is (resource is not R.ANY)


def test_what_upstream_sleeps_through_is_heard_when_nothing_may_be_missed() -> None:
    class Sleeper(Choosy):
        name = "Sleeper"
        given = (ClusterEventWithHint(NODE_ADD, never),)

        def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
            return (ClusterEventWithHint(NODE_LABEL), ClusterEventWithHint(NODE_ADD))

    upstream, complete = Reactions([Sleeper()], V1_36), Reactions([Sleeper()], V1_36, Wakeups.COMPLETE)
    assert (upstream.to(NODE_LABEL), complete.to(NODE_LABEL)) == ({}, {"Sleeper": (None,)})
    assert (upstream.to(NODE_ADD), complete.to(NODE_ADD)) == ({"Sleeper": (never,)}, {"Sleeper": (never, None)})


def test_only_rejectors_are_asked() -> None:
    asked, bystander = CountingHint(), CountingHint(lambda _: True)
    stage = Stage([choosy("Asked", (NODE_ADD, asked)), choosy("Bystander", (NODE_ADD, bystander))])
    stage.parked("p", "Asked")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert (asked.asked, bystander.asked) == (["default/p"], [])
    assert stage.place("p") is PodState.UNSCHEDULABLE


def test_a_pending_plugin_wants_no_backoff() -> None:
    stage = Stage([choosy("Pending", NODE_ADD), choosy("Plain", NODE_ADD)])
    for name, pending in (("patient", ()), ("pending", ("Pending",))):
        stage.add(name)
        stage.fail(stage.pop(), "Plain", pending=pending)
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("patient") is PodState.BACKOFF
    assert stage.place("pending") is PodState.ACTIVE


def test_a_pending_plugin_that_says_no_leaves_it_to_the_others() -> None:
    stage = Stage([choosy("Pending", (NODE_ADD, never)), choosy("Plain", NODE_ADD)])
    stage.add("p")
    stage.fail(stage.pop(), "Plain", pending=("Pending",))
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.BACKOFF


def test_a_wildcard_wakes_everybody_but_not_for_another_pod() -> None:
    stage = Stage()
    stage.parked("p")
    stage.happens(WILDCARD, None, VICTIM)
    assert stage.place("p") is PodState.UNSCHEDULABLE
    stage.happens(WILDCARD, None, pod("p").obj())
    assert stage.place("p") is PodState.BACKOFF
    stage.parked("q")
    stage.happens(WILDCARD)
    assert stage.place("q") is PodState.BACKOFF


def test_labels_are_those_of_metrics() -> None:
    assert NODE_ADD.label == "NodeAdd"
    assert NODE_TAINT.label == "NodeUpdateNodeTaint"
    assert ClusterEvent(R.UNSCHEDULED_POD, A.UPDATE).label == "UnscheduledPodUpdate"
    gates = ClusterEvent(R.UNSCHEDULED_POD, A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    assert gates.label == "UnscheduledPodUpdatePodSchedulingGatesEliminated"
    assert ClusterEvent(R.CSI_NODE, A.DELETE).label == "storage.k8s.io/CSINodeDelete"


def test_the_last_refuser_is_asked_first_then_the_configured_order() -> None:
    first, second, third = Gate(), Gate("default/p"), Gate()
    for gate, name in ((first, "First"), (second, "Second"), (third, "Third")):
        gate.name = name  # type: ignore[misc]
    info = Stage().info(pod("p").obj())
    assert run_pre_enqueue((first, second, third), info).plugin == "Second"
    assert (first.asked, third.asked) == (["default/p"], [])
    assert run_pre_enqueue((first, second, third), info, "Second").plugin == "Second"
    assert first.asked == ["default/p"]
    second.shut.clear()
    assert run_pre_enqueue((first, second, third), info, "Second").ok


def test_a_gate_must_be_known_to_the_reactions() -> None:
    with pytest.raises(AssertionError, match="nobody could open"):
        QueueProfile((Gate(),), Reactions([LABELS], V1_36))


def test_a_rejector_must_be_known_to_the_profile() -> None:
    stage = Stage()
    stage.add("p")
    with pytest.raises(AssertionError):
        stage.fail(stage.pop(), "Stranger")


def test_nothing_is_done_or_recorded_when_nobody_is_interested() -> None:
    stage = Stage([choosy("Deaf", NODE_LABEL)])
    stage.add("p")
    stage.pop()
    stage.happens(POD_DELETE, VICTIM)
    assert stage.queue.in_flight_counts() == (1, 0)
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert stage.queue.in_flight_counts() == (1, 1)
