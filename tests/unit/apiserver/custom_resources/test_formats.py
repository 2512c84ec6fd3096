"""Formats of text, and patterns in Go's syntax."""

from __future__ import annotations

import pytest

from bayplan.apiserver.custom_resources.formats import has_format, matches_pattern


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date-time", "2026-01-01T00:00:00Z"),
        ("date-time", "2026-01-01T00:00:00.123+02:00"),
        ("date", "2026-01-31"),
        ("duration", "1h30m"),
        ("duration", "5 days"),
        ("ipv4", "10.0.0.1"),
        ("ipv6", "fd00::1"),
        ("cidr", "10.0.0.0/8"),
        ("cidr", "10.0.0.1/8"),
        ("byte", "aGVsbG8="),
        ("uri", "https://example.com/x"),
        ("uri", "/path"),
        ("email", "a@example.com"),
        ("hostname", "a-1.example.com"),
        ("mac", "01:23:45:67:89:ab"),
        ("uuid", "DA0E212A-367D-46FC-8D42-090429412D17"),
        ("uuid4", "da0e212a367d46fc8d42090429412d17"),
        ("k8s-short-name", "a-1"),
        ("k8s-long-name", "a-1.b"),
        ("password", "anything"),
        ("isbn", "0-306-40615-2"),
        ("isbn", "978-0306406157"),
        ("isbn10", "080442957X"),
        ("isbn13", "978 0306406157"),
        ("creditcard", "4111 1111 1111 1111"),
        ("hexcolor", "#fFf"),
        ("rgbcolor", "rgb(0, 99, 255)"),
        ("ssn", "123-45-6789"),
        ("bsonobjectid", "507f1f77bcf86cd799439011"),
    ],
)
def test_text_of_a_format(name: str, text: str) -> None:
    assert has_format(text, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date-time", "2026-01-01"),
        ("date", "2026-02-30"),
        ("duration", "soon"),
        ("ipv4", "10.0.0.256"),
        ("isbn", "anything"),
        ("isbn10", "0306406153"),
        ("isbn13", "9780306406158"),
        ("creditcard", "4111111111111112"),
        ("creditcard", "4111"),
        ("hexcolor", "#ffff"),
        ("rgbcolor", "rgb(0,0,256)"),
        ("ssn", "123-456-789"),
        ("bsonobjectid", "507f1f77bcf86cd79943901g"),
        ("ipv4", "fd00::1"),
        ("ipv6", "10.0.0.1"),
        ("cidr", "10.0.0.0"),
        ("byte", "not base64!"),
        ("uri", "example"),
        ("email", "example.com"),
        ("hostname", "-a"),
        ("hostname", "a" * 64),
        ("mac", "01:23"),
        ("uuid", "x"),
        ("uuid4", "da0e212a-367d-36fc-8d42-090429412d17"),
        ("k8s-short-name", "A"),
        ("k8s-short-name", "a" * 64),
        ("k8s-long-name", "a..b"),
    ],
)
def test_text_of_another_format(name: str, text: str) -> None:
    assert not has_format(text, name)


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc", True),
        ("^abc$", "abc\n", False),
        (r"^[a$]\$$", "$$", True),
        (r"^\d+$", "१", False),
        (r"^\pL+$", "äé", True),
        (r"^[[:alpha:]]+$", "abc", True),
        (r"^[[:alpha:]]+$", "a1c", False),
    ],
)
def test_patterns_are_those_of_go(pattern: str, text: str, is_found: bool) -> None:
    assert matches_pattern(text, pattern) is is_found


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)+$", "(.*)*x$"])
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    assert matches_pattern("a" * 50_000 + "!", pattern) is False


def test_a_long_text_of_digits_is_no_duration() -> None:
    assert has_format("1" * 200_000, "duration") is False


def test_a_broken_pattern_matches_nothing() -> None:
    assert matches_pattern("(", "(") is False
