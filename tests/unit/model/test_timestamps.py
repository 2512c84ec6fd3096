"""Times: RFC 3339 text to nanoseconds since 1970."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01Z", SECOND),
        ("1969-12-31T23:59:59Z", -SECOND),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.0000000019Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T18:30:00-05:30", 0),
        ("2000-02-29T00:00:00Z", 951_782_400 * SECOND),
        ("2026-07-01T12:00:00Z", 1_782_907_200 * SECOND),
    ],
)
def test_value(text: str, nanoseconds: int) -> None:
    """Fractions, zones and leap days count."""
    assert parse_time(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-07-01",
        "2026-07-01T12:00:00",
        "2026-07-01 12:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00.Z",
        "20260-01-01T00:00:00Z",
    ],
)
def test_refused(text: str) -> None:
    """What is not a time is refused with the text in question."""
    with pytest.raises(ValueError, match=r"is not|has an invalid UTC") as caught:
        parse_time(text)
    assert repr(text) in str(caught.value)


@given(st.timedeltas(timedelta(days=-719_000), timedelta(days=2_932_000)), st.integers(-23 * 60, 23 * 60))
def test_against_datetime(since_epoch: timedelta, offset_minutes: int) -> None:
    """The standard library agrees on every moment it knows."""
    aware = (EPOCH + since_epoch).replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    since = aware - EPOCH
    expected = (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1_000
    assert parse_time(aware.isoformat()) == expected


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, "9999-12-31T23:59:59Z"),
        (2**63, "9999-12-31T23:59:59Z"),
        (-62_167_219_200, "0000-01-01T00:00:00Z"),
        (-(2**63), "0000-01-01T00:00:00Z"),
    ],
)
def test_what_is_written_can_be_read(seconds: int, written: str) -> None:
    """A time beyond four digits of years, as a grace period of eons leads to, is written as the last one there is."""
    assert format_time(seconds * SECOND) == written
    parse_time(written)


def test_a_text_is_that_of_its_second_however_many_were_asked_for() -> None:
    for second in (*range(6_000), *range(6_000)):
        expected = (EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert format_time(second * SECOND) == format_time(second * SECOND + SECOND - 1) == expected
