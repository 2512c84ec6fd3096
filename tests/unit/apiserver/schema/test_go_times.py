"""Go's words for text that is no time."""

from __future__ import annotations

import pytest

from bayplan.apiserver.schema.go_times import time_fault

LAYOUT = '"2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00Z", "2024-02-29T23:59:59.123+05:30", "0001-01-01T00:00:00Z"])
def test_a_time_has_no_fault(text: str) -> None:
    assert time_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abc", f' as {LAYOUT}: cannot parse "abc" as "2006"'),
        ("", f' as {LAYOUT}: cannot parse "" as "2006"'),
        ("2026-1-31T12:00:00Z", f' as {LAYOUT}: cannot parse "1-31T12:00:00Z" as "01"'),
        ("2026-01-31 12:00:00Z", f' as {LAYOUT}: cannot parse " 12:00:00Z" as "T"'),
        ("2026-01-31T12:00:00", f' as {LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2026-01-31T12:00:00Zx", ': extra text: "x"'),
        ("2026-13-31T12:00:00Z", ": month out of range"),
        ("2026-00-31T12:00:00Z", ": month out of range"),
        ("2026-02-30T12:00:00Z", ": day out of range"),
        ("2026-02-32T12:00:00Z", ": day out of range"),
        ("2026-01-31T24:00:00Z", ": hour out of range"),
        ("2026-01-31T12:60:00Z", ": minute out of range"),
        ("2026-01-31T12:00:60Z", ": second out of range"),
    ],
)
def test_the_part_that_is_wrong_is_named(text: str, why: str) -> None:
    assert time_fault(text) == f'parsing time "{text}"{why}'


def test_a_time_in_microseconds_must_have_six_digits() -> None:
    assert time_fault("2026-01-31T12:00:00.000120Z", micro=True) == ""
    assert time_fault("2026-01-31T12:00:00Z", micro=True) == (
        'parsing time "2026-01-31T12:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
    )
