"""Events go an hour after they were last written, or earlier if there are too many."""

from __future__ import annotations

from typing import Any

from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.events import AT_ONCE_MAX, BYTES_EACH, KEPT_NS, EventExpiry

EVENTS = "/api/v1/namespaces/default/events"


ABOUT = {"kind": "Pod", "namespace": "default", "name": "p"}


def _say(stage: Stage, name: str, **metadata: Any) -> None:
    """Somebody writes an Event."""
    stage.post(EVENTS, metadata=named(name, **metadata), involvedObject=ABOUT, reason="R", message="m", type="Normal")


def test_old_events_go() -> None:
    stage = Stage([EventExpiry()])
    for name in ("first", "second"):
        _say(stage, name)
    stage.api.now += KEPT_NS - 1
    stage.patch(f"{EVENTS}/second", count=2)
    assert stage.names(EVENTS) == ["first", "second"]
    stage.api.now += 1
    stage.settle()
    assert stage.names(EVENTS) == ["second"]
    stage.api.now += KEPT_NS
    stage.settle()
    assert stage.names(EVENTS) == []


def test_how_long_they_are_kept_can_be_chosen() -> None:
    stage = Stage([EventExpiry(kept_ns=5)])
    _say(stage, "a")
    stage.api.now += 5
    stage.settle()
    assert stage.names(EVENTS) == []


def test_of_too_many_events_those_go_that_were_written_first() -> None:
    stage = Stage([EventExpiry(events_max=3)])
    for name in ("a", "b", "c"):
        _say(stage, name)
    stage.patch(f"{EVENTS}/a", count=2)
    _say(stage, "d")
    assert stage.names(EVENTS) == ["a", "c", "d"]
    stage.delete(f"{EVENTS}/c")
    _say(stage, "e")
    assert stage.names(EVENTS) == ["a", "d", "e"]


def test_large_events_leave_room_for_fewer() -> None:
    stage = Stage([EventExpiry(events_max=3)])
    for name in ("a", "b", "c", "d"):
        _say(stage, name, annotations={"text": "x" * (BYTES_EACH + BYTES_EACH // 2)})
    assert stage.names(EVENTS) == ["d"]


def test_many_events_do_not_go_at_once() -> None:
    expiry = EventExpiry()
    stage = Stage([expiry])
    for number in range(AT_ONCE_MAX + 1):
        _say(stage, f"e{number}")
    stage.api.now += KEPT_NS
    expiry.reconcile(stage.api.registry, stage.api.now)
    assert len(stage.names(EVENTS)) == 1
    expiry.reconcile(stage.api.registry, stage.api.now)
    assert stage.names(EVENTS) == []


def test_events_are_kept_as_json() -> None:
    stage = Stage([EventExpiry()])
    _say(stage, "a")
    (entry,) = stage.api.registry.storage.entries("events")
    assert entry.document is not entry.document
    assert stage.api.get(f"{EVENTS}/a")["reason"] == "R"
