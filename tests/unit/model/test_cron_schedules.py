"""Cron schedules: what is due next, in which zone, and what is no schedule at all."""

from __future__ import annotations

from datetime import UTC, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from bayplan.model.cron_schedules import ScheduleError, parse_schedule
from bayplan.model.timestamps import format_time, parse_time


def following(schedule: str, after: str, count: int = 1, zone: tzinfo = UTC) -> list[str]:
    """The next times, as UTC."""
    times, at = [], parse_time(after)
    for _ in range(count):
        found = parse_schedule(schedule).next_after(at, zone)
        assert found is not None
        at = found
        times.append(format_time(at))
    return times


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        ("* * * * *", "2026-01-01T00:00:59.999Z", "2026-01-01T00:01:00Z"),
        ("*/15 * * * *", "2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"),
        ("5/20 * * * *", "2026-01-01T00:06:00Z", "2026-01-01T00:25:00Z"),
        ("10-20/5,50 * * * *", "2026-01-01T00:20:00Z", "2026-01-01T00:50:00Z"),
        ("30 6-16/4 * * 1-5", "2026-01-02T14:30:00Z", "2026-01-05T06:30:00Z"),
        ("0 0 1 jan,JUL *", "2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"),
        ("0 12 * * Sun", "2026-01-01T00:00:00Z", "2026-01-04T12:00:00Z"),
        ("59 23 31 12 ?", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("* * * * *", "1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z"),
        ("@hourly", "2026-01-01T00:10:00Z", "2026-01-01T01:00:00Z"),
        ("@daily", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("@monthly", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("@every 1h30m", "2026-01-01T00:10:05.7Z", "2026-01-01T01:40:05Z"),
        ("@every 10ms", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ("@every 0", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ("@every -5m", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
    ],
)
def test_what_is_due_next(schedule: str, after: str, expected: str) -> None:
    """The first time after the given one, never that one itself."""
    assert following(schedule, after) == [expected]


@pytest.mark.parametrize("after", ["0000-06-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_nothing_is_due_beyond_the_calendar(after: str) -> None:
    assert parse_schedule("* * * * *").next_after(parse_time(after)) is None


def test_either_day_field_is_enough_if_both_are_given() -> None:
    """The 13th and every Friday, not only a Friday the 13th; a star leaves it to the other field."""
    both = following("0 0 13 * 5", "2026-01-01T00:00:00Z", 4)
    assert [time[:10] for time in both] == ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]
    stepped = following("0 0 */10 * 5", "2026-01-01T00:00:00Z", 3)
    assert [time[:10] for time in stepped] == ["2026-01-02", "2026-01-09", "2026-01-11"]
    open_day = following("0 0 */1 * 5", "2026-01-01T00:00:00Z", 2)
    assert [time[:10] for time in open_day] == ["2026-01-02", "2026-01-09"]


def test_a_day_that_never_comes() -> None:
    assert parse_schedule("0 0 30 2 *").next_after(parse_time("2026-01-01T00:00:00Z")) is None


def test_zones() -> None:
    """Six in the morning is where the zone says it is, in winter and in summer."""
    berlin = ZoneInfo("Europe/Berlin")
    assert following("0 6 1 1,7 *", "2026-01-01T12:00:00Z", 2, berlin) == [
        "2026-07-01T04:00:00Z",
        "2027-01-01T05:00:00Z",
    ]


def test_times_that_clocks_skip_do_not_happen() -> None:
    """In New York the clock goes from 2:00 to 3:00 on March 8, 2026."""
    new_york = ZoneInfo("America/New_York")
    assert following("30 2 * * *", "2026-03-07T12:00:00Z", 1, new_york) == ["2026-03-09T06:30:00Z"]
    assert following("30 * * * *", "2026-03-08T06:00:00Z", 2, new_york) == [
        "2026-03-08T06:30:00Z",
        "2026-03-08T07:30:00Z",
    ]


def test_times_that_clocks_repeat_happen_twice() -> None:
    """In New York the hour from 1:00 to 2:00 comes twice on November 1, 2026."""
    new_york = ZoneInfo("America/New_York")
    assert following("30 1 * * *", "2026-11-01T04:00:00Z", 3, new_york) == [
        "2026-11-01T05:30:00Z",
        "2026-11-01T06:30:00Z",
        "2026-11-02T06:30:00Z",
    ]


def test_no_minute_is_lost_where_clocks_change_at_midnight() -> None:
    """In St. John's the first minute of November 7, 2010 was the last of the day before once more."""
    zone = ZoneInfo("America/St_Johns")
    at = parse_time("2010-11-06T23:00:00Z")
    times = [at]
    for _ in range(600):
        found = parse_schedule("* * * * *").next_after(times[-1], zone)
        assert found is not None
        times.append(found)
    assert {later - earlier for earlier, later in pairwise(times)} == {60_000_000_000}


@pytest.mark.parametrize(
    ("schedule", "complaint"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("0 0 0 * * *", "expected exactly 5 fields, found 6: [0 0 0 * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("30-10 * * * *", "beginning of range (30) beyond end of range (10): 30-10"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("five * * * *", 'failed to parse int from five: strconv.Atoi: parsing "five": invalid syntax'),
        ("@often", "unrecognized descriptor: @often"),
        ("@every day", 'failed to parse duration @every day: time: invalid duration "day"'),
        ("CRON_TZ=UTC 0 0 * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_no_schedule(schedule: str, complaint: str) -> None:
    """The complaints are those of Kubernetes."""
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(schedule)
    assert str(caught.value) == complaint
