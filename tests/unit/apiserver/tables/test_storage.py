"""Rows of volumes, claims, classes and CSI drivers."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.storage import (
    CSI_DRIVERS,
    CSI_NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    VOLUME_ATTRIBUTES_CLASSES,
)
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")
DELETED = {"deletionTimestamp": "2026-01-01T00:00:30Z"}


def named(metadata: Part | None = None, **fields: Any) -> Part:
    return {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z", **(metadata or {})}, **fields}


def test_a_bare_volume_has_no_capacity() -> None:
    assert PERSISTENT_VOLUMES.cells(named(), NOW) == ["x", "0", "", "", "", "", "", "<unset>", "", "60s", "<unset>"]


def test_a_volume_shows_capacity_modes_and_claim() -> None:
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod", "ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "shop", "name": "data"},
        "storageClassName": "fast",
        "volumeAttributesClassName": "gold",
        "volumeMode": "Block",
    }
    volume = named(spec=spec, status={"phase": "Bound", "reason": "why"})
    assert PERSISTENT_VOLUMES.cells(volume, NOW) == [
        "x",
        "10Gi",
        "RWO,ROX,RWX,RWOP",
        "Retain",
        "Bound",
        "shop/data",
        "fast",
        "gold",
        "why",
        "60s",
        "Block",
    ]


def test_a_claim_without_a_volume_shows_neither_capacity_nor_modes() -> None:
    claim = named(
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        status={"phase": "Pending"},
    )
    assert PERSISTENT_VOLUME_CLAIMS.cells(claim, NOW) == ["x", "Pending", "", "", "", "", "<unset>", "60s", "<unset>"]


def test_a_bound_claim_shows_what_it_got() -> None:
    claim = named(
        spec={"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"},
        status={"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOncePod"]},
    )
    cells = ["x", "Bound", "v", "2Gi", "RWOP", "fast", "<unset>", "60s", "Filesystem"]
    assert PERSISTENT_VOLUME_CLAIMS.cells(claim, NOW) == cells


def test_what_is_deleted_terminates() -> None:
    assert PERSISTENT_VOLUME_CLAIMS.cells(named(DELETED, status={"phase": "Bound"}), NOW)[1] == "Terminating"
    assert PERSISTENT_VOLUMES.cells(named(DELETED, status={"phase": "Bound"}), NOW)[4] == "Terminating"


def test_the_old_annotation_names_the_class_first() -> None:
    claim = named({"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}, spec={"storageClassName": "new"})
    assert PERSISTENT_VOLUME_CLAIMS.cells(claim, NOW)[5] == "old"


@pytest.mark.parametrize(
    ("annotations", "fields", "cells"),
    [
        ({}, {"provisioner": "p"}, ["x", "p", "Delete", "Immediate", False]),
        (
            {"storageclass.kubernetes.io/is-default-class": "true"},
            {
                "provisioner": "p",
                "reclaimPolicy": "Retain",
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": True,
            },
            ["x (default)", "p", "Retain", "WaitForFirstConsumer", True],
        ),
    ],
)
def test_a_storage_class_marks_the_default(annotations: Part, fields: Part, cells: list[Any]) -> None:
    assert STORAGE_CLASSES.cells(named({"annotations": annotations}, **fields), NOW) == [*cells, "60s"]


def test_an_attachment_shows_volume_and_node() -> None:
    attachment = named(
        spec={"attacher": "d", "source": {"persistentVolumeName": "v"}, "nodeName": "n"}, status={"attached": True}
    )
    assert VOLUME_ATTACHMENTS.cells(attachment, NOW) == ["x", "d", "v", "n", True, "60s"]


def test_an_attributes_class_shows_its_driver() -> None:
    assert VOLUME_ATTRIBUTES_CLASSES.cells(named(driverName="d"), NOW) == ["x", "d", "60s"]


def test_a_csi_node_counts_its_drivers() -> None:
    assert CSI_NODES.cells(named(spec={"drivers": [{}, {}]}), NOW) == ["x", 2, "60s"]


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({}, [True, False, False, "<unset>", False, "<none>"]),
        (
            {
                "attachRequired": False,
                "podInfoOnMount": True,
                "storageCapacity": True,
                "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                "requiresRepublish": True,
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            },
            [False, True, True, "a,b", True, "Persistent,Ephemeral"],
        ),
    ],
)
def test_a_csi_driver_shows_what_it_does(spec: Part, cells: list[Any]) -> None:
    assert CSI_DRIVERS.cells(named(spec=spec), NOW) == ["x", *cells, "60s"]
