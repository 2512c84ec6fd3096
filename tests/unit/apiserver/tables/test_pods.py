"""The row of a pod: what its containers, conditions and deletion make of it."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.pods import PODS, pod_cells
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T01:00:00Z")
RUNNING: Part = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
READY = {"type": "Ready", "status": "True"}
INITIALIZED = {"type": "Initialized", "status": "True"}


def pod(status: Part, *, containers: int = 2, init: list[Part] | None = None, **metadata: Any) -> Part:
    spec: Part = {"containers": [{"name": f"c{number}"} for number in range(containers)]}
    if init is not None:
        spec["initContainers"] = init
    metadata = {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    return {"metadata": metadata, "spec": spec, "status": status}


def container(name: str = "c0", *, restarts: int = 0, last_end: str = "", **fields: Any) -> Part:
    last = {"lastState": {"terminated": {"finishedAt": last_end, "exitCode": 1}}} if last_end else {}
    return {"name": name, "restartCount": restarts, **last, **fields}


def ready_container(name: str = "c0", **fields: Any) -> Part:
    return container(name, ready=True, state=RUNNING, **fields)


def waiting(reason: str) -> Part:
    return {"waiting": {"reason": reason}}


def terminated(code: int, reason: str = "", **fields: int) -> Part:
    return {"terminated": {"exitCode": code, **({"reason": reason} if reason else {}), **fields}}


def summary(document: Part) -> tuple[str, str, str]:
    """Ready, status, restarts."""
    cells = pod_cells(document, NOW)
    return cells[1], cells[2], cells[3]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"phase": "Pending"}, ("0/2", "Pending", "0"), id="no statuses yet"),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted"}, ("0/2", "Evicted", "0"), id="the pod's reason, not its phase"
        ),
        pytest.param(
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            ("0/2", "SchedulingGated", "0"),
            id="gated",
        ),
        pytest.param(
            {"phase": "Running", "containerStatuses": [ready_container(), ready_container("c1")]},
            ("2/2", "Running", "0"),
            id="all run",
        ),
        pytest.param(
            {"phase": "Running", "containerStatuses": [container(state=waiting("CrashLoopBackOff"), restarts=3)]},
            ("0/2", "CrashLoopBackOff", "3"),
            id="a container waits",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [
                    container(state=waiting("ImagePullBackOff")),
                    container("c1", state=waiting("CrashLoopBackOff")),
                ],
            },
            ("0/2", "ImagePullBackOff", "0"),
            id="the first container's reason counts",
        ),
        pytest.param(
            {"phase": "Succeeded", "containerStatuses": [container(state=terminated(0, "Completed"))]},
            ("0/2", "Completed", "0"),
            id="completed",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container(state=terminated(137, signal=9))]},
            ("0/2", "Signal:9", "0"),
            id="ended by a signal",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container(state=terminated(2))]},
            ("0/2", "ExitCode:2", "0"),
            id="ended with a code",
        ),
        pytest.param(
            {
                "phase": "Running",
                "conditions": [READY],
                "containerStatuses": [container(state=terminated(0, "Completed")), ready_container("c1")],
            },
            ("1/2", "Running", "0"),
            id="one is done, the other runs and the pod is ready",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [container(state=terminated(0, "Completed")), ready_container("c1")],
            },
            ("1/2", "NotReady", "0"),
            id="one is done, the other runs and the pod is not ready",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [
                    container(state=terminated(0, "Completed")),
                    container("c1", state=terminated(1, "Error")),
                ],
            },
            ("0/2", "Error", "0"),
            id="one is done, the other failed",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [
                    ready_container(restarts=2, last_end="2026-01-01T00:40:00Z"),
                    ready_container("c1", restarts=1, last_end="2026-01-01T00:58:00Z"),
                ],
            },
            ("2/2", "Running", "3 (2m ago)"),
            id="the last restart of any container",
        ),
    ],
)
def test_containers_make_the_summary(status: Part, expected: tuple[str, str, str]) -> None:
    assert summary(pod(status)) == expected


SIDECAR = {"name": "side", "restartPolicy": "Always"}
PLAIN = {"name": "init"}


@pytest.mark.parametrize(
    ("init", "statuses", "expected"),
    [
        pytest.param([PLAIN, PLAIN], [container("init")], ("0/2", "Init:0/2", "0"), id="the first is not done"),
        pytest.param(
            [PLAIN, PLAIN],
            [container("init", state=terminated(0)), container("init", state=waiting("PodInitializing"))],
            ("0/2", "Init:1/2", "0"),
            id="the second is not done",
        ),
        pytest.param(
            [PLAIN],
            [container("init", state=waiting("CrashLoopBackOff"), restarts=4, last_end="2026-01-01T00:59:30Z")],
            ("0/2", "Init:CrashLoopBackOff", "4 (30s ago)"),
            id="waiting",
        ),
        pytest.param(
            [PLAIN], [container("init", state=terminated(1, "Error"))], ("0/2", "Init:Error", "0"), id="failed"
        ),
        pytest.param(
            [PLAIN], [container("init", state=terminated(3))], ("0/2", "Init:ExitCode:3", "0"), id="ended with a code"
        ),
        pytest.param(
            [PLAIN],
            [container("init", state=terminated(1, signal=15))],
            ("0/2", "Init:Signal:15", "0"),
            id="ended by a signal",
        ),
        pytest.param(
            [SIDECAR, PLAIN],
            [container("side", started=True, ready=True, state=RUNNING), container("init")],
            ("1/3", "Init:1/2", "0"),
            id="a sidecar counts once it has started",
        ),
        pytest.param(
            [SIDECAR], [container("side", started=False)], ("0/3", "Init:0/1", "0"), id="a sidecar that has not started"
        ),
    ],
)
def test_init_containers_come_first(init: list[Part], statuses: list[Part], expected: tuple[str, str, str]) -> None:
    assert summary(pod({"phase": "Pending", "initContainerStatuses": statuses}, init=init)) == expected


def test_restarts_of_finished_init_containers_do_not_count_and_those_of_sidecars_do() -> None:
    status = {
        "phase": "Running",
        "initContainerStatuses": [
            container("init", state=terminated(0), restarts=5, last_end="2026-01-01T00:59:50Z"),
            container("side", started=True, ready=True, restarts=2, last_end="2026-01-01T00:59:00Z"),
        ],
        "containerStatuses": [ready_container(restarts=1), ready_container("c1")],
    }
    assert summary(pod(status, init=[PLAIN, SIDECAR])) == ("3/3", "Running", "3 (60s ago)")


def test_containers_show_while_an_init_container_runs_again() -> None:
    status = {
        "phase": "Running",
        "conditions": [INITIALIZED],
        "initContainerStatuses": [container("side", started=False)],
        "containerStatuses": [ready_container(), ready_container("c1")],
    }
    assert summary(pod(status, init=[SIDECAR])) == ("2/3", "Init:0/1", "0")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Failed"}, "Failed"),
    ],
)
def test_a_deleted_pod_terminates_unless_it_is_over(status: Part, expected: str) -> None:
    assert pod_cells(pod(status, deletionTimestamp="2026-01-01T00:59:00Z"), NOW)[2] == expected


def test_wide_cells_are_none_where_nothing_is_known() -> None:
    assert pod_cells(pod({}), NOW)[4:] == ["60m", "<none>", "<none>", "<none>", "<none>"]


def test_wide_cells_show_addresses_nodes_and_gates() -> None:
    document = pod(
        {
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            "nominatedNodeName": "n2",
            "conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
        }
    )
    document["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": gate} for gate in ("a", "b", "c")]}
    assert pod_cells(document, NOW)[5:] == ["10.0.0.1", "n1", "n2", "1/3"]


@pytest.mark.parametrize(
    ("phase", "marks"),
    [
        ("Running", []),
        ("Succeeded", [("Succeeded", "The pod has completed successfully.")]),
        ("Failed", [("Failed", "The pod failed.")]),
    ],
)
def test_the_row_of_a_pod_that_is_over_is_marked(phase: str, marks: list[tuple[str, str]]) -> None:
    conditions = PODS.conditions(pod({"phase": phase}))
    assert [(item["reason"], item["message"]) for item in conditions or ()] == marks
    assert all((item["type"], item["status"]) == ("Completed", "True") for item in conditions or ())


def test_a_bookmark_has_a_row_too() -> None:
    assert pod_cells({"metadata": {"resourceVersion": "5"}}, NOW)[:5] == ["", "0/0", "", "0", "<unknown>"]
