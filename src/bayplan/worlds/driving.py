"""What every world that drives a scheduler needs, in virtual time or on the system clock.

The scheduler as a world sees it, and a garbage collector that does not get in the way. Decides and delivers nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from bayplan.core.decision import Decision
from bayplan.core.events import Event
from bayplan.model.kinds import Object

_FIRST_KINDS = ("Namespace", "PriorityClass", "Node", "PodGroup")
_RANKS = {kind: rank for rank, kind in enumerate(_FIRST_KINDS)}
#: Of all other kinds.
LAST_RANK = len(_FIRST_KINDS)


class DecidingScheduler(Protocol):
    """What a world needs of a scheduler."""

    def observe(self, event: Event, now: int) -> None: ...
    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision | None: ...
    def due_at(self, now: int) -> int | None: ...


def rank_of(obj: Object) -> int:
    """Objects are observed by rank, so that pods find their nodes, classes and groups."""
    return _RANKS.get(type(obj).__name__, LAST_RANK)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the garbage collector look less often: a cluster is many objects that live long and hold no cycles.

    At its usual pace it would go through all of them again and again, for a third of the time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
