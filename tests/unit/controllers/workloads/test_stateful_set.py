"""StatefulSets: the order of pods, their names, their claims, and new templates."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.workload_stage import OTHER_TEMPLATE, TEMPLATE, Workloads, requests

from bayplan.controllers.workloads.stateful_set import StatefulSetController
from bayplan.controllers.workloads.templates import REVISION_HASH
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.workloads import RollingUpdate, StatefulSet, StatefulSetOrdinals, UpdateStrategy
from bayplan.testing.builders import claim, pod, stateful_set


def stage_with(replicas: int, **spec: Any) -> Workloads:
    stage = Workloads(StatefulSetController())
    stage.create(stateful_set("db").replicas(replicas).set(**spec).template(TEMPLATE).manifest().obj())
    return stage


def running(replicas: int, **spec: Any) -> Workloads:
    stage = stage_with(replicas, **spec)
    for _ in range(replicas):
        stage.run_all()
    return stage


def use(stage: Workloads) -> None:
    stage.change(StatefulSet, "db", template=stateful_set("db").template(OTHER_TEMPLATE).obj().spec.template)


def by_name(stage: Workloads) -> dict[str, str]:
    return {one.metadata.name: requests([one])[0] for one in sorted(stage.active(), key=lambda p: p.metadata.name)}


def test_ordered_start() -> None:
    """Each pod is started when the one before is ready."""
    stage = stage_with(3)
    assert stage.names() == ["db-0"]
    stage.bind("db-0", "n1")
    assert stage.names() == ["db-0"]
    stage.run("db-0")
    assert stage.names() == ["db-0", "db-1"]
    stage.run("db-1")
    stage.run("db-2")
    assert stage.names() == ["db-0", "db-1", "db-2"]
    status = stage.get(StatefulSet, "db").status
    assert (status.replicas, status.ready_replicas, status.updated_replicas) == (3, 3, 3)


def test_identity() -> None:
    """A pod knows its name and its number."""
    stage = stage_with(1, ordinals=StatefulSetOrdinals(start=5))
    (made,) = stage.pods()
    assert made.metadata.name == "db-5"
    assert made.metadata.labels["statefulset.kubernetes.io/pod-name"] == "db-5"
    assert made.metadata.labels["apps.kubernetes.io/pod-index"] == "5"
    assert made.metadata.labels[REVISION_HASH].startswith("db-")


def test_parallel_start_and_end() -> None:
    """With Parallel all come at once and go at once."""
    stage = stage_with(3, pod_management_policy="Parallel")
    assert stage.names() == ["db-0", "db-1", "db-2"]
    stage.run_all()
    stage.change(StatefulSet, "db", replicas=1)
    assert stage.names() == ["db-0"]


def test_ordered_end() -> None:
    """The last goes first, and the next only when it is gone."""
    stage = running(3)
    stage.change(StatefulSet, "db", replicas=1)
    assert stage.names() == ["db-0", "db-1"]
    stage.stop("db-2")
    assert stage.names() == ["db-0"]
    stage.stop("db-1")
    assert stage.names() == ["db-0"]


def test_nothing_goes_while_one_is_not_ready() -> None:
    """Scaling down waits for the pods that stay."""
    stage = running(3)
    stage.unready("db-0")
    stage.change(StatefulSet, "db", replicas=2)
    assert stage.names() == ["db-0", "db-1", "db-2"]
    stage.run("db-0")
    assert stage.names() == ["db-0", "db-1"]


def test_an_evicted_pod_comes_back_under_its_name() -> None:
    """The name is free only when the victim is gone."""
    stage = running(2)
    uid = stage.pod("db-0").metadata.uid
    stage.evict("db-0")
    assert stage.names() == ["db-1"]
    assert stage.pod("db-0").metadata.uid == uid
    stage.stop("db-0")
    assert sorted(stage.names()) == ["db-0", "db-1"]
    assert stage.pod("db-0").metadata.uid != uid


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_an_ended_pod_is_replaced(phase: str) -> None:
    """It is deleted to make room for its successor."""
    stage = running(2)
    uid = stage.pod("db-1").metadata.uid
    stage.end("db-1", phase=phase)
    assert sorted(stage.names()) == ["db-0", "db-1"]
    assert stage.pod("db-1").metadata.uid != uid


def test_min_ready_seconds() -> None:
    """The next pod waits until the one before has been ready for a while."""
    stage = stage_with(2, min_ready_seconds=20)
    stage.run("db-0")
    stage.pass_time(19)
    assert stage.names() == ["db-0"]
    stage.pass_time(1)
    assert stage.names() == ["db-0", "db-1"]


def test_claims() -> None:
    """Claims are made for each pod, used by it, and outlive it."""
    stage = Workloads(StatefulSetController())
    made = stateful_set("db").replicas(1).template(TEMPLATE).claim_template(claim("data").storage("2Gi"))
    stage.create(made.manifest().obj())
    (one,) = stage.store.list(PersistentVolumeClaim)
    assert one.metadata.name == "data-db-0"
    assert one.metadata.owner_references == []
    (volume,) = stage.pod("db-0").spec.volumes
    assert volume.persistent_volume_claim is not None
    assert volume.persistent_volume_claim.claim_name == "data-db-0"
    uid = one.metadata.uid
    stage.run_all()
    stage.change(StatefulSet, "db", replicas=0)
    stage.stop_terminating()
    assert stage.pods() == []
    stage.change(StatefulSet, "db", replicas=2)
    stage.run_all()
    assert stage.store.list(PersistentVolumeClaim)[0].metadata.uid == uid
    assert [one.metadata.name for one in stage.store.list(PersistentVolumeClaim)] == ["data-db-0", "data-db-1"]


def test_rolling_update() -> None:
    """A new template is rolled out from the last pod to the first, one at a time."""
    stage = running(3)
    use(stage)
    assert by_name(stage) == {"db-0": "1", "db-1": "1"}
    stage.stop_terminating()
    assert by_name(stage) == {"db-0": "1", "db-1": "1", "db-2": "2"}
    stage.run("db-2")
    assert by_name(stage) == {"db-0": "1", "db-2": "2"}
    for _ in range(3):
        stage.stop_terminating()
        stage.run_all()
    assert by_name(stage) == {"db-0": "2", "db-1": "2", "db-2": "2"}
    status = stage.get(StatefulSet, "db").status
    assert (status.updated_replicas, status.current_replicas) == (3, 3)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param(
            UpdateStrategy(rolling_update=RollingUpdate(partition=2)),
            {"db-0": "1", "db-1": "1", "db-2": "2"},
            id="part",
        ),
        pytest.param(UpdateStrategy(type="OnDelete"), {"db-0": "1", "db-1": "1", "db-2": "1"}, id="on delete"),
    ],
)
def test_partial_updates(strategy: UpdateStrategy, expected: dict[str, str]) -> None:
    """Pods below the partition, or all of them, keep their template."""
    stage = running(3, update_strategy=strategy)
    use(stage)
    for _ in range(5):
        stage.stop_terminating()
        stage.run_all()
    assert by_name(stage) == expected


def test_a_pod_below_the_partition_comes_back_as_it_was() -> None:
    """Of the template before the last change; one at or above the partition, and all others without one, are new."""
    stage = running(3, update_strategy=UpdateStrategy(rolling_update=RollingUpdate(partition=2)))
    use(stage)
    for _ in range(5):
        stage.stop_terminating()
        stage.run_all()
    label = stage.pod("db-1").metadata.labels[REVISION_HASH]
    stage.evict("db-1", "db-2")
    for _ in range(5):
        stage.stop_terminating()
        stage.run_all()
    assert by_name(stage) == {"db-0": "1", "db-1": "1", "db-2": "2"}
    assert stage.pod("db-1").metadata.labels[REVISION_HASH] == label
    status = stage.get(StatefulSet, "db").status
    assert (status.current_revision, status.current_replicas, status.updated_replicas) == (label, 2, 1)


def test_several_at_once() -> None:
    """More pods than one may be exchanged at a time if the strategy says so."""
    stage = running(4, update_strategy=UpdateStrategy(rolling_update=RollingUpdate(max_unavailable="50%")))
    use(stage)
    assert by_name(stage) == {"db-0": "1", "db-1": "1"}


def test_loaded_pods_are_not_exchanged() -> None:
    """The hashes of another cluster mean nothing here; only a change of the template does."""
    stage = Workloads(StatefulSetController())
    owner = stateful_set("db").replicas(2).template(TEMPLATE)
    pods = [
        pod(f"db-{i}").labels({"app": "x", REVISION_HASH: "db-79b"}).cpu("1").owner(owner).running("n1").obj()
        for i in range(2)
    ]
    stage.load(owner.obj(), *pods)
    assert [one.metadata.deletion_timestamp for one in stage.store.list(Pod)] == [None, None]
    use(stage)
    assert stage.pod("db-1").metadata.deletion_timestamp is not None
