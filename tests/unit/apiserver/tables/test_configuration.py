"""Rows of config maps, quotas, leases, priority classes, bindings and requests for certificates."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.columns import Printer
from bayplan.apiserver.tables.configuration import (
    CERTIFICATE_SIGNING_REQUESTS,
    CONFIG_MAPS,
    LEASES,
    PRIORITY_CLASSES,
    RESOURCE_QUOTAS,
    ROLE_BINDINGS,
    SECRETS,
)
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")
QUOTA = {
    "hard": {"requests.cpu": "2", "limits.cpu": "4", "pods": "10"},
    "used": {"requests.cpu": "500m", "limits.cpu": "1"},
}


def named(**fields: Any) -> Part:
    return {"metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"}, **fields}


@pytest.mark.parametrize(
    ("printer", "fields", "cells"),
    [
        pytest.param(CONFIG_MAPS, {"data": {"a": ""}, "binaryData": {"b": ""}}, ["x", 2, "60s"], id="both data count"),
        pytest.param(SECRETS, {"type": "Opaque", "data": {"a": ""}}, ["x", "Opaque", 1, "60s"], id="secret"),
        pytest.param(LEASES, {"spec": {"holderIdentity": "me"}}, ["x", "me", "60s"], id="lease"),
        pytest.param(LEASES, {}, ["x", "", "60s"], id="lease that nobody holds"),
        pytest.param(
            RESOURCE_QUOTAS,
            {"status": QUOTA},
            ["x", "pods: 0/10, requests.cpu: 500m/2", "limits.cpu: 1/4", "60s"],
            id="quota",
        ),
        pytest.param(RESOURCE_QUOTAS, {}, ["x", "", "", "60s"], id="quota without status"),
        pytest.param(
            PRIORITY_CLASSES,
            {"value": 7, "globalDefault": True, "preemptionPolicy": "Never"},
            ["x", 7, True, "60s", "Never"],
            id="priority class",
        ),
        pytest.param(
            PRIORITY_CLASSES,
            {"value": -1, "preemptionPolicy": "PreemptLowerPriority"},
            ["x", -1, False, "60s", "PreemptLowerPriority"],
            id="priority class that is not the default",
        ),
    ],
)
def test_cells(printer: Printer, fields: Part, cells: list[Any]) -> None:
    assert printer.cells(named(**fields), NOW) == cells


def test_a_binding_sorts_its_subjects_by_kind() -> None:
    subjects = [
        {"kind": "User", "name": "u1"},
        {"kind": "Group", "name": "g1"},
        {"kind": "User", "name": "u2"},
        {"kind": "ServiceAccount", "namespace": "ns", "name": "s1"},
    ]
    binding = named(roleRef={"kind": "ClusterRole", "name": "view"}, subjects=subjects)
    assert ROLE_BINDINGS.cells(binding, NOW) == ["x", "ClusterRole/view", "60s", "u1, u2", "g1", "ns/s1"]


@pytest.mark.parametrize(
    ("conditions", "certificate", "state"),
    [
        ([], "", "Pending"),
        (["Approved"], "", "Approved"),
        (["Approved"], "MII", "Approved,Issued"),
        (["Approved", "Denied"], "", "Denied"),
        (["Approved", "Failed"], "", "Approved,Failed"),
    ],
)
def test_a_request_for_a_certificate_shows_what_became_of_it(
    conditions: list[str], certificate: str, state: str
) -> None:
    status = {"conditions": [{"type": kind} for kind in conditions], "certificate": certificate}
    assert CERTIFICATE_SIGNING_REQUESTS.cells(named(status=status), NOW)[5] == state


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({}, ["<none>", "", "<none>"]),
        ({"signerName": "s", "username": "u", "expirationSeconds": 3600}, ["s", "u", "60m"]),
    ],
)
def test_a_request_for_a_certificate_shows_signer_and_requestor(spec: Part, cells: list[str]) -> None:
    assert CERTIFICATE_SIGNING_REQUESTS.cells(named(spec=spec), NOW)[2:5] == cells
