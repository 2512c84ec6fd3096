"""What changes, for every page that is open: a snapshot first, then small batches, as server-sent events.

Takes the changes of a storage; looks at the objects only when a batch is due, so that ten writes to a pod within a
batch cost one digest. A batch is encoded once however many pages are open. A page that does not keep up gets a new
snapshot in place of what it missed. Nothing is done while no page is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.typed import MODELED
from bayplan.apiserver.storage.entries import encode_json
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.model.time_units import MILLISECOND
from bayplan.web.digests import TABLES, Digest, digest, event_digest, queued_digest, row_key

#: Changes are gathered for this long before they are sent.
GATHERING_SECONDS: Final = 0.1
#: The scheduler's queue moves without any write; so often it is looked at anyway.
QUEUE_SECONDS: Final = 1.0
#: A page that hears nothing for some time would think that the connection broke.
QUIET_SECONDS_MAX: Final = 15.0
#: So many unsent batches mean that a page has stopped reading.
BEHIND_MAX: Final = 100
#: The newest events are enough for a page that has just been opened.
EVENTS_MAX: Final = 300

Queue = Callable[[], Iterable[QueuedPod]]


class _Page:
    """One open page: what is yet to be sent to it."""

    def __init__(self) -> None:
        self.unsent: list[bytes] = []
        self.news = asyncio.Event()
        self.is_behind = False

    def add(self, message: bytes) -> None:
        if len(self.unsent) >= BEHIND_MAX:
            self.unsent.clear()
            self.is_behind = True
        if not self.is_behind:
            self.unsent.append(message)
        self.news.set()


class Feed:
    """Changes of one cluster.

    Args:
        registry: where the objects are.
        queue: gives the pods that wait in the scheduler's queue.
        clock: the time in nanoseconds.
    """

    def __init__(self, registry: Registry, queue: Queue, clock: Callable[[], int]) -> None:
        self._registry = registry
        self._queue = queue
        self._clock = clock
        self._pages: set[_Page] = set()
        self._dirty: dict[tuple[str, str, str], None] = {}
        self._sent_queue: dict[str, Digest] = {}
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def close(self) -> None:
        """Ends every stream."""
        self._is_closed = True
        for page in self._pages:
            page.news.set()

    async def messages(self) -> AsyncGenerator[bytes, None]:
        """The stream of one page, until it leaves or the feed is closed."""
        page = _Page()
        await self._registry.turns.free()  # while the world is at work, its queue is not to be read
        self._begin(page)
        try:
            yield self._snapshot()
            while not self._is_closed:
                await page.news.wait()
                await self._registry.turns.free()
                page.news.clear()
                if page.is_behind:
                    page.is_behind = False
                    page.unsent = [self._snapshot()]
                message, page.unsent = b"".join(page.unsent), []
                if message:
                    yield message
        finally:
            await self._end(page)

    def _begin(self, page: _Page) -> None:
        if self._task is None:
            self._dirty.clear()
            self._task = asyncio.ensure_future(self._publish_changes())
        self._publish()
        self._pages.add(page)

    async def _end(self, page: _Page) -> None:
        self._pages.discard(page)
        if self._pages or self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _publish_changes(self) -> None:
        stop = self._registry.storage.follow(self._note)
        quiet = 0.0
        try:
            while True:
                await self._wait(QUEUE_SECONDS)
                await asyncio.sleep(GATHERING_SECONDS)
                await self._registry.turns.free()
                quiet = 0.0 if self._publish() else quiet + QUEUE_SECONDS
                if quiet >= QUIET_SECONDS_MAX:
                    quiet = 0.0
                    self._send(b": quiet\n\n")
        finally:
            stop()

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def _note(self, change: DocumentChange) -> None:
        if change.resource in TABLES:
            self._dirty[change.resource, change.new.namespace, change.new.name] = None
            self._news.set()

    # What is sent.

    def _publish(self) -> bool:
        """Sends what has changed since the last time; False if nothing has."""
        batch = self._batch()
        if batch:
            self._send(self._message("changes", batch))
        return bool(batch)

    def _send(self, message: bytes) -> None:
        for page in self._pages:
            page.add(message)

    def _batch(self) -> dict[str, Any]:
        found: dict[str, dict[str, Digest | None]] = {}
        dirty, self._dirty = self._dirty, {}
        for resource, namespace, name in dirty:
            key = row_key(resource, namespace, name)
            found.setdefault(TABLES[resource], {})[key] = self._digest(resource, namespace, name)
        queue = self._queue_digests()
        if queue != self._sent_queue:
            moved = {key: where for key, where in queue.items() if self._sent_queue.get(key) != where}
            found["queue"] = {**moved, **dict.fromkeys(self._sent_queue.keys() - queue.keys())}
            self._sent_queue = queue
        return found

    def _digest(self, resource: str, namespace: str, name: str) -> Digest | None:
        info = MODELED.get(resource)
        if info is None:  # Events are the only ones that no struct stands for
            entry = self._registry.storage.find(resource, namespace, name)
            return None if entry is None else event_digest(entry.document)
        obj = self._registry.typed.content.find(info.kind, namespace, name)
        return None if obj is None else digest(TABLES[resource], obj)

    def _snapshot(self) -> bytes:
        tables: dict[str, dict[str, Digest]] = {table: {} for table in TABLES.values()}
        for resource, table in TABLES.items():
            entries = self._registry.storage.entries(resource)
            if resource not in MODELED:
                entries = sorted(entries, key=lambda entry: entry.version)[-EVENTS_MAX:]
            for entry in entries:
                shown = self._digest(resource, entry.namespace, entry.name)
                if shown is not None:
                    tables[table][row_key(resource, entry.namespace, entry.name)] = shown
        tables["queue"] = self._queue_digests()
        return self._message("snapshot", tables)

    def _queue_digests(self) -> dict[str, Digest]:
        return {queued.key: queued_digest(queued) for queued in self._queue()}

    def _message(self, event: str, tables: dict[str, Any]) -> bytes:
        version = self._registry.storage.version
        data = encode_json({"version": version, "at": self._clock() // MILLISECOND, "tables": tables})
        return b"event: %b\nid: %d\ndata: %b\n\n" % (event.encode(), version, data)
