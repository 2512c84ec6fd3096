"""Spans of time in the words of upstream's `duration.HumanDuration`."""

from __future__ import annotations

import pytest

from bayplan.apiserver.tables.ages import age, human_duration, named_age, since
from bayplan.model.time_units import HOUR, MINUTE, SECOND
from bayplan.model.timestamps import parse_time

DAY = 24 * HOUR
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (-2 * SECOND, "<invalid>"),
        (-2 * SECOND + 1, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (SECOND - 1, "0s"),
        (119 * SECOND, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 10 * SECOND, "2m10s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 59 * SECOND, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 364 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_figures(nanoseconds: int, text: str) -> None:
    assert human_duration(nanoseconds) == text


def test_the_age_is_the_time_since_creation() -> None:
    document = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    now = parse_time("2026-01-01T00:05:30Z")
    assert age(document, now) == "5m30s"
    assert named_age(document, now) == ["a", "5m30s"]


@pytest.mark.parametrize("time", [None, ""])
def test_a_time_that_is_not_set_is_unknown(time: str | None) -> None:
    assert since(time, 0) == "<unknown>"
