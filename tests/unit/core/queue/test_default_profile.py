"""The queue with the plugins of the default profile: who reacts to what, and a preemptor's way through."""

from __future__ import annotations

import pytest
from tests.support.preemption_attempts import default_profile
from tests.unit.core.queue.stage import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    START,
    VICTIM,
    Silent,
    Stage,
)

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ClusterEvent
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.preemption.gate import PreemptionGate
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.hints import QueueProfile
from bayplan.core.release import V1_36, V1_37
from bayplan.testing.builders import node, pod

PROFILE = QueueProfile.of(default_profile(), others=[PreemptionGate(lambda key: False), Silent()], release=V1_36)
#: Says nothing of cluster events, and so hears of nearly all. Plugins that only score never reject: they hear of none.
SILENT = {"Silent"}


def stage() -> Stage:
    made = Stage()
    made.queue = SchedulingQueue(
        {"default-scheduler": PROFILE}, PrioritySort().sort_key, started_at=START, gates=DEFAULT_GATES
    )
    return made


@pytest.mark.parametrize(
    ("cluster_event", "plugins"),
    [
        (ASSIGNED_POD_ADD, {"InterPodAffinity", "PodTopologySpread"}),
        (
            ASSIGNED_POD_DELETE,
            {
                "DefaultPreemption",
                "InterPodAffinity",
                "NodePorts",
                "NodeResourcesFit",
                "NodeVolumeLimits",
                "PodTopologySpread",
                "VolumeRestrictions",
            },
        ),
        (
            NODE_LABEL,
            {
                "DynamicResources",
                "InterPodAffinity",
                "NodeAffinity",
                "PodTopologySpread",
                "VolumeBinding",
                "VolumeZone",
            },
        ),
        # All that wait for new nodes, by their own wish or by the rule that a taint may have hidden one.
        (
            NODE_TAINT,
            {
                "DynamicResources",
                "InterPodAffinity",
                "NodeAffinity",
                "NodeDeclaredFeatures",
                "NodeName",
                "NodePorts",
                "NodeResourcesFit",
                "NodeUnschedulable",
                "PodTopologySpread",
                "TaintToleration",
                "VolumeBinding",
                "VolumeRestrictions",
                "VolumeZone",
            },
        ),
    ],
    ids=lambda value: value.label if isinstance(value, ClusterEvent) else "",
)
def test_who_reacts(cluster_event: ClusterEvent, plugins: set[str]) -> None:
    assert set(PROFILE.reactions.to(cluster_event)) == plugins | SILENT


def test_since_1_37_a_changed_taint_wakes_only_who_asked_to_hear_of_it() -> None:
    profile = QueueProfile.of(default_profile("1.37"), others=[PreemptionGate(lambda key: False)], release=V1_37)
    assert set(profile.reactions.to(NODE_TAINT)) == {"NodeUnschedulable", "PodTopologySpread", "TaintToleration"}


def test_gates_come_in_configured_order() -> None:
    assert PROFILE.pre_enqueue[0].name == "SchedulingGates"


def test_a_pod_without_room_is_woken_by_a_node_that_is_large_enough() -> None:
    played = stage()
    played.parked(pod("p").cpu("4"), "NodeResourcesFit")
    played.happens(NODE_ADD, None, node("small").allocatable(cpu="2", pods="110").obj())
    assert played.place("p") is PodState.UNSCHEDULABLE
    played.happens(NODE_ADD, None, node("large").allocatable(cpu="8", pods="110").obj())
    assert played.place("p") is PodState.BACKOFF


def test_a_preemptor_is_retried_when_its_victim_is_gone() -> None:
    played = stage()
    queued = played.parked(pod("p").cpu("4").priority(9), "NodeResourcesFit")
    played.queue.nominate(queued, "n1", played.now)
    played.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert played.pop() is queued
