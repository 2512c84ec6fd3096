"""The garbage collector: what goes with its owner, what is let go, and what is none of its business."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.namespace import NamespaceController
from bayplan.controllers.ownership import reference_to
from bayplan.controllers.workloads.deployment import DeploymentController
from bayplan.controllers.workloads.replica_set import ReplicaSetController
from bayplan.model.cluster import Namespace
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.watch_types import ADDED
from bayplan.model.workloads import Deployment, ReplicaSet
from bayplan.store.log import WatchEvent
from bayplan.testing.builders import claim, deployment, namespace, pod, replica_set


def stage_with_deployment() -> Workloads:
    stage = Workloads(DeploymentController(), ReplicaSetController(), GarbageCollector())
    stage.create(deployment("web").replicas(2).template(TEMPLATE).manifest().obj())
    stage.run_all()
    return stage


def delete(stage: Workloads, kind: type[Deployment] | type[ReplicaSet], name: str, propagation: str | None) -> None:
    stage.store.delete(kind, "default", name, stage.now, propagation=propagation)
    stage.settle()


def left(stage: Workloads) -> tuple[int, int, int]:
    """Deployments, ReplicaSets, active pods."""
    return stage.store.count(Deployment), stage.store.count(ReplicaSet), len(stage.names())


@pytest.mark.parametrize("propagation", ["Background", None])
def test_background(propagation: str | None) -> None:
    """The owner goes at once, and all that depends on it after it; pods get their grace period."""
    stage = stage_with_deployment()
    delete(stage, Deployment, "web", propagation)
    assert left(stage) == (0, 0, 0)
    assert len(stage.pods()) == 2
    stage.stop_terminating()
    assert stage.pods() == []


def test_foreground() -> None:
    """The owner stays until the last of its dependents is gone."""
    stage = stage_with_deployment()
    first, second = stage.names()
    delete(stage, Deployment, "web", "Foreground")
    assert left(stage) == (1, 1, 0)
    stage.stop(first)
    assert left(stage) == (1, 1, 0)
    stage.stop(second)
    assert left(stage) == (0, 0, 0)
    assert stage.pods() == []


def _owned_by(name: str, *owners: Any) -> Any:
    """A pod that no owner may leave behind."""
    builder = pod(name)
    for owner in owners:
        builder = builder.owner(owner, controller=owner is owners[0])
    made = builder.obj()
    for reference in made.metadata.owner_references:
        reference.block_owner_deletion = True
    return made


def test_foreground_lets_go_of_what_another_owner_keeps() -> None:
    """The owner does not wait for it, and its reference is taken off."""
    stage = Workloads(GarbageCollector())
    first, second = replica_set("first"), replica_set("second")
    stage.load(first.obj(), second.obj(), _owned_by("shared", first, second))
    delete(stage, ReplicaSet, "first", "Foreground")
    assert [one.metadata.name for one in stage.store.list(ReplicaSet)] == ["second"]
    assert [ref.name for ref in stage.pod("shared").metadata.owner_references] == ["second"]


def test_a_circle_of_owners_goes() -> None:
    """None of them could go before the others."""
    stage = Workloads(GarbageCollector())
    names = ("a", "b", "c")
    pods = {name: pod(name).obj() for name in names}
    for owner, owned in zip(names, (*names[1:], names[0]), strict=True):
        reference = reference_to(pods[owner])
        reference.block_owner_deletion = True
        pods[owned].metadata.owner_references = [reference]
    stage.load(*pods.values())
    stage.store.delete(Pod, "default", "a", stage.now, grace_seconds=0, propagation="Foreground")
    stage.settle()
    stage.stop_terminating()
    assert stage.pods() == []


def test_orphan() -> None:
    """The owner goes, and its dependents stay without it."""
    stage = stage_with_deployment()
    delete(stage, Deployment, "web", "Orphan")
    assert left(stage) == (0, 1, 2)
    (orphan,) = stage.store.list(ReplicaSet)
    assert orphan.metadata.owner_references == []
    stage.stop(stage.names()[0])
    assert left(stage) == (0, 1, 2)


def test_another_owner_keeps_what_both_own() -> None:
    """Only the reference to the owner that went is taken off."""
    stage = Workloads(GarbageCollector())
    first, second = replica_set("first"), replica_set("second")
    stage.load(first.obj(), second.obj(), pod("shared").owner(first).owner(second, controller=False).obj())
    delete(stage, ReplicaSet, "first", None)
    assert [ref.name for ref in stage.pod("shared").metadata.owner_references] == ["second"]
    delete(stage, ReplicaSet, "second", None)
    assert stage.pods() == []


def test_a_new_owner_of_the_old_name_is_another() -> None:
    """Dependents of the one that went go, though one of its name is there again."""
    stage = Workloads(GarbageCollector())
    owner = replica_set("set").replicas(0)
    stage.load(owner.obj(), pod("a").owner(owner).obj())
    stage.store.delete(ReplicaSet, "default", "set", stage.now)
    stage.store.create(replica_set("set").manifest().obj(), stage.now)
    stage.settle()
    assert stage.pods() == []
    assert stage.store.count(ReplicaSet) == 1


def test_what_is_created_for_an_owner_that_is_gone_goes() -> None:
    """A dependent that comes too late is collected too."""
    stage = Workloads(GarbageCollector())
    owner = replica_set("set").replicas(0)
    stage.load(owner.obj())
    delete(stage, ReplicaSet, "set", None)
    stage.load(pod("late").owner(owner).obj())
    assert stage.pods() == []


def test_owners_nobody_knows_are_no_reason() -> None:
    """A dump without ReplicaSets keeps its pods, and owners of unknown kinds keep theirs."""
    stage = Workloads(GarbageCollector())
    missing = replica_set("missing")
    stage.load(pod("a").owner(missing).running("n1").obj(), pod("b").owner("Widget", "w").running("n1").obj())
    stage.pass_time(3600)
    assert stage.names() == ["a", "b"]


def test_claims_of_a_pod_go_with_it() -> None:
    """A pod owns the claims of its ephemeral volumes."""
    stage = Workloads(GarbageCollector())
    user = pod("a").obj()
    stage.load(user, claim("a-scratch").owner(user).obj())
    stage.stop("a")
    assert stage.store.list(PersistentVolumeClaim) == []


def test_owners_lost_in_a_gap() -> None:
    """When all is listed anew, dependents of an owner that is no longer there are collected."""
    collector = GarbageCollector()
    stage = Workloads(collector)
    owner = replica_set("set").replicas(0)
    stage.load(owner.obj(), pod("a").owner(owner).obj())
    stage.store.delete(ReplicaSet, "default", "set", stage.now)
    stage._news.read()  # nobody hears of it
    for one in stage.store.list_and_watch().objects:
        collector.observe(WatchEvent(ADDED, type(one).__name__, None, one, 0, stage.now), stage.now)
    stage.settle()
    assert stage.pods() == []


# Namespaces.


def test_a_namespace_is_emptied() -> None:
    """All in it is deleted; when the last pod has stopped it goes itself. Others are left alone."""
    stage = Workloads(DeploymentController(), ReplicaSetController(), GarbageCollector(), NamespaceController())
    stage.create(namespace("prod").manifest().obj())
    stage.create(deployment("web", "prod").replicas(2).template(TEMPLATE).manifest().obj())
    stage.create(claim("data", "prod").manifest().obj(), pod("bystander").manifest().obj())
    for one in stage.store.list(Pod, "prod"):
        stage.store.bind("prod", one.metadata.name, "n1", "", stage.now)
    stage.settle()
    stage.delete(Namespace, "", "prod")
    ending = stage.store.list(Pod, "prod")
    assert len(ending) == 2
    assert stage.store.count(Deployment) == stage.store.count(ReplicaSet) == 0
    assert stage.store.count(PersistentVolumeClaim) == 0
    for one in ending:
        assert stage.store.count(Namespace) == 1
        stage.store.delete(Pod, "prod", one.metadata.name, stage.now, grace_seconds=0)
        stage.settle()
    assert stage.store.count(Namespace) == 0
    assert stage.names() == ["bystander"]


def test_an_empty_namespace_goes_at_once() -> None:
    """There is nothing to wait for."""
    stage = Workloads(NamespaceController())
    stage.create(namespace("prod").manifest().obj())
    stage.delete(Namespace, "", "prod")
    assert stage.store.count(Namespace) == 0
