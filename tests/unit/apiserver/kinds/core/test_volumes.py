"""Volumes: since when they are in their phase."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import Api

VOLUMES = "/api/v1/persistentvolumes"
SPEC = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
SINCE = "lastPhaseTransitionTime"


def written(api: Api, **status: Any) -> Any:
    stored = api.get(f"{VOLUMES}/v")
    return api.put(f"{VOLUMES}/v/status", {**stored, "status": status})["status"]


def test_a_new_phase_has_a_new_time_and_the_old_one_keeps_its() -> None:
    api = Api()
    first = api.post(VOLUMES, {"metadata": {"name": "v"}, "spec": SPEC})["status"][SINCE]
    api.now += 10**9
    assert written(api, phase="Pending")[SINCE] == first
    assert (
        written(api, phase="Pending", lastPhaseTransitionTime="2020-01-01T00:00:00Z")[SINCE] == "2020-01-01T00:00:00Z"
    )
    second = written(api, phase="Available")[SINCE]
    assert second not in (first, "2020-01-01T00:00:00Z")
    api.now += 10**9
    assert written(api, phase="Available")[SINCE] == second
    assert written(api, phase="Bound", lastPhaseTransitionTime=second)[SINCE] > second
    assert written(api, phase="Released", lastPhaseTransitionTime=first)[SINCE] == first
