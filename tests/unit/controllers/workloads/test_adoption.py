"""Workloads adopt by their labels what nobody controls, and let go what no longer matches."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.ownership import controller_reference
from bayplan.controllers.work_queue import AT_ONCE
from bayplan.controllers.workloads.adoption import AdoptionController
from bayplan.controllers.workloads.replica_set import ReplicaSetController, ReplicationManager
from bayplan.model.pod import Pod
from bayplan.model.watch_types import ADDED
from bayplan.store import WatchEvent
from bayplan.testing.builders import node, pod, replica_set, replication_controller


def stage_of(*, first: str) -> Workloads:
    """A stray pod and a ReplicaSet of one pod that matches it; `first`: which of them comes first."""
    stage = Workloads(AdoptionController(), ReplicaSetController(), ReplicationManager())
    stray = pod("stray").labels(app="x").manifest().obj()
    owner = replica_set("w").replicas(1).template(TEMPLATE).manifest().obj()
    stage.create(node("n1").manifest().obj())
    if first == "pod":
        stage.create(stray, owner)
    else:
        stage.create(owner, stray)
    return stage


def owner_of(stage: Workloads, name: str) -> str:
    reference = controller_reference(stage.pod(name).metadata)
    return "" if reference is None else reference.name


def relabel(stage: Workloads, name: str, **labels: str) -> None:
    stage.store.modify(
        Pod, "default", name, lambda known: replace(known, metadata=replace(known.metadata, labels=labels)), stage.now
    )
    stage.settle()


def test_a_pod_that_matches_is_adopted_instead_of_creating_one() -> None:
    stage = stage_of(first="pod")
    assert stage.names() == ["stray"]
    assert owner_of(stage, "stray") == "w"


def test_a_pod_that_comes_later_is_one_too_many() -> None:
    stage = stage_of(first="owner")
    assert len(stage.names()) == 1


def test_a_pod_that_no_longer_matches_is_let_go_and_replaced() -> None:
    stage = stage_of(first="pod")
    relabel(stage, "stray", app="y")
    assert owner_of(stage, "stray") == ""
    assert len(stage.names()) == 2
    relabel(stage, "stray", app="x")
    assert len(stage.names()) == 1


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_has_ended_is_left_alone(phase: str) -> None:
    stage = Workloads(AdoptionController(), ReplicaSetController())
    stage.create(pod("stray").labels(app="x").manifest().obj())
    stage.store.modify_status(
        Pod, "default", "stray", lambda known: replace(known, status=replace(known.status, phase=phase)), stage.now
    )
    stage.create(replica_set("w").replicas(1).template(TEMPLATE).manifest().obj())
    assert owner_of(stage, "stray") == ""


@pytest.mark.parametrize(("app", "wakes_at"), [("x", AT_ONCE), ("y", None)])
def test_a_workload_that_comes_is_compared_with_stray_pods_alone(app: str, wakes_at: int | None) -> None:
    """Else every Job that comes would have every stray pod compared with every other Job."""
    adoption = AdoptionController()
    stage = Workloads(adoption)
    stage.create(pod("stray").labels(app=app).manifest().obj())
    owner = replication_controller("w").replicas(1).template(TEMPLATE).manifest().obj()
    owner = replace(owner, spec=replace(owner.spec, selector={"app": "x"}))
    adoption.observe(WatchEvent(ADDED, "ReplicationController", None, owner, 1, stage.now), stage.now)
    assert adoption.wake_at() == wakes_at


def test_nobody_adopts_in_another_namespace() -> None:
    stage = Workloads(AdoptionController(), ReplicaSetController())
    stray = pod("stray").labels(app="x").namespace("other").manifest().obj()
    stage.create(stray, replica_set("w").replicas(0).template(TEMPLATE).manifest().obj())
    assert controller_reference(stage.pod("stray", "other").metadata) is None


def test_replication_controllers_adopt_by_plain_labels() -> None:
    stage = Workloads(AdoptionController(), ReplicationManager())
    stray = pod("stray").labels(app="x", more="x").manifest().obj()
    stage.create(stray, replication_controller("w").replicas(1).template(TEMPLATE).manifest().obj())
    assert stage.names() == ["stray"]
