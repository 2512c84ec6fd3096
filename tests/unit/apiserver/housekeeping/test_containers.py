"""Containers that are started again, as clients see them."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import PODS, pod
from tests.unit.apiserver.housekeeping.stage import Stage

from bayplan.apiserver.housekeeping.containers import ContainerRestarts
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time


def test_restarts_are_reported_when_they_are_due_and_no_longer_once_the_pod_goes() -> None:
    party = ContainerRestarts()
    stage = Stage([party])
    made = pod()
    made["spec"]["nodeName"] = "n"
    made["spec"]["containers"][0]["command"] = ["false"]
    stage.post(PODS, **made)
    known = {"name": "c", "image": "i", "imageID": "", "restartCount": 0, "ready": True, "lastState": {}}
    state = {"running": {"startedAt": format_time(stage.api.now)}}
    stage.patch(f"{PODS}/p/status", status={"phase": "Running", "containerStatuses": [{**known, "state": state}]})

    def reported() -> Any:
        return stage.api.get(f"{PODS}/p")["status"]["containerStatuses"][0]

    def later(seconds: float) -> None:
        party.reconcile(stage.api.registry, stage.api.now + int(seconds * SECOND))

    assert "terminated" in reported()["state"]
    later(0.9)
    assert reported()["restartCount"] == 0
    later(1)
    assert reported()["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert reported()["restartCount"] == 1
    stage.api.delete(f"{PODS}/p")
    before = stage.api.version
    later(100)
    assert stage.api.version == before
