"""Rows of claims to devices and of the devices that nodes offer."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.devices import RESOURCE_CLAIMS, RESOURCE_SLICES
from bayplan.model.timestamps import parse_time

NOW = parse_time("2026-01-01T00:01:00Z")


@pytest.mark.parametrize(
    ("status", "is_deleted", "state"),
    [
        ({}, False, "pending"),
        ({}, True, "deleted"),
        ({"allocation": {}}, False, "allocated"),
        ({"allocation": {}, "reservedFor": [{}]}, False, "allocated,reserved"),
        ({"allocation": {}, "reservedFor": [{}]}, True, "deleted,allocated,reserved"),
    ],
)
def test_a_claims_state_comes_from_its_status(status: dict[str, Any], is_deleted: bool, state: str) -> None:
    metadata = {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if is_deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    assert RESOURCE_CLAIMS.cells({"metadata": metadata, "status": status}, NOW) == ["x", state, "60s"]


@pytest.mark.parametrize(("node", "cell"), [({"nodeName": "n"}, "n"), ({"allNodes": True}, "")])
def test_a_slice_shows_node_driver_and_pool(node: dict[str, Any], cell: str) -> None:
    spec = {**node, "driver": "d.example", "pool": {"name": "p"}}
    document = {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec}
    assert RESOURCE_SLICES.cells(document, NOW) == ["x", cell, "d.example", "p", "60s"]
