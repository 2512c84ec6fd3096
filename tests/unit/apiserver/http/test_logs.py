"""Logs say what happened to a container, and are refused as in the real server."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import PODS, Api, pod

THEN, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"
RUNNING = {"running": {"startedAt": THEN}}
ENDED = {"terminated": {"exitCode": 3, "reason": "Error", "startedAt": THEN, "finishedAt": LATER}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def api_with(*names: str, node: str = "n1", inits: tuple[str, ...] = (), **status: Any) -> Api:
    """A pod with these containers, the first of which has this status."""
    api = Api()
    api.post(
        "/api/v1/nodes", {"metadata": {"name": "n1"}, "status": {"addresses": [{"type": "Hostname", "address": "n1"}]}}
    )
    made = pod()
    made["spec"] = {"containers": [{"name": name, "image": "busybox"} for name in names]}
    if inits:
        made["spec"]["initContainers"] = [{"name": name, "image": "busybox"} for name in inits]
    if node:
        made["spec"]["nodeName"] = node
    api.post(PODS, made)
    if status:
        known = {"name": names[0], "image": "busybox", "imageID": "", "ready": True, "restartCount": 0, **status}
        api.patch(f"{PODS}/p/status", {"status": {"containerStatuses": [known]}})
    return api


def log(api: Api, query: str = "") -> list[str]:
    answer = api.answer("GET", f"{PODS}/p/log{query}")
    assert (answer.status, answer.content_type) == (200, "text/plain"), answer.body
    return answer.body.decode().splitlines()


STARTED = "container c started on n1 (simulated: image busybox was not run)"
FAILED = "container c ended: Error, exit code 3"


def test_a_container_that_runs() -> None:
    api = api_with("c", state=RUNNING)
    assert log(api) == [STARTED]
    assert log(api, "?timestamps=true") == [f"{THEN} {STARTED}"]


def test_a_container_that_has_ended() -> None:
    assert log(api_with("c", state=ENDED)) == [STARTED, FAILED]


def test_a_container_that_was_restarted() -> None:
    """While it waits for the next start its last one counts; `previous` is about that, too."""
    api = api_with("c", state=WAITING, lastState=ENDED, restartCount=2)
    assert log(api) == [STARTED, "container c was restarted 2 times", FAILED]
    assert log(api, "?previous=true") == [STARTED, FAILED]


def test_a_victim_and_a_pod_that_goes() -> None:
    api = api_with("c", state=RUNNING)
    condition = {"type": "DisruptionTarget", "status": "True", "message": "preempted", "lastTransitionTime": LATER}
    api.patch(f"{PODS}/p/status", {"status": {"conditions": [condition]}})
    api.delete(f"{PODS}/p")
    assert log(api) == [STARTED, "pod p: preempted", "pod p is being deleted"]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("?tailLines=1", [FAILED]),
        ("?tailLines=0", []),
        ("?limitBytes=9", ["container"]),
        (f"?sinceTime={LATER}", [FAILED]),
        ("?sinceSeconds=5", [STARTED, FAILED]),
        ("?sinceSeconds=4", [FAILED]),
    ],
)
def test_parts_of_a_log(query: str, lines: list[str]) -> None:
    api = api_with("c", state=ENDED)
    api.now += 5_000_000_000
    assert log(api, query) == lines


def test_a_pod_without_a_node_has_an_empty_log() -> None:
    assert log(api_with("c", node="")) == []


@pytest.mark.parametrize(
    ("containers", "inits", "query", "fault"),
    [
        (("c", "d"), (), "", "a container name must be specified for pod p, choose one of: [c d]"),
        (("c", "d"), ("i",), "", "a container name must be specified for pod p, choose one of: [i c d]"),
        (("c",), (), "?container=x", "container x is not valid for pod p"),
        (("c",), (), "", 'container "c" in pod "p" is waiting to start: ContainerCreating'),
        (("c",), (), "?previous=true", 'previous terminated container "c" in pod "p" not found'),
    ],
)
def test_what_is_refused(containers: tuple[str, ...], inits: tuple[str, ...], query: str, fault: str) -> None:
    status, message = api_with(*containers, inits=inits).refusal("GET", f"{PODS}/p/log{query}")
    assert (status, message[: len(fault)]) == (400, fault)


def test_a_time_that_is_none() -> None:
    status, message = api_with("c", state=RUNNING).refusal("GET", f"{PODS}/p/log?sinceTime=yesterday")
    assert (status, message.partition(" (")[0]) == (400, "'yesterday' is not an RFC 3339 time")
