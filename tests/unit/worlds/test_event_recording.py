"""Events that repeat are counted, and many similar ones become one."""

from __future__ import annotations

from typing import Any

from tests.support.api_server import Api

from bayplan.model.meta import ObjectReference
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE
from bayplan.worlds.controller_events import EventText
from bayplan.worlds.event_recording import SAID_AGAIN_NS, SAID_MAX, EventRecorder

ABOUT = ObjectReference(api_version="apps/v1", kind="ReplicaSet", namespace="default", name="web", uid="u")


def recorded(*messages: str, pause: int = 0) -> list[dict[str, Any]]:
    api = Api()
    recorder = EventRecorder(api.registry)
    for position, message in enumerate(messages):
        recorder.write("replicaset-controller", EventText(ABOUT, "Normal", "Why", message), api.now + position * pause)
    found: list[dict[str, Any]] = api.get("/api/v1/namespaces/default/events")["items"]
    return found


def test_an_event_as_controllers_write_it() -> None:
    (event,) = recorded("hello")
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "namespace": "default",
        "name": "web",
        "uid": "u",
    }
    assert (event["reason"], event["message"], event["count"]) == ("Why", "hello", 1)
    assert event["source"] == {"component": "replicaset-controller"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-01-01T00:00:00Z"


def test_the_same_again_is_counted() -> None:
    (event,) = recorded("hello", "hello", pause=MINUTE)
    assert (event["count"], event["lastTimestamp"]) == (2, "2026-01-01T00:01:00Z")


def test_many_similar_ones_become_one() -> None:
    events = recorded(*(f"message {number}" for number in range(15)))
    assert len(events) == 10
    (combined,) = [event for event in events if event["message"].startswith("(combined")]
    assert (combined["message"], combined["count"]) == ("(combined from similar events): message 14", 6)


def test_similar_ones_of_long_ago_do_not_count() -> None:
    assert len(recorded(*(f"message {number}" for number in range(12)), pause=11 * MINUTE)) == 12


def test_an_event_that_was_deleted_is_made_anew() -> None:
    api = Api()
    recorder = EventRecorder(api.registry)
    said = EventText(ABOUT, "Normal", "Why", "hello")
    recorder.write("x", said, api.now)
    (event,) = api.get("/api/v1/namespaces/default/events")["items"]
    api.answer("DELETE", f"/api/v1/namespaces/default/events/{event['metadata']['name']}")
    recorder.write("x", said, api.now)
    assert len(api.get("/api/v1/namespaces/default/events")["items"]) == 1


def test_whoever_says_very_much_about_an_object_is_not_heard_for_a_while() -> None:
    api = Api()
    recorder = EventRecorder(api.registry)

    def say(number: int, now: int, uid: str = "u") -> None:
        about = replace(ABOUT, uid=uid)
        recorder.write("kubelet", EventText(about, "Normal", f"Why{number}", "hello"), now)

    def count() -> int:
        return len(api.get("/api/v1/namespaces/default/events")["items"])

    for number in range(SAID_MAX + 10):
        say(number, api.now)
    assert count() == SAID_MAX
    say(0, api.now, uid="other")
    assert count() == SAID_MAX + 1
    for number in range(100, 103):
        say(number, api.now + SAID_AGAIN_NS)
    assert count() == SAID_MAX + 2
