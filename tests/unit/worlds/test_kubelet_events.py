"""What kubelets say about pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import PODS, Api, pod

from bayplan.worlds.kubelet_events import KubeletEvents, kubelet_events_of

PRESENT = 'Container image "i" already present on machine and can be accessed by the pod'
STARTS = [f"c Normal Pulled: {PRESENT}", "c Normal Created: Container created", "c Normal Started: Container started"]
Status = dict[str, Any]


def _pod(status: Status, **metadata: Any) -> dict[str, Any]:
    spec = {
        "nodeName": "n",
        "initContainers": [{"name": "before", "image": "i"}],
        "containers": [{"name": "c", "image": "i"}],
    }
    meta = {"name": "p", "namespace": "default", "uid": "u", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _container(**state: Any) -> Status:
    return {"containerStatuses": [{"name": "c", "state": state}]}


def _said(old: Status, new: Status, **metadata: Any) -> list[str]:
    found = [*kubelet_events_of(_pod(old), _pod(new, **metadata))]
    assert {one.host for one in found} <= {"n"}
    places = [one.field_path.partition("{")[2].removesuffix("}") for one in found]
    return [f"{place} {one.type} {one.reason}: {one.message}".strip() for place, one in zip(places, found, strict=True)]


RUNNING = _container(running={"startedAt": "2026-01-01T00:00:00Z"})
AGAIN = _container(running={"startedAt": "2026-01-01T00:01:00Z"})
ENDED = _container(terminated={"startedAt": "2026-01-01T00:00:00Z", "exitCode": 1})
WAITING = _container(waiting={"reason": "CrashLoopBackOff"})
CREATING = _container(waiting={"reason": "ContainerCreating"})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, CREATING, []),
        (CREATING, RUNNING, STARTS),
        (CREATING, ENDED, STARTS),
        (RUNNING, RUNNING, []),
        (RUNNING, ENDED, []),
        (RUNNING, AGAIN, STARTS),
        (ENDED, WAITING, ["c Warning BackOff: Back-off restarting failed container c in pod p_default(u)"]),
        (WAITING, WAITING, []),
        (
            WAITING,
            {"containerStatuses": [{**WAITING["containerStatuses"][0], "restartCount": 1}]},
            [*STARTS, "c Warning BackOff: Back-off restarting failed container c in pod p_default(u)"],
        ),
        (
            {},
            {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough"},
            ["Warning OutOfcpu: Node didn't have enough"],
        ),
        (
            {},
            {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active"},
            ["Normal DeadlineExceeded: Pod was active"],
        ),
        ({}, {"phase": "Failed", "reason": "Evicted", "message": "by somebody else"}, []),
    ],
)
def test_what_is_said_of_a_change(old: Status, new: Status, said: list[str]) -> None:
    assert _said(old, new) == said


def test_containers_are_stopped_when_their_pod_is_deleted() -> None:
    deleted = "2026-01-01T00:00:30Z"
    assert _said(RUNNING, RUNNING, deletionTimestamp=deleted) == ["c Normal Killing: Stopping container c"]
    assert _said(ENDED, ENDED, deletionTimestamp=deleted) == []


def test_init_containers_are_named_by_their_place() -> None:
    state = {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "exitCode": 0}}
    (pulled, *_) = kubelet_events_of(_pod({}), _pod({"initContainerStatuses": [{"name": "before", "state": state}]}))
    assert pulled.field_path == "spec.initContainers{before}"


def test_a_pod_without_a_node_has_no_kubelet() -> None:
    unbound = _pod(RUNNING)
    del unbound["spec"]["nodeName"]
    assert [*kubelet_events_of(_pod({}), unbound)] == []


def test_events_are_written_as_the_kubelet_of_the_node() -> None:
    api = Api()
    party = KubeletEvents(api.registry)
    api.registry.storage.follow(party.observe)
    api.post(PODS, {**pod(), "spec": {**pod()["spec"], "nodeName": "n"}})
    api.patch(f"{PODS}/p/status", {"status": RUNNING})
    party.reconcile(api.registry, api.now)
    events = api.get("/api/v1/namespaces/default/events")["items"]
    assert [event["reason"] for event in events] == ["Pulled", "Created", "Started"]
    (event, *_) = events
    assert event["involvedObject"]["fieldPath"] == "spec.containers{c}"
    assert event["source"] == {"component": "kubelet", "host": "n"}
    assert (event["reportingComponent"], event["reportingInstance"]) == ("kubelet", "n")
    party.reconcile(api.registry, api.now)
    assert len(api.get("/api/v1/namespaces/default/events")["items"]) == 3
