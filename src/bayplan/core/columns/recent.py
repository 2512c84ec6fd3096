"""What was used last, within a number of bytes.

For what can be worked out again at any time; what was not used for the longest time goes first. The shares below are
all that one scheduler keeps in this way. What belongs to pods or nodes that are gone is taken out by its owner.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

#: Bytes that answers for kinds of pods may take, and counts of pods by node.
ANSWERS_BYTES_MAX = 384 << 20
COUNTS_BYTES_MAX = 128 << 20

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Recent(Generic[Key, Kept]):
    """Things by key, the one used last at the end."""

    __slots__ = ("_bytes_max", "_bytes_of", "_kept", "_on_drop", "bytes")

    def __init__(self, bytes_max: int, on_drop: Callable[[Key, Kept], None] | None = None) -> None:
        """`on_drop` hears of what had to go to make room."""
        self._bytes_max = bytes_max
        self._on_drop = on_drop
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._bytes_of: dict[Key, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._kept)

    def get(self, key: Key) -> Kept | None:
        """What is kept under the key; it is the one used last from now on."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def peek(self, key: Key) -> Kept | None:
        """What is kept under the key, which does not count as use."""
        return self._kept.get(key)

    def put(self, key: Key, kept: Kept, size: int) -> None:
        """Keep it, `size` bytes large, as the one used last."""
        self.pop(key)
        self._kept[key] = kept
        self._bytes_of[key] = size
        self.bytes += size
        self._make_room()

    def resize(self, key: Key, size: int) -> None:
        """What is kept under the key is `size` bytes large now, which does not count as use."""
        before = self._bytes_of[key]
        if size != before:
            self._bytes_of[key] = size
            self.bytes += size - before
            self._make_room()

    def _make_room(self) -> None:
        while self.bytes > self._bytes_max and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            gone = self.pop(oldest)
            if self._on_drop is not None and gone is not None:
                self._on_drop(oldest, gone)

    def pop(self, key: Key) -> Kept | None:
        """Take it out."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.bytes -= self._bytes_of.pop(key)
        return kept
