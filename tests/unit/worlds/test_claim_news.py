"""Why claims wait, by their class."""

from __future__ import annotations

import pytest
from tests.support.controller_stage import Stage

from bayplan.model.meta import ObjectMeta
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.volumes import PersistentVolumeClaimSpec
from bayplan.worlds.claim_news import ClaimNews
from bayplan.worlds.controller_events import EventText

CLASSES = (
    StorageClass(
        metadata=ObjectMeta(name="late"), provisioner="x.example.com", volume_binding_mode="WaitForFirstConsumer"
    ),
    StorageClass(metadata=ObjectMeta(name="made"), provisioner="x.example.com", volume_binding_mode="Immediate"),
    StorageClass(metadata=ObjectMeta(name="local"), provisioner="kubernetes.io/no-provisioner"),
)


@pytest.mark.parametrize(
    ("class_name", "reasons"),
    [
        ("late", ["WaitForFirstConsumer"]),
        ("made", ["ExternalProvisioning"]),
        ("local", []),
        ("unknown", []),
        ("", ["FailedBinding"]),
    ],
)
def test_why_a_claim_waits(class_name: str, reasons: list[str]) -> None:
    heard: list[str] = []

    def say(component: str, said: EventText, now: int) -> None:
        heard.append(said.reason)

    stage = Stage(ClaimNews(say))
    stage.create(*CLASSES)
    spec = PersistentVolumeClaimSpec(storage_class_name=class_name)
    stage.create(PersistentVolumeClaim(metadata=ObjectMeta(name="data", namespace="default"), spec=spec))
    assert heard == reasons
