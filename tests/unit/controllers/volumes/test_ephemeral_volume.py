"""Generic ephemeral volumes: the pod brings a template, the claim comes and goes with it."""

from __future__ import annotations

from tests.support.workload_stage import Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.volumes.ephemeral_volume import EphemeralVolumeController
from bayplan.controllers.volumes.persistent_volume import PersistentVolumeController
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.volumes import PersistentVolumeClaimSpec, VolumeResourceRequirements
from bayplan.testing.builders import claim, pod, storage_class

SPEC = PersistentVolumeClaimSpec(
    access_modes=["ReadWriteOnce"], resources=VolumeResourceRequirements(requests={"storage": "1Gi"})
)


def claims(stage: Workloads) -> list[str]:
    return [one.metadata.name for one in stage.store.list(PersistentVolumeClaim)]


def stage() -> Workloads:
    made = Workloads(EphemeralVolumeController(), PersistentVolumeController(), GarbageCollector())
    made.create(storage_class("standard", default=True).manifest().obj())
    return made


def test_the_claim_comes_and_goes_with_the_pod() -> None:
    """Named after pod and volume, owned by the pod, bound by whoever binds claims."""
    world = stage()
    world.create(pod("web").ephemeral("scratch", SPEC).ephemeral("cache", SPEC).manifest().obj())
    assert claims(world) == ["web-scratch", "web-cache"]
    made = world.get(PersistentVolumeClaim, "web-scratch")
    assert [(one.kind, one.uid, one.controller) for one in made.metadata.owner_references] == [
        ("Pod", world.pod("web").metadata.uid, True)
    ]
    assert made.spec.storage_class_name == "standard"
    world.pass_time(10)
    assert world.get(PersistentVolumeClaim, "web-scratch").status.phase == "Bound"
    world.stop("web")
    assert claims(world) == []
    assert world.store.list(PersistentVolume) == []


def test_a_claim_that_is_deleted_comes_again() -> None:
    world = stage()
    world.create(pod("web").ephemeral("scratch", SPEC).manifest().obj())
    before = world.get(PersistentVolumeClaim, "web-scratch").metadata.uid
    world.delete(PersistentVolumeClaim, "default", "web-scratch")
    assert world.get(PersistentVolumeClaim, "web-scratch").metadata.uid != before


def test_somebody_elses_claim_is_left_alone() -> None:
    world = stage()
    world.create(claim("web-scratch").manifest().obj())
    world.create(pod("web").ephemeral("scratch", SPEC).manifest().obj())
    assert world.get(PersistentVolumeClaim, "web-scratch").metadata.owner_references == []


def test_pods_without_such_volumes_get_none() -> None:
    world = stage()
    world.create(pod("web").manifest().obj())
    assert claims(world) == []
