"""The order in which upstream's sort leaves equal elements.

That it is the very order is shown by the conformance cases; here: it sorts, on every path, and short lists stably.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import lt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.core.preemption.unstable_order import STABLE_LENGTH_MAX, _Sorter, sorted_like_go

Keyed = tuple[int, int]  # what is compared, and where it stood


def keyed(keys: Sequence[int]) -> list[Keyed]:
    return [(key, place) for place, key in enumerate(keys)]


def by_key(one: Keyed, other: Keyed) -> bool:
    return one[0] < other[0]


def assert_sorts(keys: Sequence[int]) -> None:
    done = sorted_like_go(keyed(keys), by_key)
    assert [key for key, _ in done] == sorted(keys)
    assert sorted(place for _, place in done) == list(range(len(keys)))


@given(st.lists(st.integers(0, 5), max_size=STABLE_LENGTH_MAX))
def test_short_lists_keep_equal_elements_in_order(keys: list[int]) -> None:
    assert sorted_like_go(keyed(keys), by_key) == sorted(keyed(keys), key=lambda one: one[0])


@given(st.lists(st.integers(0, 9), min_size=STABLE_LENGTH_MAX + 1, max_size=49))
def test_sorts_lists_of_middling_length(keys: list[int]) -> None:
    assert_sorts(keys)


@given(st.lists(st.integers(0, 40), min_size=50, max_size=200))
def test_sorts_long_lists(keys: list[int]) -> None:
    assert_sorts(keys)


PATTERNS = {
    "empty": [],
    "equal": [7] * 100,
    "rising": list(range(100)),
    "falling": list(range(100, 0, -1)),
    "nearly rising": [*range(60), 10, *range(61, 100)],
    "a few pairs swapped": [n ^ 1 if n % 20 == 0 else n for n in range(100)],
    "organ pipes": [*range(60), *range(60, 0, -1)],
    "sawtooth": [n % 7 for n in range(120)],
    "two values": [n * n % 2 for n in range(90)],
    "a low run behind a high one": [*range(50, 100), *range(50)],
    "one small at the end": [*range(1, 100), 0],
}


@pytest.mark.parametrize("keys", PATTERNS.values(), ids=PATTERNS.keys())
def test_sorts_patterns(keys: list[int]) -> None:
    """Inputs for which the algorithm has paths of their own."""
    assert_sorts(keys)


def test_a_falling_list_is_turned_round() -> None:
    """Reversing brings equal elements into the opposite order: the sort is not stable, and must not be."""
    keys = [key for key in range(30, 0, -1) for _ in range(2)]
    done = sorted_like_go(keyed(keys), by_key)
    assert [key for key, _ in done] == sorted(keys)
    assert done != sorted(keyed(keys), key=lambda one: one[0])


def test_a_sorted_list_stays_as_it_is() -> None:
    """Also with equal elements, so sorting twice changes nothing."""
    keys = sorted(n % 5 for n in range(80))
    assert sorted_like_go(keyed(keys), by_key) == keyed(keys)


class Adversary:
    """Makes up values while they are compared, so that every pivot turns out to be among the smallest."""

    def __init__(self, length: int) -> None:
        self.values: list[int | None] = [None] * length
        self.fixed = 0
        self.candidate = 0
        # Fixed from the start, or the first look would find the list sorted.
        for item in (length // 2, length // 4):
            self._fix(item)

    def less(self, one: int, other: int) -> bool:
        if self.values[one] is None and self.values[other] is None:
            self._fix(one if one == self.candidate else other)
        if self.values[one] is None:
            self.candidate = one
        elif self.values[other] is None:
            self.candidate = other
        return self._value(one) < self._value(other)

    def _fix(self, item: int) -> None:
        self.values[item] = self.fixed
        self.fixed += 1

    def _value(self, item: int) -> int:
        value = self.values[item]
        return len(self.values) if value is None else value


def test_bad_pivots_end_in_a_heap_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an adversary the quicksort gives up; what comes out is sorted all the same."""
    heap_sorted: list[int] = []
    heap_sort = _Sorter._heap_sort

    def counted(self: _Sorter[int], low: int, high: int) -> None:
        heap_sorted.append(high - low)
        heap_sort(self, low, high)

    monkeypatch.setattr(_Sorter, "_heap_sort", counted)
    adversary = Adversary(2000)
    sorted_like_go(range(2000), adversary.less)
    hard = [adversary._value(item) for item in range(2000)]
    assert heap_sorted
    heap_sorted.clear()
    assert sorted_like_go(hard, lt) == sorted(hard)
    assert heap_sorted, "the list made by the adversary is no longer hard"


@given(st.lists(st.integers(0, 9), max_size=80))
def test_heap_sort_sorts(keys: list[int]) -> None:
    sorter = _Sorter(list(keys), lt)
    sorter.sort(0, len(keys), 0)
    assert sorter.items == sorted(keys)
