"""Events go an hour after they were last written."""

from __future__ import annotations

from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.events import KEPT_NS, EventExpiry

EVENTS = "/api/v1/namespaces/default/events"


def test_old_events_go() -> None:
    stage = Stage([EventExpiry()])
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    for name in ("first", "second"):
        stage.post(EVENTS, metadata=named(name), involvedObject=about, reason="R", message="m", type="Normal")
    stage.api.now += KEPT_NS - 1
    stage.patch(f"{EVENTS}/second", count=2)
    assert stage.names(EVENTS) == ["first", "second"]
    stage.api.now += 1
    stage.settle()
    assert stage.names(EVENTS) == ["second"]
    stage.api.now += KEPT_NS
    stage.settle()
    assert stage.names(EVENTS) == []
