"""Events of the scheduler in the embedded world: which of them are one with a count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.api_server import Api

from bayplan.model.time_units import MINUTE, SECOND
from bayplan.worlds.event_writing import EventWriter
from bayplan.worlds.performing import EmittedEvent

FIRST = EmittedEvent(0, "default/p", "Warning", "FailedScheduling", "0/1 nodes are available.", "u", "Scheduling")


def written(*events: EmittedEvent, then: int = 0) -> list[dict[str, Any]]:
    api = Api()
    writer = EventWriter(api.registry, api.now)
    for event in events:
        writer.write_due(api.now + event.at)
        writer.write(replace(event, at=api.now + event.at))
    writer.write_due(api.now + then)
    found: list[dict[str, Any]] = api.get("/api/v1/namespaces/default/events")["items"]
    return found


@pytest.mark.parametrize("note", [FIRST.note, "0/2 nodes are available."])
def test_an_event_with_the_same_reason_is_counted_whatever_it_says(note: str) -> None:
    (event,) = written(FIRST, replace(FIRST, at=MINUTE, note=note))
    assert event["series"]["count"] == 2
    assert event["message"] == FIRST.note  # as upstream: only the count is written


@pytest.mark.parametrize(
    "change", [{"reason": "Scheduled"}, {"action": "Binding"}, {"type": "Normal"}, {"uid": "v"}, {"at": 13 * MINUTE}]
)
def test_other_events_are_events_of_their_own(change: dict[str, Any]) -> None:
    events = written(FIRST, replace(FIRST, **{"at": MINUTE, **change}))
    assert len(events) == 2
    assert all("series" not in event for event in events)


def test_the_real_count_of_a_series_is_written_when_it_has_ended() -> None:
    again = [replace(FIRST, at=seconds * SECOND) for seconds in range(5)]
    (event,) = written(*again)
    assert event["series"]["count"] == 2  # as upstream: a series is written when it begins and when it has ended
    (event,) = written(*again, then=13 * MINUTE)
    assert event["series"]["count"] == 5
