"""Who did it: events of a recording, and what of them is done again."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    DeleteObject,
    Drain,
    NodesFail,
    NodesRecover,
    Restate,
)
from bayplan.analysis.simulation.replaying.intentions import Intentions, as_created
from bayplan.controllers.nodes.node_lifecycle import MONITOR_GRACE_NS
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.meta import Condition, OwnerReference
from bayplan.model.node import Taint
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing import builders as make

LATER = 100 * SECOND
NODE = make.node("n1").capacity(cpu="4", memory="8Gi", pods=20).obj()
POD = make.pod("a").cpu("1").obj()
RUNNING = replace(POD, spec=replace(POD.spec, node_name="n1"), status=replace(POD.status, phase="Running"))
WEB = make.deployment("web").replicas(2).obj()
STATEFUL = make.stateful_set("db").claim_template(make.claim("data")).obj()
POD_A = Reference("Pod", "default", "a")
WEB_TARGET = Reference("Deployment", "default", "web")


def with_meta(obj: Any, **fields: Any) -> Any:
    return replace(obj, metadata=replace(obj.metadata, **fields))


def with_spec(obj: Any, **fields: Any) -> Any:
    return replace(obj, spec=replace(obj.spec, **fields))


def with_status(obj: Any, **fields: Any) -> Any:
    return replace(obj, status=replace(obj.status, **fields))


def with_condition(obj: Any, kind: str, status: str, reason: str = "") -> Any:
    return with_status(obj, conditions=[Condition(type=kind, status=status, reason=reason)])


def owned(obj: Any, kind: str) -> Any:
    return with_meta(obj, owner_references=[OwnerReference(kind=kind, name="owner", uid="1", controller=True)])


def leaving(obj: Any) -> Any:
    return with_meta(obj, deletion_timestamp="2026-01-01T00:00:00Z", deletion_grace_period_seconds=30)


def plans(*events: Event, first: tuple[Any, ...] = (), with_nodes: bool = True) -> list[tuple[int, Command]]:
    """What is planned, with seconds since the start."""
    intentions = Intentions(LATER, source="test", with_nodes=with_nodes)
    for obj in first:
        intentions.at_first(obj)
    for number, event in enumerate(events):
        intentions.observe(event, 2 * LATER + number * SECOND)
    return [(plan.at // SECOND, plan.command) for plan in intentions.plans]


NOT_READY = with_condition(NODE, "Ready", "Unknown")
CORDONED = with_spec(NODE, unschedulable=True)
EVICTED = with_condition(RUNNING, "DisruptionTarget", "True", "EvictionByEvictionAPI")
PREEMPTED = with_condition(RUNNING, "DisruptionTarget", "True", "PreemptionByScheduler")
TEAM = Taint(key="team", value="a", effect="NoSchedule")
UNREADY = Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")
GRACE = MONITOR_GRACE_NS // SECOND


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # Users' objects are created, changed and deleted again;
        ([ObjectAdded(WEB)], [(100, Apply((as_created(WEB),)))]),
        ([ObjectChanged(WEB, with_spec(WEB, replicas=3))], [(100, Restate(as_created(with_spec(WEB, replicas=3))))]),
        ([ObjectRemoved(WEB)], [(100, DeleteObject((WEB_TARGET,)))]),
        ([ObjectChanged(WEB, leaving(WEB)), ObjectRemoved(leaving(WEB))], [(100, DeleteObject((WEB_TARGET,)))]),
        # what controllers write onto them is not.
        ([ObjectChanged(WEB, with_status(WEB, replicas=2))], []),
        ([ObjectChanged(WEB, with_meta(WEB, annotations={"deployment.kubernetes.io/revision": "2"}))], []),
        ([ObjectAdded(owned(make.replica_set("web-1").obj(), "Deployment"))], []),
        ([ObjectAdded(owned(make.job("job-1").obj(), "CronJob"))], []),
        ([ObjectAdded(owned(POD, "ReplicaSet")), ObjectRemoved(owned(RUNNING, "ReplicaSet"))], []),
        # A workload that nobody here knows makes its pods as recorded.
        ([ObjectAdded(owned(POD, "Rollout"))], [(100, Apply((as_created(POD),)))]),
        ([ObjectAdded(POD)], [(100, Apply((as_created(POD),)))]),
        ([ObjectChanged(POD, RUNNING)], []),
        ([ObjectChanged(RUNNING, leaving(RUNNING))], [(100, DeleteObject((POD_A,), 30))]),
        ([ObjectChanged(RUNNING, leaving(PREEMPTED))], []),
        # A pod that had ended is only removed where another takes its name.
        ([ObjectRemoved(with_status(RUNNING, phase="Succeeded"))], []),
        (
            [ObjectRemoved(with_status(RUNNING, phase="Succeeded")), ObjectAdded(POD)],
            [(101, DeleteObject((POD_A,), 0)), (101, Apply((as_created(POD),)))],
        ),
        # Claims of a StatefulSet are its own.
        ([ObjectAdded(make.claim("data-db-0").obj())], []),
        (
            [ObjectAdded(make.claim("data-other").obj())],
            [(100, Apply((as_created(make.claim("data-other").obj()),)))],
        ),
        # Nodes join when they are ready,
        ([ObjectAdded(NODE)], [(100, Apply((as_created(NODE),)))]),
        ([ObjectAdded(NOT_READY)], []),
        ([ObjectAdded(NOT_READY), ObjectChanged(NOT_READY, NODE)], [(101, Apply((as_created(NODE),)))]),
        ([ObjectAdded(NOT_READY), ObjectRemoved(NOT_READY)], []),
        ([ObjectRemoved(NODE)], [(100, DeleteObject((Reference("Node", "", "n1"),)))]),
        # fail before anybody notices,
        ([ObjectChanged(NODE, NOT_READY)], [(100 - GRACE, NodesFail(("n1",)))]),
        ([ObjectChanged(NOT_READY, NODE)], [(100, NodesRecover(("n1",)))]),
        # and get taints: those that follow from conditions by themselves.
        ([ObjectChanged(NODE, CORDONED)], [(100, Restate(as_created(CORDONED)))]),
        (
            [
                ObjectChanged(
                    NODE, with_spec(NODE, taints=[Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")])
                )
            ],
            [],
        ),
        (
            [ObjectChanged(NODE, with_spec(NODE, taints=[TEAM]))],
            [(100, Restate(with_spec(as_created(NODE), taints=[TEAM])))],
        ),
        # Drains are done again, once for each cordon.
        (
            [ObjectChanged(NODE, CORDONED), ObjectChanged(RUNNING, EVICTED), ObjectChanged(RUNNING, EVICTED)],
            [(100, Restate(as_created(CORDONED))), (101, Drain(("n1",)))],
        ),
    ],
)
def test_plans(events: list[Event], expected: list[tuple[int, Command]]) -> None:
    assert plans(*events, first=(STATEFUL,)) == expected


def test_a_node_that_had_failed_at_first_stays_away() -> None:
    assert plans(first=(NOT_READY, NODE)) == [(0, NodesFail(("n1",)))]


def test_nodes_can_be_left_out() -> None:
    events: list[Event] = [
        ObjectAdded(NODE),
        ObjectChanged(NODE, NOT_READY),
        ObjectRemoved(NOT_READY),
        ObjectAdded(POD),
    ]
    assert plans(*events, first=(NOT_READY,), with_nodes=False) == [(103, Apply((as_created(POD),)))]


def test_evictions_by_others_are_counted() -> None:
    intentions = Intentions(0, source="test")
    intentions.observe(ObjectChanged(owned(RUNNING, "ReplicaSet"), owned(EVICTED, "ReplicaSet")), LATER)
    assert intentions.plans == []
    assert intentions.evictions_left_out == 1


def test_a_pod_whose_gates_are_opened() -> None:
    gated = make.pod("a").gate("acme/wait").obj()
    opened = with_spec(gated, scheduling_gates=[])
    assert plans(ObjectChanged(gated, opened)) == [(100, Restate(as_created(opened)))]
