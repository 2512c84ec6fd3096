"""Recent: the bytes that are kept stay within their limit, and what was used last stays longest."""

from __future__ import annotations

from bayplan.core.columns.recent import Recent


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    dropped: list[tuple[str, int]] = []
    recent: Recent[str, int] = Recent(30, lambda key, kept: dropped.append((key, kept)))
    for key, kept in (("a", 1), ("b", 2), ("c", 3)):
        recent.put(key, kept, 10)
    assert recent.get("a") == 1
    assert recent.peek("b") == 2  # which is no use
    recent.put("d", 4, 10)
    assert dropped == [("b", 2)]
    assert list(recent) == ["c", "a", "d"]
    assert recent.bytes == 30


def test_one_that_has_grown_makes_others_go() -> None:
    recent: Recent[str, int] = Recent(30)
    for key in "abc":
        recent.put(key, 1, 10)
    recent.put("b", 1, 25)
    assert list(recent) == ["b"]
    assert recent.bytes == 25


def test_one_that_is_found_to_have_grown_makes_others_go() -> None:
    recent: Recent[str, int] = Recent(30)
    for key in "abc":
        recent.put(key, 1, 10)
    recent.resize("c", 12)
    assert (list(recent), recent.bytes) == (["b", "c"], 22)
    recent.resize("c", 5)
    assert (list(recent), recent.bytes) == (["b", "c"], 15)


def test_the_last_one_stays_however_large() -> None:
    recent: Recent[str, int] = Recent(30)
    recent.put("a", 1, 10)
    recent.put("b", 2, 1_000)
    assert list(recent) == ["b"]


def test_what_is_taken_out_is_not_reported_as_dropped() -> None:
    dropped: list[str] = []
    recent: Recent[str, int] = Recent(30, lambda key, _: dropped.append(key))
    recent.put("a", 1, 10)
    assert recent.pop("a") == 1
    assert recent.pop("a") is None
    assert (recent.bytes, dropped, recent.get("a")) == (0, [], None)
