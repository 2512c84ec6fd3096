"""A garbage collector that nobody has to wait for, for processes that serve for months.

Python's own looks at all objects that became old since it last looked, and at all there are now and then: a second with
10,000 pods. Nearly everything here is freed without it, as soon as nothing refers to it; cycles are rare and end young.
So only the young are looked at, often enough for there to be few, and what stays is never looked at again
(docs/decisions/0031-collections-of-the-young.md). Process-wide, so only for commands that own their process.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from bayplan.core.actions import Action
from bayplan.core.decision import Decision
from bayplan.core.events import Event

#: The young are looked at after so many changes of the cluster, each of which leaves some tens of objects behind,
CHANGES_MAX: Final = 32
#: and after this time, if there are more new objects than this.
_EVERY_S: Final = 0.25
_YOUNG_MIN: Final = 2_000
#: Of that many looks, the last makes those old that outlived all of them.
_ROUNDS: Final = 4
#: More new objects than this come from reading something large, such as a list of all pods, and are there to stay.
YOUNG_MAX: Final = 20_000


class YoungCollector:
    """Looks at young objects; that it is done often is what keeps each look short."""

    def __init__(self) -> None:
        self._round = 0
        self._changes = 0

    def note_change(self) -> None:
        """The cluster has changed."""
        self._changes += 1
        if self._changes >= CHANGES_MAX:
            self.look()

    def look_if_due(self) -> None:
        """Now and then, for what is made without any change."""
        if self._changes or gc.get_count()[0] > _YOUNG_MIN:
            self.look()

    def look(self) -> None:
        """Frees the cycles among objects made since the last look, or in the last round since the last round's."""
        self._changes = 0
        # If Python's own count is low, they are counted one by one, in half the time of a look: that count goes down
        # with each old object that is freed, so a list that is read again would not show in it.
        if gc.get_count()[0] > YOUNG_MAX or len(gc.get_objects(0)) > YOUNG_MAX:
            gc.freeze()
            return
        self._round = (self._round + 1) % _ROUNDS
        if self._round:
            gc.collect(0)
        else:
            gc.collect(1)
            gc.freeze()


class CollectionsWhileLive:
    """Tells the collector of what the live scheduler sees."""

    def __init__(self, collector: YoungCollector) -> None:
        self._collector = collector

    def observed(self, event: Event, now: int) -> None:  # noqa: ARG002 - that there was one is enough
        self._collector.note_change()

    def decided(self, decision: Decision, now: int, took_ns: int) -> None:
        pass

    def wrote(self, action: Action, took_ns: int, error: str) -> None:
        pass


@asynccontextmanager
async def brief_collections() -> AsyncIterator[YoungCollector]:
    """Within the block, short looks at young objects take the place of Python's own collections."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    collector = YoungCollector()
    looking = asyncio.ensure_future(_look_on(collector))
    try:
        yield collector
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        gc.unfreeze()
        if was_enabled:
            gc.enable()


async def _look_on(collector: YoungCollector) -> None:
    """Until cancelled."""
    while True:
        await asyncio.sleep(_EVERY_S)
        collector.look_if_due()
