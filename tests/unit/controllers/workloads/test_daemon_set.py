"""DaemonSets: where their pods are, and when they come and go."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.workload_stage import OTHER_TEMPLATE, TEMPLATE, Workloads, requests

from bayplan.controllers.workloads.daemon_placement import pinned_to
from bayplan.controllers.workloads.daemon_set import DaemonSetController
from bayplan.controllers.workloads.templates import REVISION_HASH
from bayplan.model.node import Node, Taint
from bayplan.model.workloads import DaemonSet, RollingUpdate, UpdateStrategy
from bayplan.testing.builders import daemon_set, node, pod


def stage_with(*node_names: str, **spec: Any) -> Workloads:
    stage = Workloads(DaemonSetController())
    stage.create(*(node(name).manifest().obj() for name in node_names))
    stage.create(daemon_set("agent").set(**spec).template(TEMPLATE).manifest().obj())
    return stage


def places(stage: Workloads) -> list[str]:
    """The nodes of the active pods."""
    return [pinned_to(one) for one in stage.active()]


def run_where_pinned(stage: Workloads) -> None:
    for one in stage.active():
        stage.run(one.metadata.name, node_name=pinned_to(one))


def counts(stage: Workloads) -> tuple[int, int, int, int]:
    status = stage.get(DaemonSet, "agent").status
    return (
        status.desired_number_scheduled,
        status.current_number_scheduled,
        status.number_ready,
        status.number_misscheduled,
    )


def set_taints(stage: Workloads, name: str, *taints: Taint) -> None:
    def change(one: Node) -> Node:
        return replace(one, spec=replace(one.spec, taints=[*taints]))

    stage.store.modify(Node, "", name, change, stage.now)
    stage.settle()


def test_one_on_each_node() -> None:
    """Every node gets one pod, tied to it by a match field, not bound."""
    stage = stage_with("n1", "n2")
    assert places(stage) == ["n1", "n2"]
    for one in stage.pods():
        assert one.spec.node_name == ""
        assert one.metadata.name.startswith("agent-")
        assert one.spec.affinity is not None
        assert one.spec.affinity.node_affinity is not None
        required = one.spec.affinity.node_affinity.required
        assert required is not None
        assert [field.key for term in required.node_selector_terms for field in term.match_fields] == ["metadata.name"]
    assert counts(stage) == (2, 2, 0, 0)
    run_where_pinned(stage)
    assert counts(stage) == (2, 2, 2, 0)


def test_nodes_come_and_go() -> None:
    """A new node gets its pod; a pod that waited for a node which went is deleted."""
    stage = stage_with("n1")
    stage.create(node("n2").manifest().obj())
    assert places(stage) == ["n1", "n2"]
    stage.delete(Node, "", "n2")
    assert places(stage) == ["n1"]
    assert counts(stage) == (1, 1, 0, 0)


def test_a_bound_pod_of_a_node_that_went_is_left() -> None:
    """Others collect it; the set no longer wants it."""
    stage = stage_with("n1")
    run_where_pinned(stage)
    stage.delete(Node, "", "n1")
    assert places(stage) == ["n1"]
    assert counts(stage) == (0, 0, 0, 0)


def test_labels_decide() -> None:
    """A node that is relabeled gets or loses its pod."""
    stage = Workloads(DaemonSetController())
    pattern = pod("t").labels(app="x").node_selector(disk="ssd")
    stage.create(node("n1").manifest().obj(), daemon_set("agent").template(pattern).manifest().obj())
    assert places(stage) == []

    def label(**labels: str) -> None:
        stage.store.modify(
            Node, "", "n1", lambda one: replace(one, metadata=replace(one.metadata, labels=labels)), stage.now
        )
        stage.settle()

    label(disk="ssd")
    assert places(stage) == ["n1"]
    label(disk="hdd")
    assert places(stage) == []


@pytest.mark.parametrize(
    ("effect", "stays", "misplaced"), [("NoSchedule", True, 1), ("NoExecute", False, 1), ("PreferNoSchedule", True, 0)]
)
def test_taints(effect: str, stays: bool, misplaced: int) -> None:
    """A taint against new pods leaves a pod where it is; one against running pods drives it out."""
    stage = stage_with("n1")
    run_where_pinned(stage)
    set_taints(stage, "n1", Taint(key="gpu", effect=effect))
    assert (places(stage) == ["n1"]) is stays
    assert counts(stage)[3] == misplaced


def test_what_a_kubelet_writes_is_ignored() -> None:
    """A node's status decides nothing, so that hearing of it costs nothing."""
    stage = stage_with("n1")
    controller = DaemonSetController()
    for change in stage.store.log.since(0):
        controller.observe(change, stage.now)
    while controller.wake_at() is not None:
        controller.reconcile(stage.store, stage.now)
    cursor = stage.store.watch()
    stage.store.modify_status(
        Node, "", "n1", lambda one: replace(one, status=replace(one.status, capacity={"cpu": "8"})), stage.now
    )
    for change in cursor.read():
        controller.observe(change, stage.now)
    assert controller.wake_at() is None


def test_an_evicted_daemon_comes_back_when_it_is_gone() -> None:
    """Two pods of one set are never on one node."""
    stage = stage_with("n1")
    run_where_pinned(stage)
    (name,) = stage.names()
    stage.evict(name)
    assert stage.names() == []
    stage.stop(name)
    assert places(stage) == ["n1"]


def test_failed_daemons_come_back_later_and_later() -> None:
    """The first is replaced at once, the next after one second, then two."""
    stage = stage_with("n1")
    waits = []
    for _ in range(4):
        run_where_pinned(stage)
        (name,) = stage.names()
        stage.fail(name)
        before = stage.seconds
        while name in [one.metadata.name for one in stage.pods()]:
            stage.pass_time(0.5)
        waits.append(stage.seconds - before)
    assert waits == [0, 1, 2, 4]


def test_surplus_pods_go() -> None:
    """Of two pods for one node the older stays."""
    stage = Workloads(DaemonSetController())
    owner = daemon_set("agent").template(TEMPLATE)
    pods = [pod(name).owner(owner).running("n1").created(at).obj() for name, at in [("young", 200), ("old", 100)]]
    stage.load(node("n1").obj(), owner.obj(), *pods)
    assert stage.names() == ["old"]


def use(stage: Workloads) -> None:
    stage.change(DaemonSet, "agent", template=daemon_set("agent").template(OTHER_TEMPLATE).obj().spec.template)


@pytest.mark.parametrize(("most", "left"), [(None, 3), (2, 2), ("100%", 0)])
def test_rolling_update(most: int | str | None, left: int) -> None:
    """A new template is rolled out on as many nodes at once as the strategy allows."""
    strategy = UpdateStrategy(rolling_update=RollingUpdate(max_unavailable=most))
    stage = stage_with("n1", "n2", "n3", "n4", update_strategy=strategy)
    run_where_pinned(stage)
    use(stage)
    assert requests(stage.active()).count("1") == left
    for _ in range(8):
        stage.stop_terminating()
        run_where_pinned(stage)
    assert requests(stage.active()) == ["2", "2", "2", "2"]
    assert stage.get(DaemonSet, "agent").status.updated_number_scheduled == 4


def test_daemons_that_are_not_there_are_exchanged_at_once() -> None:
    """Pods nobody can use do not wait for their turn, and take nobody else's."""
    stage = stage_with("n1", "n2", "n3")
    use(stage)
    assert requests(stage.active()) == ["2", "2", "2"]


def test_on_delete() -> None:
    """With OnDelete a new template waits for somebody to delete the pods."""
    stage = stage_with("n1", update_strategy=UpdateStrategy(type="OnDelete"))
    run_where_pinned(stage)
    use(stage)
    assert requests(stage.active()) == ["1"]
    stage.evict(*stage.names())
    stage.stop_terminating()
    assert requests(stage.active()) == ["2"]


def test_loaded_daemons_stay() -> None:
    """The hashes of another cluster mean nothing here."""
    stage = Workloads(DaemonSetController())
    owner = daemon_set("agent").template(TEMPLATE)
    there = pod("agent-1").labels({REVISION_HASH: "79b"}).owner(owner).running("n1")
    stage.load(there.obj(), owner.obj(), node("n1").obj(), node("n2").obj())
    assert places(stage) == ["n1", "n2"]
    assert stage.has_pod("agent-1")


def test_min_ready_seconds() -> None:
    """A daemon is available only after a while."""
    stage = stage_with("n1", min_ready_seconds=10)
    run_where_pinned(stage)
    assert stage.get(DaemonSet, "agent").status.number_available == 0
    stage.pass_time(10)
    assert stage.get(DaemonSet, "agent").status.number_available == 1
