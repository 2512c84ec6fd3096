"""A dict that forgets: for what is remembered about pods that nobody says goodbye to."""

from __future__ import annotations

from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Enough for the pods that a scheduler deals with at a time; a few megabytes.
KEPT_MAX: Final = 10_000


class NewestEntries(dict[K, V]):
    """Holds the newest entries."""

    def remember(self, key: K, value: V) -> V | None:
        """Add or replace the entry, as the newest; the oldest one if it had to go."""
        self.pop(key, None)
        self[key] = value
        return self.pop(next(iter(self))) if len(self) > KEPT_MAX else None
