"""Kinds in paths."""

from __future__ import annotations

import pytest

from bayplan.client.paths import list_path
from bayplan.model.kinds import KINDS


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Pod", "/api/v1/pods"),
        ("PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses"),
        ("CSIStorageCapacity", "/apis/storage.k8s.io/v1/csistoragecapacities"),
        ("DeviceTaintRule", "/apis/resource.k8s.io/v1beta2/devicetaintrules"),
    ],
)
def test_where_a_kind_is(kind: str, path: str) -> None:
    assert list_path(KINDS[kind]) == path
