"""Nodes that fail: when they are found out, what taints they get, and when their pods leave."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.support.controller_stage import Stage

from bayplan.controllers.delays import FixedDelays
from bayplan.controllers.nodes.kubelet import Kubelet
from bayplan.controllers.nodes.node_lifecycle import NodeLifecycleController
from bayplan.model.conditions import find_condition
from bayplan.model.meta import Condition
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod, Toleration
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def taints(stage: Stage, name: str = "n1") -> list[tuple[str, str]]:
    return [(taint.key, taint.effect) for taint in stage.store.get(Node, "", name).spec.taints]


def ready(stage: Stage, name: str = "n1") -> tuple[str, str]:
    condition = find_condition(stage.store.get(Node, "", name).status.conditions, "Ready")
    return ("", "") if condition is None else (condition.status, condition.reason)


def pod_condition(stage: Stage, name: str, kind: str) -> tuple[str, str]:
    condition = find_condition(stage.pod(name).status.conditions, kind)
    return ("", "") if condition is None else (condition.status, condition.reason)


def set_conditions(stage: Stage, *conditions: tuple[str, str]) -> None:
    written = [Condition(type=kind, status=status) for kind, status in conditions]

    def change(one: Node) -> Node:
        return replace(one, status=replace(one.status, conditions=written))

    stage.store.modify_status(Node, "", "n1", change, stage.now)
    stage.settle()


def set_spec(stage: Stage, change: Callable[[Node], Node]) -> None:
    stage.store.modify(Node, "", "n1", change, stage.now)
    stage.settle()


def tainted(one: Node, *added: Taint) -> Node:
    return replace(one, spec=replace(one.spec, taints=list(added)))


def story() -> tuple[Stage, Kubelet, NodeLifecycleController]:
    kubelet, lifecycle = Kubelet(FixedDelays(start=0, stop=SECOND)), NodeLifecycleController()
    stage = Stage(kubelet, lifecycle)
    stage.create(node("n1").manifest().obj(), node("n2").manifest().obj())
    return stage, kubelet, lifecycle


def test_a_node_that_falls_silent_is_found_out_after_the_grace_period() -> None:
    stage, _, lifecycle = story()
    set_conditions(stage, ("Ready", "True"), ("MemoryPressure", "False"))
    lifecycle.node_down("n1", stage.now)
    stage.pass_time(49.999)
    assert (ready(stage), taints(stage)) == (("True", ""), [])
    stage.pass_time(0.001)
    assert ready(stage) == ("Unknown", "NodeStatusUnknown")
    assert taints(stage) == [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
    added = stage.store.get(Node, "", "n1").spec.taints[0].time_added
    assert added == "2026-01-01T00:00:50Z"
    pressure = find_condition(stage.store.get(Node, "", "n1").status.conditions, "MemoryPressure")
    assert pressure is not None
    assert pressure.status == "Unknown"
    assert taints(stage, "n2") == []


def test_a_node_that_is_back_loses_its_taints() -> None:
    stage, _, lifecycle = story()
    set_conditions(stage, ("DiskPressure", "False"), ("Ready", "True"))
    lifecycle.node_down("n1", stage.now)
    stage.pass_time(60)
    lifecycle.node_up("n1", stage.now)
    stage.settle()
    assert (ready(stage), taints(stage)) == (("True", "KubeletReady"), [])
    pressure = find_condition(stage.store.get(Node, "", "n1").status.conditions, "DiskPressure")
    assert pressure is not None
    assert (pressure.status, pressure.reason) == ("False", "KubeletHasNoDiskPressure")
    assert lifecycle.wake_at() is None


def test_a_short_silence_goes_unnoticed() -> None:
    stage, _, lifecycle = story()
    lifecycle.node_down("n1", stage.now)
    stage.pass_time(49)
    version = stage.store.resource_version
    lifecycle.node_up("n1", stage.now)
    stage.pass_time(500)
    assert stage.store.resource_version == version


def test_a_node_that_comes_again_while_down_is_found_out_too() -> None:
    stage, _, lifecycle = story()
    lifecycle.node_down("n1", stage.now)
    stage.delete(Node, "", "n1")
    stage.pass_time(100)
    stage.create(node("n1").manifest().obj())
    stage.pass_time(50)
    assert ready(stage) == ("Unknown", "NodeStatusUnknown")


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([("Ready", "True")], []),
        ([("Ready", "False")], [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]),
        ([("Ready", "Unknown")], [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]),
        ([("MemoryPressure", "True")], [("node.kubernetes.io/memory-pressure", "NoSchedule")]),
        ([("DiskPressure", "True")], [("node.kubernetes.io/disk-pressure", "NoSchedule")]),
        ([("PIDPressure", "True")], [("node.kubernetes.io/pid-pressure", "NoSchedule")]),
        ([("NetworkUnavailable", "True")], [("node.kubernetes.io/network-unavailable", "NoSchedule")]),
        ([("DiskPressure", "Unknown"), ("Custom", "True")], []),
    ],
)
def test_conditions_become_taints(conditions: list[tuple[str, str]], expected: list[tuple[str, str]]) -> None:
    stage, _, _ = story()
    set_conditions(stage, *conditions)
    assert taints(stage) == expected
    set_conditions(stage, ("Ready", "True"))
    assert taints(stage) == []


def test_unreachable_and_not_ready_exclude_each_other_and_others_stay() -> None:
    stage, _, _ = story()
    set_spec(stage, lambda one: tainted(one, Taint(key="dedicated", effect="NoSchedule")))
    set_conditions(stage, ("Ready", "False"))
    set_conditions(stage, ("Ready", "Unknown"))
    assert taints(stage) == [("dedicated", "NoSchedule"), (UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]


@pytest.mark.parametrize("switched_on", [True, False])
def test_a_cordoned_node_is_tainted(switched_on: bool) -> None:
    stage = Stage(NodeLifecycleController(taints_cordoned=switched_on))
    stage.create(node("n1").manifest().unschedulable().obj())
    assert taints(stage) == ([("node.kubernetes.io/unschedulable", "NoSchedule")] if switched_on else [])
    set_spec(stage, lambda one: replace(one, spec=replace(one.spec, unschedulable=False)))
    assert taints(stage) == []


def test_pods_leave_an_unreachable_node_after_five_minutes() -> None:
    stage, kubelet, lifecycle = story()
    stage.create(pod("a").manifest().node("n1").obj(), pod("b").manifest().node("n2").obj())
    for one in (kubelet, lifecycle):
        one.node_down("n1", stage.now)
    stage.pass_time(50)
    assert pod_condition(stage, "a", "Ready") == ("False", "")
    stage.pass_time(299.9)
    assert stage.pod("a").metadata.deletion_timestamp is None
    stage.pass_time(0.1)
    assert stage.pod("a").metadata.deletion_timestamp == "2026-01-01T00:06:20Z"
    assert pod_condition(stage, "a", "DisruptionTarget") == ("True", "DeletionByTaintManager")
    assert pod_condition(stage, "b", "Ready") == ("True", "")
    stage.pass_time(1000)
    assert stage.has_pod("a")
    for one in (kubelet, lifecycle):
        one.node_up("n1", stage.now)
    stage.settle()
    assert not stage.has_pod("a")


def test_a_node_that_is_back_in_time_keeps_its_pods() -> None:
    stage, kubelet, lifecycle = story()
    stage.create(pod("a").manifest().node("n1").obj())
    for one in (kubelet, lifecycle):
        one.node_down("n1", stage.now)
    stage.pass_time(300)
    for one in (kubelet, lifecycle):
        one.node_up("n1", stage.now)
    stage.pass_time(1000)
    assert stage.pod("a").metadata.deletion_timestamp is None
    assert pod_condition(stage, "a", "Ready") == ("True", "")
    assert lifecycle.wake_at() is None


@pytest.mark.parametrize(
    ("tolerations", "leaves_after"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([Toleration(operator="Exists")], None, id="everything for ever"),
        pytest.param([Toleration(key="maintenance", operator="Exists")], None, id="for ever"),
        pytest.param([Toleration(key="maintenance", operator="Exists", toleration_seconds=7)], 7, id="for a while"),
        pytest.param([Toleration(key="maintenance", operator="Exists", toleration_seconds=-3)], 0, id="not at all"),
        pytest.param([Toleration(key="maintenance", operator="Exists", effect="NoSchedule")], 0, id="another effect"),
        pytest.param(
            [
                Toleration(key="maintenance", operator="Exists", toleration_seconds=9),
                Toleration(key="maintenance", operator="Exists", toleration_seconds=2),
            ],
            9,
            id="the first that tolerates counts",
        ),
    ],
)
@pytest.mark.parametrize("comes_later", [False, True], ids=["tainted under it", "came to the tainted node"])
def test_any_no_execute_taint_evicts(
    tolerations: list[Toleration], leaves_after: int | None, comes_later: bool
) -> None:
    stage = Stage(NodeLifecycleController())
    stage.create(node("n1").manifest().obj())
    made = pod("a").manifest().node("n1").obj()
    made.spec.tolerations = tolerations
    if not comes_later:
        stage.create(made)
    set_spec(stage, lambda one: tainted(one, Taint(key="maintenance", effect="NoExecute")))
    if comes_later:
        stage.create(made)
    if leaves_after is None:
        stage.pass_time(10_000)
        assert stage.pod("a").metadata.deletion_timestamp is None
        return
    if leaves_after:
        stage.pass_time(leaves_after - 0.001)
        assert stage.pod("a").metadata.deletion_timestamp is None
        stage.pass_time(0.001)
    assert stage.pod("a").metadata.deletion_timestamp is not None


def test_a_wait_goes_on_when_taints_change_and_ends_with_the_last() -> None:
    stage = Stage(NodeLifecycleController())
    stage.create(node("n1").manifest().obj())
    waits = [Toleration(key=key, operator="Exists", toleration_seconds=10) for key in ("one", "two")]
    made = pod("a").manifest().node("n1").obj()
    made.spec.tolerations = list(waits)
    stage.create(made)
    one, two = (Taint(key=key, effect="NoExecute") for key in ("one", "two"))
    set_spec(stage, lambda node: tainted(node, one))
    stage.pass_time(6)
    set_spec(stage, lambda node: tainted(node, one, two))
    stage.pass_time(4)
    assert stage.pod("a").metadata.deletion_timestamp is not None
    stage.create(pod("c").manifest().node("n1").tolerates("one", seconds=10).tolerates("two", seconds=10).obj())
    set_spec(stage, tainted)
    stage.pass_time(100)
    assert stage.pod("c").metadata.deletion_timestamp is None


def test_a_wait_begins_anew_when_the_taint_comes_again() -> None:
    stage = Stage(NodeLifecycleController())
    stage.create(node("n1").manifest().obj())
    stage.create(pod("a").manifest().node("n1").tolerates("out", effect="NoExecute", seconds=10).obj())
    set_spec(stage, lambda node: tainted(node, Taint(key="out", effect="NoExecute")))
    stage.pass_time(5)
    set_spec(stage, tainted)
    set_spec(stage, lambda node: tainted(node, Taint(key="out", effect="NoExecute")))
    stage.pass_time(9.9)
    assert stage.pod("a").metadata.deletion_timestamp is None
    stage.pass_time(0.1)
    assert stage.pod("a").metadata.deletion_timestamp is not None


def test_a_pod_that_goes_while_it_waits_leaves_nothing_behind() -> None:
    lifecycle = NodeLifecycleController()
    stage = Stage(lifecycle)
    stage.create(node("n1").manifest().obj(), pod("a").manifest().node("n1").obj())
    set_conditions(stage, ("Ready", "False"))
    assert lifecycle.wake_at() == stage.now + 300 * SECOND
    stage.delete(Pod, "default", "a", grace_seconds=0)
    assert lifecycle.wake_at() is None


def test_pods_of_a_node_that_is_gone_are_removed_after_a_quarantine() -> None:
    stage, _, lifecycle = story()
    stage.create(pod("a").manifest().node("n1").obj())
    held = pod("held").manifest().node("n1").obj()
    held.metadata.finalizers = ["example.com/hold"]
    stage.create(held)
    stage.delete(Node, "", "n1")
    stage.pass_time(39.9)
    assert stage.has_pod("a")
    stage.pass_time(0.1)
    assert not stage.has_pod("a")
    assert stage.pod("held").status.phase == "Failed"
    assert pod_condition(stage, "held", "DisruptionTarget") == ("True", "DeletionByPodGC")
    stage.pass_time(1000)
    assert lifecycle.wake_at() is None


def test_pods_of_a_node_that_never_was_are_removed_too() -> None:
    stage, _, _ = story()
    stage.create(pod("a").manifest().node("nowhere").obj())
    stage.pass_time(40)
    assert not stage.has_pod("a")


def test_a_node_that_shows_up_in_time_keeps_its_pods() -> None:
    stage, _, lifecycle = story()
    stage.create(pod("a").manifest().node("late").obj())
    stage.pass_time(39)
    stage.create(node("late").manifest().obj())
    assert lifecycle.wake_at() is None
    stage.pass_time(100)
    assert stage.pod("a").status.phase == "Running"
