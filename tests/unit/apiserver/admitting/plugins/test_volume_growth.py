"""Claims that ask for more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, document, namespace, resource_named

from bayplan.apiserver.registry.admission import admit_update
from bayplan.store.errors import ApiError

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "x"}
BIGGER = {"requests": {"storage": "2Gi"}}


def _grown(storage_class: dict[str, Any]) -> dict[str, Any]:
    old = {**admitted(document("v1", "PersistentVolumeClaim", CLAIM)), "status": {"phase": "Bound"}}
    new = {**old, "spec": {**old["spec"], "resources": BIGGER}}
    cluster = Documents(namespace("default"), storage_class)
    return admit_update(resource_named(old), new, old, cluster, NOW)


def test_a_claim_grows_if_its_class_lets_it() -> None:
    growing = document("storage.k8s.io/v1", "StorageClass", provisioner="p", allowVolumeExpansion=True)
    assert _grown(growing)["spec"]["resources"] == BIGGER


def test_it_does_not_if_its_class_does_not() -> None:
    with pytest.raises(ApiError) as caught:
        _grown(document("storage.k8s.io/v1", "StorageClass", provisioner="p"))
    assert caught.value.message == (
        'persistentvolumeclaims "x" is forbidden: only dynamically provisioned pvc can be resized and the storageclass '
        "that provisions the pvc must support resize"
    )
