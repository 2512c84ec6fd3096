"""A cluster followed for a recording: what an API server's watches say goes into a writer.

Takes a client that may list and watch, and runs until it is told to stop. Kinds that the server does not have or does
not show are left out and reported. Lost watches are taken up again by the reflectors; what could not be seen meanwhile
comes as differences, and the recording says so. Writes nothing to the API.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.client.contract import ApiClient
from bayplan.client.reflector import Reflector
from bayplan.client.watched_kinds import INDISPENSABLE, WatchedKind
from bayplan.core.events import Event
from bayplan.model.errors import InvalidObject

_TICKS_EVERY_S: Final = 1.0
#: A server that is starting refuses everything, so a kind is given up only when it is refused again.
_REFUSALS_MEANT: Final = 2


class Recorder:
    """Between the watches of an API server and a writer."""

    def __init__(
        self,
        client: ApiClient,
        kinds: Iterable[WatchedKind],
        writer: RecordingWriter,
        *,
        clock: Callable[[], int],
        on_trouble: Callable[[str], None],
        on_begun: Callable[[int], None],
    ) -> None:
        """`on_begun` is told how many objects there were when everything was listed."""
        self._writer = writer
        self._clock = clock
        self._on_trouble = on_trouble
        self._on_begun = on_begun
        self._reflectors = {kind.info.kind: Reflector(client, kind, self) for kind in kinds}
        self._unsynced = set(self._reflectors)
        self._refusals: Counter[str] = Counter()
        self._reported: set[str] = set()
        self._has_begun = False
        self._failure: InvalidObject | None = None
        self._failed = asyncio.Event()

    async def run(self, stopping: asyncio.Future[None]) -> None:
        """Returns when `stopping` is done; raises InvalidObject when there is no room to write any more."""
        tasks = [asyncio.ensure_future(reflector.run()) for reflector in self._reflectors.values()]
        tasks.append(asyncio.ensure_future(self._tick()))
        tasks.append(asyncio.ensure_future(self._failure_known()))
        try:
            await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        errors = [self._failure, *(outcome for outcome in outcomes if isinstance(outcome, Exception))]
        for error in errors:
            if error is not None:
                self._writer.abandon()
                raise error
        self._writer.close(self._clock())

    async def _failure_known(self) -> None:
        await self._failed.wait()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICKS_EVERY_S)
            if self._has_begun:
                self._try(lambda: self._writer.tick(self._clock()))

    def _try(self, write: Callable[[], None]) -> None:
        if self._failure is not None:
            return
        try:
            write()
        except InvalidObject as error:
            self._failure = error
            self._failed.set()

    # What the reflectors say.

    def on_events(self, kind: str, events: Sequence[Event]) -> None:
        """Of one kind, in order."""
        if self._has_begun:
            now = self._clock()
            self._reported.discard(kind)
            self._try(lambda: self._write(events, now))

    def _write(self, events: Sequence[Event], now: int) -> None:
        for event in events:
            self._writer.event(event, now)

    def on_synced(self, kind: str) -> None:
        self._unsynced.discard(kind)
        if not self._unsynced and not self._has_begun:
            self._has_begun = True
            objects = list(chain.from_iterable(reflector.known.values() for reflector in self._reflectors.values()))
            self._try(lambda: self._writer.begin(objects, self._clock()))
            self._on_begun(len(objects))

    def on_refused(self, kind: str) -> None:
        self._refusals[kind] += 1
        if self._refusals[kind] >= _REFUSALS_MEANT and self._unsynced.isdisjoint(INDISPENSABLE):
            self.on_synced(kind)

    def on_trouble(self, kind: str, message: str, cause: str = "") -> None:
        text = cause or message
        if text not in self._reported:
            self._reported.add(text)
            self._on_trouble(text)
        if self._has_begun:
            self._try(lambda: self._writer.trouble(f"{kind}: {message}", self._clock()))
