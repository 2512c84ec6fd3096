"""Rows of nodes, namespaces and what belongs to the cluster itself."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.cluster import API_SERVICES, COMPONENT_STATUSES, NAMESPACES, NODES, RUNTIME_CLASSES
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
CREATED = "2026-01-01T00:00:00Z"
NOW = parse_time("2026-01-01T00:01:00Z")


def named(name: str = "x", *, labels: dict[str, str] | None = None, **fields: Any) -> Part:
    return {"metadata": {"name": name, "creationTimestamp": CREATED, "labels": labels or {}}, **fields}


@pytest.mark.parametrize(
    ("spec", "conditions", "status"),
    [
        ({}, [], "Unknown"),
        ({}, [{"type": "Ready", "status": "True"}], "Ready"),
        ({}, [{"type": "Ready", "status": "False"}], "NotReady"),
        ({}, [{"type": "Ready", "status": "Unknown"}], "NotReady"),
        ({"unschedulable": True}, [{"type": "Ready", "status": "True"}], "Ready,SchedulingDisabled"),
        ({"unschedulable": True}, [], "Unknown,SchedulingDisabled"),
        ({}, [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}], "NotReady"),
    ],
)
def test_a_nodes_status_comes_from_its_conditions(spec: Part, conditions: list[Part], status: str) -> None:
    assert NODES.cells(named(spec=spec, status={"conditions": conditions}), NOW)[1] == status


@pytest.mark.parametrize(
    ("labels", "roles"),
    [
        ({}, "<none>"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}, "control-plane,worker"),
        ({"kubernetes.io/role": "edge", "node-role.kubernetes.io/": ""}, "edge"),
    ],
)
def test_a_nodes_roles_come_from_its_labels(labels: dict[str, str], roles: str) -> None:
    assert NODES.cells(named(labels=labels), NOW)[2] == roles


def test_what_a_node_does_not_say_is_unknown() -> None:
    assert NODES.cells(named(), NOW)[3:] == [
        "60s",
        "",
        "<none>",
        "<none>",
        "<unknown>",
        "<unknown>",
        "<unknown>",
    ]


def test_a_node_shows_its_first_addresses_and_versions() -> None:
    info = {
        "kubeletVersion": "v1.36.4",
        "osImage": "Debian",
        "kernelVersion": "6.1",
        "architecture": "amd64",
        "containerRuntimeVersion": "containerd://2",
    }
    addresses = [
        {"type": "Hostname", "address": "n"},
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "InternalIP", "address": "10.0.0.2"},
        {"type": "ExternalIP", "address": "192.0.2.1"},
    ]
    cells = NODES.cells(named(status={"nodeInfo": info, "addresses": addresses}), NOW)
    assert cells[4:] == ["v1.36.4", "10.0.0.1", "192.0.2.1", "Debian", "6.1 (amd64)", "containerd://2"]


def test_a_namespace_shows_its_phase() -> None:
    assert NAMESPACES.cells(named(status={"phase": "Terminating"}), NOW) == ["x", "Terminating", "60s"]


@pytest.mark.parametrize(
    ("conditions", "cells"),
    [
        ([], ["x", "Unknown", "", ""]),
        ([{"type": "Healthy", "status": "True", "message": "ok"}], ["x", "Healthy", "ok", ""]),
        ([{"type": "Healthy", "status": "False", "error": "no"}], ["x", "Unhealthy", "", "no"]),
    ],
)
def test_a_component_shows_its_health(conditions: list[Part], cells: list[str]) -> None:
    assert COMPONENT_STATUSES.cells(named(conditions=conditions), NOW) == cells


@pytest.mark.parametrize(
    ("spec", "conditions", "cells"),
    [
        ({}, [], ["x", "Local", "Unknown", "60s"]),
        (
            {"service": {"namespace": "a", "name": "b"}},
            [{"type": "Available", "status": "True", "reason": "Passed"}],
            ["x", "a/b", "True", "60s"],
        ),
        (
            {},
            [{"type": "Available", "status": "False", "reason": "ServiceNotFound"}],
            ["x", "Local", "False (ServiceNotFound)", "60s"],
        ),
    ],
)
def test_an_api_service_says_whether_it_is_available(spec: Part, conditions: list[Part], cells: list[str]) -> None:
    assert API_SERVICES.cells(named(spec=spec, status={"conditions": conditions}), NOW) == cells


def test_a_runtime_class_shows_its_handler() -> None:
    assert RUNTIME_CLASSES.cells(named(handler="runsc"), NOW) == ["x", "runsc", "60s"]
