"""Durations as Go writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.durations import NANOSECONDS_BY_UNIT, format_duration, parse_duration, parse_span


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("5s", 5_000_000_000),
        ("-5s", -5_000_000_000),
        ("+1m", 60_000_000_000),
        ("1h2m3.5s", 3_723_500_000_000),
        ("300ms", 300_000_000),
        ("1us", 1_000),
        ("1µs", 1_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("1.9ns", 1),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize("text", ["", "5", "s", ".s", "1d", "1 s", "-", "1s2", "9223372036854775808ns", "1.2.3s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2d", 172_800),
        ("149 d 7 h", 12_898_800),
        ("3 min 5 s", 185),
        ("450 ms", 0.45),
        ("1h2m", 3_720),
        ("1d12h", 129_600),
    ],
)
def test_spans_are_read_as_answers_print_them(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds * 10**9


@pytest.mark.parametrize("text", ["", "2", "1 2s", "2 days", "d", "1. 5s"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_span(text)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(sorted(NANOSECONDS_BY_UNIT)))
def test_parts_add_up(first: int, second: int, unit: str) -> None:
    both = parse_duration(f"{first}{unit}{second}ms")
    assert both == first * NANOSECONDS_BY_UNIT[unit] + second * 10**6


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (300_000_000, "300ms"),
        (1_000_000_001, "1.000000001s"),
        (357_000_000_000, "5m57s"),
        (600_000_000_000, "10m0s"),
        (3_600_000_000_000, "1h0m0s"),
        (-1_500_000_000, "-1.5s"),
    ],
)
def test_durations_are_written_as_go_writes_them(nanoseconds: int, text: str) -> None:
    assert format_duration(nanoseconds) == text


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_what_is_written_is_read_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
