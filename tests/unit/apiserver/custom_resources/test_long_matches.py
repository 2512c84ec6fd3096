"""Patterns that take long are matched in another process, with the same outcome."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from bayplan.apiserver.custom_resources.formats import matches_pattern
from bayplan.apiserver.custom_resources.long_matches import LongMatches
from bayplan.model.cel.library import by_library, long_matching_by
from bayplan.model.cel.values import CelError

LONG = ".{0,1000}.{0,1000}.{0,1000}x"


@pytest.fixture(scope="module")
def matches() -> Iterator[LongMatches]:
    made = LongMatches()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("abc", "b"),
        ("abc", "^b"),
        ("abc", "("),
        ("", ""),
        ("grün\n" * 9, "ü$"),
        ("grün\n" * 9, "(?m)n$"),
        ("a" * 2_000_000, "a*b?$"),
    ],
)
def test_the_outcome_is_the_same(matches: LongMatches, text: str, pattern: str) -> None:
    assert matches(text, pattern) == by_library("matches", text, pattern)


def test_a_process_that_has_ended_is_replaced() -> None:
    ending = LongMatches()
    assert ending("a", "a")
    process = ending._process
    assert process is not None
    process.kill()
    process.wait()
    with pytest.raises(CelError):
        ending("a", "a")
    assert ending("a", "a")
    ending.close()


def test_other_threads_go_on_meanwhile(matches: LongMatches) -> None:
    longest, is_over = 0.0, threading.Event()

    def look() -> None:
        nonlocal longest
        last = time.monotonic()
        while not is_over.wait(0.001):
            now = time.monotonic()
            longest, last = max(longest, now - last), now

    looking = threading.Thread(target=look)
    looking.start()
    started = time.monotonic()
    with long_matching_by(matches):
        assert not matches_pattern("a" * 20_000, LONG)
    took = time.monotonic() - started
    is_over.set()
    looking.join()
    assert longest < took / 2


@pytest.mark.parametrize(
    ("text", "pattern", "is_long"),
    [
        ("a" * 100, "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", False),
        ("a" * 2_000, LONG, True),
        ("a" * 500, "((a{30}){30}){30}", True),
        ("a" * 900_000, "a+b", True),
        ("a" * 900, "a+b", False),
        ("a" * 900, "a{b", False),
    ],
)
def test_what_takes_long(text: str, pattern: str, is_long: bool) -> None:
    asked = []

    def note(*args: str) -> bool:
        asked.append(args)
        return True

    with long_matching_by(note):
        matches_pattern(text, pattern)
    assert asked == ([(text, pattern)] if is_long else [])
