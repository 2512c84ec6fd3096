"""Which Events are one, and what is written of them."""

from __future__ import annotations

import json

import pytest
from tests.support.virtual_time import BEGIN

from bayplan.core.actions import Emit
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.performing import recent
from bayplan.performing.event_series import EventSeries, Said
from bayplan.performing.regarding import EventSubject

FAILED = Emit("ns/p", "u", "Warning", "FailedScheduling", "Scheduling", "no room")


def said(series: EventSeries, event: Emit = FAILED, version: str = "7", now: int = BEGIN) -> list[Said]:
    return series.say(event, EventSubject(version, "default-scheduler"), now)


def test_the_body_is_upstreams_to_the_letter() -> None:
    (first,) = said(EventSeries("HOST"), now=BEGIN + 496_008_000)
    assert first.path == "/apis/events.k8s.io/v1/namespaces/ns/events"
    name = f"p.{BEGIN + 496_008_000:x}"
    assert first.creation.decode() == (
        '{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"' + name + '","namespace":"ns"},'
        '"eventTime":"2026-11-15T20:38:06.496008Z","reportingController":"default-scheduler",'
        '"reportingInstance":"default-scheduler-HOST","action":"Scheduling","reason":"FailedScheduling",'
        '"regarding":{"kind":"Pod","namespace":"ns","name":"p","uid":"u","apiVersion":"v1","resourceVersion":"7"},'
        '"note":"no room","type":"Warning","deprecatedSource":{},"deprecatedFirstTimestamp":null,'
        '"deprecatedLastTimestamp":null}'
    )


def test_the_second_is_a_count_and_later_ones_are_silent() -> None:
    series = EventSeries("h")
    counts = [[one.count for one in said(series, now=BEGIN + at * SECOND)] for at in range(4)]
    assert counts == [[1], [2], [], []]


def test_a_count_says_how_often_and_when() -> None:
    series = EventSeries("h")
    said(series)
    (second,) = said(series, now=BEGIN + SECOND)
    assert json.loads(second.counting) == {"series": {"count": 2, "lastObservedTime": "2026-11-15T20:38:07.000000Z"}}


def test_a_count_of_an_event_that_is_gone_can_be_written_as_a_whole() -> None:
    series = EventSeries("h")
    (first,) = said(series)
    (second,) = said(series)
    assert json.loads(second.creation) == {**json.loads(first.creation), **json.loads(second.counting)}


@pytest.mark.parametrize(
    ("other", "version", "is_same"),
    [
        (replace(FAILED, note="another"), "7", True),
        (FAILED, "8", False),
        (replace(FAILED, pod="ns/q"), "7", False),
        (replace(FAILED, uid="v"), "7", False),
        (replace(FAILED, reason="Other"), "7", False),
        (replace(FAILED, action="Other"), "7", False),
        (replace(FAILED, type="Normal"), "7", False),
    ],
)
def test_all_but_the_note_must_agree(other: Emit, version: str, is_same: bool) -> None:
    series = EventSeries("h")
    said(series)
    (second,) = said(series, other, version)
    assert (second.count == 2) is is_same


def test_two_events_at_one_instant_have_names_of_their_own() -> None:
    series = EventSeries("h")
    (first,), (second,) = said(series), said(series, version="8")
    assert first.name != second.name


def test_a_pod_with_a_very_long_name_has_events_with_another() -> None:
    (event,) = said(EventSeries("h"), replace(FAILED, pod="ns/" + "p" * 250))
    assert event.name.startswith("u.")


def test_a_series_ends_six_minutes_after_it_was_last_repeated() -> None:
    series = EventSeries("h")
    for at in range(6):
        said(series, now=BEGIN + at * SECOND)
    last = BEGIN + 5 * SECOND
    assert series.finish(last + 6 * MINUTE) == []
    (ended,) = series.finish(last + 6 * MINUTE + 1)
    assert (ended.count, ended.last) == (6, last)
    assert series.finish(last + 9 * MINUTE) == []


def test_what_was_said_once_is_forgotten_without_a_word() -> None:
    series = EventSeries("h")
    said(series)
    assert series.finish(BEGIN + 7 * MINUTE) == []
    assert said(series)[0].count == 1


def test_series_that_go_on_are_those_with_a_count() -> None:
    series = EventSeries("h")
    said(series)
    said(series, version="8")
    said(series, version="8")
    assert [one.count for one in series.series()] == [2]


def test_what_is_forgotten_for_lack_of_room_is_written_with_its_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "KEPT_MAX", 2)
    series = EventSeries("h")
    for _ in range(3):
        said(series)
    written = [[(one.count, one.name) for one in said(series, version=str(version))] for version in range(2)]
    assert [len(names) for names in written] == [1, 2]
    assert written[1][1][0] == 3
