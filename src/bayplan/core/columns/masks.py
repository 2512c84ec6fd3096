"""Masks over all nodes that several plugins ask for, kept for as long as no node object changes.

Pods of one shape ask for the same node selectors again and again, and so do several plugins for one pod. A mask
is remembered under whatever identifies it and forgotten as soon as the instant it belongs to is over. The masks are
read-only, as they are handed to everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from bayplan.core.columns import BoolArray

#: Beyond this the cache starts afresh: many distinct selectors in one instant are seldom asked for twice.
MASKS_MAX = 256


class MaskCache:
    """Masks of the present instant."""

    __slots__ = ("_instant", "_masks")

    def __init__(self) -> None:
        self._instant: tuple[int, int] = (0, 0)
        self._masks: dict[Hashable, BoolArray] = {}

    def get(self, key: Hashable, instant: tuple[int, int], build: Callable[[], BoolArray]) -> BoolArray:
        """(nodes,) the mask of `key`, built now if `instant` is new or nobody asked before."""
        if instant != self._instant:
            self._masks.clear()
            self._instant = instant
        mask = self._masks.get(key)
        if mask is None:
            mask = build()
            mask.flags.writeable = False
            if len(self._masks) >= MASKS_MAX:
                self._masks.clear()
            self._masks[key] = mask
        return mask
