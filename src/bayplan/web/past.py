"""What a page that was opened later has missed: the cluster's last changes, from the log of its storage.

The log has the writes, but not when they were made; that is noted here from the start, once for all writes of a tenth
of a second. What falls off the log's end is gone here, too. The queue is not in the log, so the past does not show
where pods waited. The work is done in another thread, on entries that never change.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bayplan.apiserver.registry.typed import MODELED, narrow
from bayplan.apiserver.storage.entries import Entry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.apiserver.storage.storage import Storage
from bayplan.model.time_units import MILLISECOND
from bayplan.model.watch_types import DELETED
from bayplan.store.errors import BadRequest
from bayplan.web.digests import TABLES, Digest, digest, event_digest, row_key

#: Writes within this time are one step of the timeline, as in the batches of the feed.
STEP_MS: Final = 100
#: So many steps are sent at most.
STEPS_MAX: Final = 1_500

Tables = dict[str, dict[str, Digest | None]]


@dataclass(frozen=True, slots=True)
class PastMoment:
    """A moment, and the version of the first write in it."""

    at: int
    first_version: int


class StorageHistory:
    """The past of one storage, from now on.

    Args:
        storage: whose log it is.
        clock: the time in nanoseconds.
    """

    def __init__(self, storage: Storage, clock: Callable[[], int]) -> None:
        self._storage = storage
        self._clock = clock
        self._steps: deque[PastMoment] = deque()
        self._busy = asyncio.Semaphore(1)
        storage.follow(self._note)

    def _note(self, change: DocumentChange) -> None:
        now = self._clock() // MILLISECOND
        steps = self._steps
        if not steps or now - steps[-1].at >= STEP_MS:
            steps.append(PastMoment(now, change.version))
        while len(steps) > 1 and steps[1].first_version <= self._storage.log.expired + 1:
            steps.popleft()

    async def until(self, version: int) -> dict[str, Any]:
        """The steps up to a version, and what they changed as it was before. Raises BadRequest."""
        log = self._storage.log
        if not log.expired <= version <= log.version:
            raise BadRequest(f"{version}: expected a version from {log.expired} to {log.version}")
        steps = [step for step in self._steps if step.first_version <= version][-STEPS_MAX:]
        oldest = max(steps[0].first_version - 1, log.expired) if steps else version
        changes = log.since(oldest)[: version - oldest]
        async with self._busy:
            return await asyncio.to_thread(_told, changes, steps)


def _told(changes: Sequence[DocumentChange], steps: Sequence[PastMoment]) -> dict[str, Any]:
    """Only what the page shows: other resources and steps without any are left out."""
    shown = [change for change in changes if change.resource in TABLES]
    batches = [_batch(step, made) for step, made in _by_step(shown, steps) if made]
    return {"base": _before(shown), "batches": batches}


def _by_step(
    changes: Sequence[DocumentChange], steps: Sequence[PastMoment]
) -> Iterator[tuple[PastMoment, list[DocumentChange]]]:
    versions = [change.version for change in changes]
    begins = [bisect_left(versions, step.first_version) for step in steps]
    for step, begin, end in zip(steps, begins, [*begins, len(changes)][1:], strict=True):
        yield step, list(changes[begin:end])


def _batch(step: PastMoment, changes: Sequence[DocumentChange]) -> dict[str, Any]:
    """How things ended in this step, as the feed tells it."""
    tables: Tables = {}
    for change in {_place(change): change for change in changes}.values():
        table, key = _place(change)
        tables.setdefault(table, {})[key] = None if change.type == DELETED else _digest(change.resource, change.new)
    return {"at": step.at, "version": changes[-1].version, "tables": tables}


def _before(changes: Sequence[DocumentChange]) -> Tables:
    """What changed, as it was before it first did."""
    first = {_place(change): change for change in reversed(changes)}
    found: Tables = {}
    for (table, key), change in first.items():
        if change.old is not None:
            found.setdefault(table, {})[key] = _digest(change.resource, change.old)
    return found


def _place(change: DocumentChange) -> tuple[str, str]:
    return TABLES[change.resource], row_key(change.resource, change.new.namespace, change.new.name)


def _digest(resource: str, entry: Entry) -> Digest | None:
    info = MODELED.get(resource)
    if info is None:
        return event_digest(entry.document)
    return digest(TABLES[resource], narrow(entry.document, info))
