"""Leases."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import NOW, Documents, admitted, document, namespace, resource_named

from bayplan.apiserver.registry.admission import admit_update
from bayplan.apiserver.schema.versions import serving

ELECTION = {"strategy": "OldestEmulationVersion", "preferredHolder": "h"}


def lease(**spec: Any) -> dict[str, Any]:
    return document("coordination.k8s.io/v1", "Lease", spec)


def updated(old: dict[str, Any], spec: dict[str, Any]) -> Any:
    return admit_update(resource_named(old), {**old, "spec": spec}, old, Documents(namespace("default")), NOW)["spec"]


def test_what_elections_need_is_dropped_where_there_are_none() -> None:
    old = admitted(lease(holderIdentity="h", **ELECTION))
    assert old["spec"] == {"holderIdentity": "h"}
    assert updated(old, {"holderIdentity": "i", **ELECTION}) == {"holderIdentity": "i"}


@pytest.mark.parametrize("field", ELECTION)
def test_what_is_there_already_may_stay(field: str) -> None:
    old = admitted(lease(holderIdentity="h"))
    standing = {"strategy": ELECTION["strategy"], field: ELECTION[field]}
    old["spec"] |= standing
    assert updated(old, {"holderIdentity": "h", **ELECTION}) == {"holderIdentity": "h", **standing}


def test_it_is_kept_where_there_are_elections() -> None:
    with serving("1.36", {"CoordinatedLeaderElection": True}):
        assert admitted(lease(**ELECTION))["spec"] == ELECTION
