"""Who is told how an attempt on a group goes on, while it goes on, as `serving/metrics/group_timings.py` is.

Nothing that an observer does changes what becomes of the group, and nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayplan.core.framework.verdict import Code


class GroupObserver:
    """Looks at nothing."""

    def placements_generated(self, profile: str, count: int) -> None:
        """There are so many placements, which are going to be tried."""

    def placements_tried(self, profile: str, feasible: Sequence[bool]) -> None:
        """What came of the next placements; several at once where they were only counted, together."""

    def victims_sought(self) -> None:
        """The group may preempt; who would have to go is going to be found out."""

    def victims_found(self, code: Code) -> None:
        """What came of that."""


NOBODY: Final = GroupObserver()
