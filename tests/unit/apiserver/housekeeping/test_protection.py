"""Claims, volumes and classes of attributes in use outlive their deletion."""

from __future__ import annotations

from tests.support.api_server import PODS
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.protection import VolumeProtection

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def test_a_claim_goes_after_its_last_pod() -> None:
    stage = Stage([VolumeProtection()])
    stage.post(CLAIMS, metadata=named("data"), spec=STORAGE)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": [volume]}
    stage.post(PODS, metadata=named("user"), spec=spec)
    stage.delete(f"{CLAIMS}/data")
    assert stage.names(CLAIMS) == ["data"]
    stage.delete(f"{PODS}/user", gracePeriodSeconds=0)
    assert stage.names(CLAIMS) == []


def test_a_volume_that_is_bound_stays() -> None:
    stage = Stage([VolumeProtection()])
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    stage.post(VOLUMES, metadata=named("disk"), spec=spec)
    stage.patch(f"{VOLUMES}/disk/status", status={"phase": "Bound"})
    stage.delete(f"{VOLUMES}/disk")
    assert stage.names(VOLUMES) == ["disk"]
    stage.patch(f"{VOLUMES}/disk/status", status={"phase": "Released"})
    assert stage.names(VOLUMES) == []


def test_a_class_of_attributes_goes_after_its_last_claim() -> None:
    stage = Stage([VolumeProtection()])
    stage.post(CLASSES, metadata=named("gold"), driverName="x.example.com", parameters={"iops": "1"})
    stage.post(CLASSES, metadata=named("unused"), driverName="x.example.com", parameters={"iops": "1"})
    stage.post(CLAIMS, metadata=named("data"), spec={**STORAGE, "volumeAttributesClassName": "gold"})
    stage.delete(f"{CLASSES}/gold")
    stage.delete(f"{CLASSES}/unused")
    assert stage.names(CLASSES) == ["gold"]
    stage.delete(f"{CLAIMS}/data")
    assert stage.names(CLASSES) == []
