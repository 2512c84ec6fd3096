"""The order in which upstream's sort leaves pods of equal importance.

Upstream sorts potential victims with Go's `sort.Slice`, which is not stable: beyond twelve elements it is a
pattern-defeating quicksort, and which of several equal pods ends up first depends on how it moves them. That order
decides who is spared, so equal decisions need the same moves. Go's algorithm is deterministic (its only
"randomness" is seeded by the length), so it can be followed step by step.

Only nodes with more than twelve potential victims, some of them equal, need this; anything else is sorted as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")

#: Up to this many elements Go uses an insertion sort, which is stable.
STABLE_LENGTH_MAX = 12
_NINTHER_LENGTH_MIN = 50
_ALL_SWAPPED = 12
_WORD = 0xFFFFFFFFFFFFFFFF


def sorted_like_go(items: Sequence[Item], precedes: Callable[[Item, Item], bool]) -> list[Item]:
    """The items in the order `sort.Slice` would leave them."""
    sorter = _Sorter(list(items), precedes)
    sorter.sort(0, len(items), len(items).bit_length())
    return sorter.items


class _Sorter(Generic[Item]):
    """Sorts `items[low:high]` in place by swapping, as Go does."""

    def __init__(self, items: list[Item], precedes: Callable[[Item, Item], bool]) -> None:
        self.items = items
        self._precedes = precedes

    def sort(self, low: int, high: int, bad_choices_left: int) -> None:
        balanced = partitioned = True
        while high - low > STABLE_LENGTH_MAX:
            if bad_choices_left == 0:
                self._heap_sort(low, high)
                return
            if not balanced:
                self._scatter(low, high)
                bad_choices_left -= 1
            pivot, swaps = self._choose_pivot(low, high)
            if swaps == _ALL_SWAPPED:
                self.items[low:high] = self.items[low:high][::-1]
                pivot = (high - 1) - (pivot - low)
            looks_sorted = swaps in (0, _ALL_SWAPPED)
            if balanced and partitioned and looks_sorted and self._finish_if_nearly_sorted(low, high):
                return
            if low > 0 and not self._less(low - 1, pivot):
                low = self._partition_equal(low, high, pivot)
                continue
            middle, partitioned = self._partition(low, high, pivot)
            left, right = middle - low, high - middle
            balanced = min(left, right) >= (high - low) // 8
            if left < right:
                self.sort(low, middle, bad_choices_left)
                low = middle + 1
            else:
                self.sort(middle + 1, high, bad_choices_left)
                high = middle
        self._insertion_sort(low, high)

    def _less(self, i: int, j: int) -> bool:
        return self._precedes(self.items[i], self.items[j])

    def _swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def _insertion_sort(self, low: int, high: int) -> None:
        for i in range(low + 1, high):
            j = i
            while j > low and self._less(j, j - 1):
                self._swap(j, j - 1)
                j -= 1

    def _heap_sort(self, low: int, high: int) -> None:
        length = high - low
        for root in range((length - 1) // 2, -1, -1):
            self._sift_down(root, length, low)
        for end in range(length - 1, -1, -1):
            self._swap(low, low + end)
            self._sift_down(0, end, low)

    def _sift_down(self, root: int, length: int, first: int) -> None:
        while (child := 2 * root + 1) < length:
            if child + 1 < length and self._less(first + child, first + child + 1):
                child += 1
            if not self._less(first + root, first + child):
                return
            self._swap(first + root, first + child)
            root = child

    def _scatter(self, low: int, high: int) -> None:
        """Break a pattern that led to a lopsided partition; the draw depends on the length alone."""
        length = state = high - low
        mask = (1 << length.bit_length()) - 1
        middle = low + length // 4 * 2
        for step in range(3):
            state ^= (state << 13) & _WORD
            state ^= state >> 7
            state ^= (state << 17) & _WORD
            other = state & mask
            self._swap(middle - 1 + step, low + (other - length if other >= length else other))

    def _choose_pivot(self, low: int, high: int) -> tuple[int, int]:
        """A position of middling value, and how many comparisons were the wrong way round."""
        quarter = (high - low) // 4
        places = [low + quarter, low + 2 * quarter, low + 3 * quarter]
        swaps = 0
        if high - low >= _NINTHER_LENGTH_MIN:
            for which, place in enumerate(places):
                places[which], swapped = self._median(place - 1, place, place + 1)
                swaps += swapped
        pivot, swapped = self._median(*places)
        return pivot, swaps + swapped

    def _median(self, a: int, b: int, c: int) -> tuple[int, int]:
        swaps = 0
        if self._less(b, a):
            a, b, swaps = b, a, swaps + 1
        if self._less(c, b):
            b, c, swaps = c, b, swaps + 1
        if self._less(b, a):
            a, b, swaps = b, a, swaps + 1
        return b, swaps

    def _finish_if_nearly_sorted(self, low: int, high: int) -> bool:
        """Whether it is sorted now; at most five pairs are put right, and none in a short range."""
        i = low + 1
        for _ in range(5):
            while i < high and not self._less(i, i - 1):
                i += 1
            if i == high:
                return True
            if high - low < _NINTHER_LENGTH_MIN:
                return False
            self._swap(i, i - 1)
            self._settle_neighbors(low, high, i)
        return False

    def _settle_neighbors(self, low: int, high: int, i: int) -> None:
        if i - low >= 2:
            j = i - 1
            while j >= 1 and self._less(j, j - 1):
                self._swap(j, j - 1)
                j -= 1
        if high - i >= 2:
            j = i + 1
            while j < high and self._less(j, j - 1):
                self._swap(j, j - 1)
                j += 1

    def _partition_equal(self, low: int, high: int, pivot: int) -> int:
        """Elements equal to the pivot go first; the position after them."""
        self._swap(low, pivot)
        i, j = low + 1, high - 1
        while True:
            while i <= j and not self._less(low, i):
                i += 1
            while i <= j and self._less(low, j):
                j -= 1
            if i > j:
                return i
            self._swap(i, j)
            i, j = i + 1, j - 1

    def _partition(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        """Smaller elements before the pivot, others behind; where the pivot is, and whether nothing had to move."""
        self._swap(low, pivot)
        i, j, moved = low + 1, high - 1, False
        while True:
            while i <= j and self._less(i, low):
                i += 1
            while i <= j and not self._less(j, low):
                j -= 1
            if i > j:
                self._swap(j, low)
                return j, not moved
            self._swap(i, j)
            i, j, moved = i + 1, j - 1, True
