"""What is known of every node, brought up to date from the logs of changes instead of being worked out again.

What outlasts a decision and has a row for each node is a `Follower`, which knows how far the logs were read. What
becomes of a row that has changed is up to its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import numpy as np

from bayplan.core.columns import RowArray
from bayplan.core.columns.changes import ChangeLog
from bayplan.core.snapshot import View

Key = TypeVar("Key", bound=Hashable)


class Follower:
    """Reads the log of changes that it is given, or two of them."""

    def __init__(self, view: View, log: ChangeLog, other_log: ChangeLog | None = None) -> None:
        """It was made from this view."""
        self._log, self._other_log = log, other_log
        self._epoch = self.epoch(view)
        self._position, self._row_count = log.position, view.nodes.count
        self._other_position = 0 if other_log is None else other_log.position

    def epoch(self, view: View) -> Hashable:  # noqa: ARG002
        """What is followed only while it stays as it is; after that, all has to be made again."""
        return None

    def update(self, view: View, rows: RowArray) -> bool:  # noqa: ARG002
        """Bring these rows up to date, of which some may be given several times, in a table that may be longer or
        shorter than before; False when all has to be made again, as always by default.
        """
        return False

    def follow(self, view: View) -> bool:
        """Bring every row up to date; False when all has to be made again."""
        if self.epoch(view) != self._epoch:
            return False
        # In one piece, as every decision comes through here several times.
        position, other_log, row_count = self._log.position, self._other_log, view.nodes.count
        other_position = 0 if other_log is None else other_log.position
        has_other_news = other_position != self._other_position
        if position == self._position and row_count == self._row_count and not has_other_news:
            return True
        rows = self._log.since(self._position)
        if has_other_news:
            rows = self._with_others(rows)
        if rows is None or not self.update(view, rows):
            return False
        self._position, self._other_position, self._row_count = position, other_position, row_count
        return True

    def _with_others(self, rows: RowArray | None) -> RowArray | None:
        """Those rows and those in the other log; None when a log does not reach back far enough."""
        if rows is None or self._other_log is None:
            return rows
        others = self._other_log.since(self._other_position)
        return None if others is None else np.concatenate((rows, others))


Kept = TypeVar("Kept", bound=Follower)


def followed(kept: dict[Key, Kept], key: Key, view: View, make: Callable[[], Kept], most: int) -> Kept:
    """What is kept under the key, brought up to date or made again. If more than `most` were kept, all go before."""
    known = kept.get(key)
    if known is None or not known.follow(view):
        if known is None and len(kept) >= most:
            kept.clear()
        known = kept[key] = make()
    return known
