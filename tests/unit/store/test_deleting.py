"""Deleting: grace periods of pods, finalizers, what becomes of dependents, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from bayplan.model.cluster import Namespace, PriorityClass
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.workloads import Deployment, Job, ReplicaSet, ReplicationController
from bayplan.store import ApiError, Forbidden, Invalid, NotFound, Store
from bayplan.testing.builders import (
    deployment,
    job,
    namespace,
    node,
    pod,
    priority_class,
    replica_set,
    replication_controller,
)
from bayplan.testing.pods import PodBuilder

START = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z


def bound_store(**fields: Any) -> Store:
    """One pod on a node, with these parts of its metadata."""
    store = Store()
    given = pod("a").manifest().obj()
    for name, value in fields.items():
        setattr(given.metadata, name, value)
    store.create(given, START)
    store.bind("default", "a", "n1", "", START)
    return store


def without_finalizers(one: Any) -> Any:
    return replace(one, metadata=replace(one.metadata, finalizers=[]))


def types(store: Store, since: int) -> list[str]:
    return [change.type for change in store.log.since(since)]


def ending(meta: ObjectMeta) -> tuple[str | None, int | None, int]:
    return meta.deletion_timestamp, meta.deletion_grace_period_seconds, meta.generation


def test_a_pod_that_may_run_gets_its_grace_period() -> None:
    """It is marked, a new generation, and goes when a kubelet deletes it without grace."""
    store = bound_store()
    marked = store.delete(Pod, "default", "a", START + 5 * SECOND)
    assert not marked.gone
    assert ending(marked.object.metadata) == ("2026-01-01T12:00:35Z", 30, 2)
    assert store.get(Pod, "default", "a") is marked.object
    last = store.delete(Pod, "default", "a", START + 9 * SECOND, grace_seconds=0)
    assert last.gone
    assert ending(last.object.metadata) == ("2026-01-01T12:00:05Z", 0, 2)
    assert last.object.metadata.resource_version == "5"
    assert store.find(Pod, "default", "a") is None
    assert types(store, 2) == ["MODIFIED", "MODIFIED", "DELETED"]
    deleted = store.log.since(4)[0]
    assert deleted.new is last.object
    assert deleted.old == replace(last.object, metadata=replace(last.object.metadata, resource_version="4"))


@pytest.mark.parametrize(
    ("given", "grace", "expected"),
    [
        pytest.param(pod("a").running("n1"), None, 30, id="its own"),
        pytest.param(pod("a").running("n1").grace(3), None, 3, id="its own, short"),
        pytest.param(pod("a").running("n1").grace(0), None, 0, id="its own, none"),
        pytest.param(pod("a").running("n1").grace(-7), None, 1, id="its own, negative"),
        pytest.param(pod("a").running("n1"), 100, 100, id="longer"),
        pytest.param(pod("a").running("n1"), 2, 2, id="shorter"),
        pytest.param(pod("a").running("n1"), 0, 0, id="at once"),
        pytest.param(pod("a").running("n1"), -1, 1, id="negative"),
        pytest.param(pod("a"), None, 0, id="not on a node"),
        pytest.param(pod("a"), 60, 0, id="not on a node, whatever is asked"),
        pytest.param(pod("a").running("n1").phase("Succeeded"), None, 0, id="succeeded"),
        pytest.param(pod("a").running("n1").phase("Failed"), 60, 0, id="failed"),
        pytest.param(pod("a").node("n1").phase("Pending"), None, 30, id="bound, not started"),
    ],
)
def test_grace_periods(given: PodBuilder, grace: int | None, expected: int) -> None:
    """Without one the pod is gone, yet watchers see it marked first."""
    store = Store()
    store.load([given.obj()], START)
    outcome = store.delete(Pod, "default", "a", START, grace_seconds=grace)
    assert outcome.gone == (expected == 0)
    assert outcome.object.metadata.deletion_grace_period_seconds == expected
    assert outcome.object.metadata.generation == 2
    assert types(store, 1) == (["MODIFIED"] if expected else ["MODIFIED", "DELETED"])


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(None, ("2026-01-01T12:00:30Z", 30), id="again"),
        pytest.param(60, ("2026-01-01T12:00:30Z", 30), id="longer"),
        pytest.param(30, ("2026-01-01T12:00:30Z", 30), id="the same"),
        pytest.param(10, ("2026-01-01T12:00:10Z", 10), id="shorter"),
        pytest.param(-5, ("2026-01-01T12:00:01Z", 1), id="negative"),
    ],
)
def test_a_second_request_may_only_shorten(second: int | None, expected: tuple[str, int]) -> None:
    """Counted from the first request; otherwise nothing is written."""
    store = bound_store()
    store.delete(Pod, "default", "a", START)
    outcome = store.delete(Pod, "default", "a", START + 8 * SECOND, grace_seconds=second)
    assert not outcome.gone
    assert ending(outcome.object.metadata) == (*expected, 2)
    assert types(store, 3) == ([] if expected[1] == 30 else ["MODIFIED"])


def test_a_request_that_shortens_nothing_says_nothing_of_dependents() -> None:
    store = bound_store()
    store.delete(Pod, "default", "a", START)
    outcome = store.delete(Pod, "default", "a", START, grace_seconds=30, propagation="Foreground")
    assert outcome.object.metadata.finalizers == []
    shortened = store.delete(Pod, "default", "a", START, grace_seconds=29, propagation="Foreground")
    assert shortened.object.metadata.finalizers == ["foregroundDeletion"]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        pytest.param("2026-01-01T12:00:30Z", "2026-01-01T12:00:00Z", id="still to come"),
        pytest.param("2026-01-01T11:00:00Z", "2026-01-01T11:00:00Z", id="passed"),
    ],
)
def test_an_end_without_grace_is_now_at_the_latest(ends: str, expected: str) -> None:
    store = Store()
    given = replica_set("web").terminating(ends, grace_seconds=None).obj()
    given.metadata.finalizers = ["example.com/hold"]
    store.load([given], START)
    meta = store.delete(ReplicaSet, "default", "web", START).object.metadata
    assert ending(meta) == (expected, 0, 1)


def test_finalizers_keep_a_pod_after_its_grace_period() -> None:
    store = bound_store(finalizers=["example.com/hold"])
    store.delete(Pod, "default", "a", START)
    assert not store.delete(Pod, "default", "a", START, grace_seconds=0).gone
    assert ending(store.get(Pod, "default", "a").metadata) == ("2026-01-01T12:00:00Z", 0, 2)
    assert not store.delete(Pod, "default", "a", START, grace_seconds=0).gone
    assert types(store, 4) == []
    answer = store.modify(Pod, "default", "a", without_finalizers, START)
    assert (answer.metadata.finalizers, answer.metadata.resource_version) == ([], "4")
    assert store.find(Pod, "default", "a") is None
    (change,) = store.log.since(4)
    assert (change.type, change.resource_version) == ("DELETED", 5)
    assert change.new.metadata.finalizers == ["example.com/hold"]


def test_finalizers_gone_before_the_grace_period_is_over() -> None:
    """The pod stays until its kubelet is done."""
    store = bound_store(finalizers=["example.com/hold"])
    store.delete(Pod, "default", "a", START)
    store.modify(Pod, "default", "a", without_finalizers, START)
    assert store.get(Pod, "default", "a").metadata.finalizers == []
    assert store.delete(Pod, "default", "a", START, grace_seconds=0).gone


def test_a_status_write_may_take_the_last_finalizer() -> None:
    store = Store()
    given = deployment("web").manifest().obj()
    given.metadata.finalizers = ["example.com/hold"]
    store.create(given, START)
    store.delete(Deployment, "default", "web", START)
    store.modify_status(Deployment, "default", "web", without_finalizers, START)
    assert store.count(Deployment) == 0


def test_other_kinds_go_at_once() -> None:
    store = Store()
    store.create(node("n1").manifest().obj(), START)
    outcome = store.delete("Node", "", "n1", START, grace_seconds=100)
    assert outcome.gone
    assert outcome.object.metadata.deletion_timestamp is None
    assert outcome.object.metadata.resource_version == "2"
    assert types(store, 1) == ["DELETED"]


def test_other_kinds_wait_for_their_finalizers() -> None:
    """Marked once; asking again writes nothing; no new finalizer may come."""
    store = Store()
    given = deployment("web").manifest().obj()
    given.metadata.finalizers = ["example.com/hold", "example.com/more"]
    store.create(given, START)
    outcome = store.delete(Deployment, "default", "web", START)
    assert not outcome.gone
    assert ending(outcome.object.metadata) == ("2026-01-01T12:00:00Z", 0, 2)
    assert store.delete(Deployment, "default", "web", START + SECOND).object is outcome.object
    assert store.resource_version == 2

    def with_finalizers(*names: str) -> Callable[[Deployment], Deployment]:
        return lambda one: replace(one, metadata=replace(one.metadata, finalizers=list(names)))

    with pytest.raises(Invalid) as refused:
        store.modify(Deployment, "default", "web", with_finalizers("example.com/hold", "z/new", "b/new"), START)
    assert str(refused.value) == (
        'Deployment.apps "web" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the '
        'object is being deleted, found new finalizers []string{"b/new", "z/new"}'
    )
    store.modify(Deployment, "default", "web", with_finalizers("example.com/more"), START)
    assert store.count("Deployment") == 1
    store.modify(Deployment, "default", "web", with_finalizers(), START)
    assert store.count("Deployment") == 0


@pytest.mark.parametrize(
    ("propagation", "standing", "expected"),
    [
        pytest.param(None, [], [], id="nothing said"),
        pytest.param("Background", [], [], id="background"),
        pytest.param("Foreground", [], ["foregroundDeletion"], id="foreground"),
        pytest.param("Orphan", [], ["orphan"], id="orphan"),
        pytest.param("Foreground", ["x/y"], ["x/y", "foregroundDeletion"], id="beside another"),
        pytest.param(None, ["orphan"], ["orphan"], id="said before"),
        pytest.param("Background", ["orphan"], [], id="taken back"),
        pytest.param("Foreground", ["orphan"], ["foregroundDeletion"], id="changed"),
    ],
)
def test_dependents(propagation: str | None, standing: list[str], expected: list[str]) -> None:
    """What is to become of them stands as a finalizer; in the background is when there is none."""
    store = Store()
    given = replica_set("web").manifest().obj()
    given.metadata.finalizers = standing
    store.create(given, START)
    outcome = store.delete(ReplicaSet, "default", "web", START, propagation=propagation)
    assert outcome.gone == (not expected)
    if expected:
        assert outcome.object.metadata.finalizers == expected
        assert ending(outcome.object.metadata) == ("2026-01-01T12:00:00Z", 0, 2)


def test_jobs_and_replication_controllers_leave_their_pods_by_default() -> None:
    store = Store()
    store.create(job("once").manifest().obj(), START)
    store.create(replication_controller("old").manifest().obj(), START)
    assert store.delete(Job, "default", "once", START).object.metadata.finalizers == ["orphan"]
    assert store.delete(ReplicationController, "default", "old", START).object.metadata.finalizers == ["orphan"]


def test_a_pod_deleted_in_the_foreground_waits_for_the_collector() -> None:
    store = bound_store()
    store.delete(Pod, "default", "a", START, grace_seconds=0, propagation="Foreground")
    assert store.get(Pod, "default", "a").metadata.finalizers == ["foregroundDeletion"]
    store.modify(Pod, "default", "a", without_finalizers, START)
    assert store.count(Pod) == 0


REFUSED: list[Any] = [
    pytest.param(
        (Deployment, "default", "web"),
        {"uid": "other"},
        409,
        'Operation cannot be fulfilled on Deployment.apps "web": the UID in the precondition (other) does not match '
        "the UID in record (deployment-default-web-1). The object might have been deleted and then recreated",
        id="uid",
    ),
    pytest.param(
        (Deployment, "default", "web"),
        {"resource_version": "3"},
        409,
        'Operation cannot be fulfilled on Deployment.apps "web": the ResourceVersion in the precondition (3) does not '
        "match the ResourceVersion in record (1). The object might have been modified",
        id="version",
    ),
    pytest.param(
        (Deployment, "default", "web"),
        {"propagation": "Sideways"},
        422,
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values: '
        '"Foreground", "Background", "Orphan", "nil"',
        id="propagation",
    ),
    pytest.param((Pod, "default", "nope"), {}, 404, 'pods "nope" not found', id="missing"),
    pytest.param(
        (Namespace, "", "default"),
        {},
        403,
        'namespaces "default" is forbidden: this namespace may not be deleted',
        id="lasting namespace",
    ),
    pytest.param(
        (PriorityClass, "", "system-node-critical"),
        {},
        403,
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and '
        "cannot be deleted",
        id="system class",
    ),
]


@pytest.mark.parametrize(("key", "options", "code", "message"), REFUSED)
def test_refused_deletions(key: tuple[Any, str, str], options: dict[str, Any], code: int, message: str) -> None:
    store = Store()
    store.create(deployment("web").manifest().obj(), START)
    store.create(namespace("default").manifest().obj(), START)
    store.create(priority_class("system-node-critical", 2_000_001_000).manifest().obj(), START)
    with pytest.raises(ApiError) as refused:
        store.delete(*key, START, **options)
    assert (refused.value.code, str(refused.value)) == (code, message)
    assert store.resource_version == 3


def test_preconditions_that_hold() -> None:
    store = bound_store()
    assert store.delete(Pod, "default", "a", START, uid="pod-default-a-1", resource_version="2", grace_seconds=0).gone


def test_a_namespace_ends_when_it_is_said_to_be_empty() -> None:
    store = Store()
    store.create(namespace("shop").manifest().obj(), START)
    assert not store.finalize_namespace("shop", START).gone
    outcome = store.delete(Namespace, "", "shop", START)
    assert not outcome.gone
    marked = store.get(Namespace, "", "shop")
    assert (marked.status.phase, marked.metadata.deletion_timestamp) == ("Terminating", "2026-01-01T12:00:00Z")
    assert marked.metadata.deletion_grace_period_seconds is None
    assert store.delete(Namespace, "", "shop", START).object is marked
    with pytest.raises(Forbidden):
        store.create(pod("late", "shop").manifest().obj(), START)
    assert store.finalize_namespace("shop", START).gone
    with pytest.raises(NotFound):
        store.finalize_namespace("shop", START)


def test_a_name_may_come_back_with_another_uid() -> None:
    store = bound_store()
    first = store.get(Pod, "default", "a")
    store.delete(Pod, "default", "a", START, grace_seconds=0)
    second = store.create(pod("a").manifest().obj(), START)
    assert first.metadata.uid != second.metadata.uid
    assert store.pods_on_node("n1") == []
