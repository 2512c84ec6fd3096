"""The objects of one kind, as an API server has them: a list, then a watch, again and again.

Takes a client and the kind; gives the events of the core, each with the object as it was known before. A list after a
gap gives the difference to what is known, so that nothing is forgotten. The rules are those of client-go's reflector
(v1.36): a list is streamed where the server can; a watch goes on where it ended; only a server that has forgotten that
place, or refuses, is asked for a list again. What becomes of the events is not its business.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from bayplan.client.backoff import RetryDelays
from bayplan.client.contract import ApiClient, LostError, NotSentError, TransportError
from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.refusals import ApiStatus, read_status
from bayplan.client.watch_lines import KindReader, Page, UnintelligibleError, Unreadable
from bayplan.client.watched_kinds import WatchedKind
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved, changes_between
from bayplan.model.kinds import Object, object_key
from bayplan.model.watch_types import BOOKMARK, DELETED
from bayplan.model.well_known import INITIAL_EVENTS_END

_TIMEOUT_MIN_S, _TIMEOUT_MAX_S = 300, 600
_OVERDUE_S = 30  # a server that has not ended a watch this long after its time is not there any more
_SILENCE_MAX_S = 150.0  # of a server that sends bookmarks, which it does each minute
_LIST_SILENCE_MAX_S = 60.0
_PATIENCE_GRAIN = 0.05  # by this part of it the server may be given up early
_SHORT_S = 1.0
_PAGE_SIZE = 500
_FORBIDDEN, _NOT_FOUND, _EXPIRED, _TOO_MANY, _GATEWAY_TIMEOUT = 403, 404, 410, 429, 504
_ANY_VERSION = "0"


class ReflectorHost(Protocol):
    """Who wants to know."""

    def on_events(self, kind: str, events: Sequence[Event]) -> None:
        """What has changed, in order."""

    def on_synced(self, kind: str) -> None:
        """The first list is in."""

    def on_refused(self, kind: str) -> None:
        """The server does not give a list that can be done without. A server that is starting refuses everything."""

    def on_trouble(self, kind: str, message: str, cause: str = "") -> None:
        """Something to report; the reflector goes on by itself. A cause is what other kinds may suffer from, too."""


class _RefusedError(Exception):
    """The server has answered, but not with what was asked for."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"HTTP status {code}")
        self.code = code

    @property
    def is_stale(self) -> bool:
        """Whether the server does not have the version that was named."""
        return self.code == _EXPIRED or (self.code == _GATEWAY_TIMEOUT and "Too large resource version" in str(self))


class _ShortWatchError(_RefusedError):
    """A watch that ended at once, without a word."""

    def __init__(self) -> None:
        super().__init__(
            0, "very short watch: Unexpected watch close - watch lasted less than a second and no items received"
        )


class Reflector:
    """Follows one kind until cancelled."""

    def __init__(
        self,
        client: ApiClient,
        kind: WatchedKind,
        host: ReflectorHost,
        *,
        backoff: RetryDelays | None = None,
        draw: Callable[[], float] = random.random,
        silence_max_s: float = _SILENCE_MAX_S,
        documents: KeptDocuments | None = None,
    ) -> None:
        self._client = client
        self._kind = kind
        self._host = host
        self._backoff = backoff or RetryDelays()
        self._draw = draw
        self._silence_max_s = silence_max_s
        self._documents = documents if documents is not None and documents.wants(kind.info.kind) else None
        self._reader = KindReader(kind.info, None if self._documents is None else self._documents.keep)
        self._version = ""  # of the last thing that the server said
        self._is_version_lost = False  # the server says that it does not have it
        self._listing: dict[str, Object] | None = None  # a list that is being streamed
        self._lines_seen = 0  # on this watch, after the list
        self._watching_since = 0.0
        self._has_bookmarks = False
        self._reported = ""
        self._hurry = asyncio.Event()
        self.known: dict[str, Object] = {}
        """What was delivered, by namespace/name."""
        self.is_synced = False

    @property
    def kind(self) -> str:
        return self._kind.info.kind

    @property
    def trouble(self) -> str:
        """What keeps it from listing or watching now; empty when nothing does."""
        return self._reported

    async def run(self) -> None:
        while True:
            try:
                await self._list_and_watch()
            except (_RefusedError, TransportError, UnintelligibleError) as error:
                self._report(error)
            self._listing = None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._backoff.delay_s())
            self._hurry.clear()

    def hurry(self) -> None:
        """Try again at once, if it waits to do so."""
        self._hurry.set()

    async def _list_and_watch(self) -> None:
        """Ends with an exception, when only a new list can help."""
        await self._sync()
        while True:
            await self._watch(self._query(streamed=False))

    # ------------------------------------------------------------------ lists

    async def _sync(self) -> None:
        """A complete list, and what follows it on the same stream."""
        is_complete = False
        while not is_complete:
            self._listing = {}
            try:
                await self._watch(self._query(streamed=True))
            except _RefusedError as error:
                if self._listing is None:
                    raise
                if not error.is_stale or self._is_version_lost:
                    self._listing = None
                    await self._list()
                    return
                self._is_version_lost = True
                continue
            is_complete = self._listing is None
            if not is_complete:  # the stream broke; its beginning is no use
                await asyncio.sleep(self._backoff.delay_s())

    async def _list(self) -> None:
        version = "" if self._is_version_lost else self._version or _ANY_VERSION
        try:
            await self._list_from(version)
        except _RefusedError as error:
            if not error.is_stale or not version:
                raise
            self._is_version_lost = True
            await self._list_from("")

    async def _list_from(self, version: str) -> None:
        """Page by page, but for a version that the server's cache can give as a whole."""
        limit = _PAGE_SIZE if version in ("", _ANY_VERSION) else 0
        listed: dict[str, Object] = {}
        page = await self._page("", limit, version)
        self._collect(page.contents, listed)
        while page.continues:
            try:
                page = await self._page(page.continues, limit, "")
            except _RefusedError as error:
                if not error.is_stale:
                    raise
                listed = {}
                page = await self._page("", 0, version)
            self._collect(page.contents, listed)
        self._replace(listed, page.version)

    async def _page(self, continues: str, limit: int, version: str) -> Page:
        given = {
            "continue": continues,
            "fieldSelector": self._kind.field_selector,
            "limit": str(limit or ""),
            "resourceVersion": version,
        }
        query = "&".join(f"{name}={value}" for name, value in given.items() if value)
        path = f"{self._kind.path}?{query}" if query else self._kind.path
        response = await self._client.request("GET", path, timeout_s=2 * _LIST_SILENCE_MAX_S)
        if not response.ok:
            raise _RefusedError(response.status, read_status(response.body).message)
        return self._reader.page(response.body)

    def _collect(self, contents: Sequence[Object | Unreadable], into: dict[str, Object]) -> None:
        for content in contents:
            if isinstance(content, Unreadable):
                self._skip(content)
            else:
                into[object_key(content)] = content

    def _replace(self, listed: dict[str, Object], version: str) -> None:
        """What is known becomes what is listed; the difference is delivered."""
        events = changes_between(self.known, listed)
        self.known = listed
        self._version = version
        self._is_version_lost = False
        self._reported = ""
        if events:
            self._deliver(events)
        self._set_synced()

    def _deliver(self, events: Sequence[Event]) -> None:
        if self._documents is not None:
            for event in events:
                if isinstance(event, ObjectRemoved):
                    self._documents.forget(event.old)
        self._host.on_events(self._kind.info.kind, events)

    # ------------------------------------------------------------------ watches

    def _query(self, *, streamed: bool) -> str:
        seconds = _TIMEOUT_MIN_S + int(self._draw() * (_TIMEOUT_MAX_S - _TIMEOUT_MIN_S))
        self._timeout_s = seconds
        version = "" if streamed and self._is_version_lost else self._version
        given = {
            "allowWatchBookmarks": "true",
            "fieldSelector": self._kind.field_selector,
            "resourceVersion": version,
            "resourceVersionMatch": "NotOlderThan" if streamed else "",
            "sendInitialEvents": "true" if streamed else "",
            "timeout": f"{seconds // 60}m{seconds % 60}s",
            "timeoutSeconds": str(seconds),
            "watch": "true",
        }
        return "&".join(f"{name}={value}" for name, value in given.items() if value)

    async def _watch(self, query: str) -> None:
        """One watch until it ends. A server that nobody hears, or that is too busy, gets some time."""
        try:
            await self._follow(f"{self._kind.path}?{query}")
        except NotSentError as error:
            self._report(error)
        except _RefusedError as error:
            if error.code != _TOO_MANY:
                raise
        else:
            return
        if self._listing is None:
            await asyncio.sleep(self._backoff.delay_s())

    async def _follow(self, path: str) -> None:
        loop = asyncio.get_running_loop()
        self._begin_watch()
        try:
            async with asyncio.timeout(self._patience_s) as patience, self._client.stream(path) as stream:
                if stream.status >= 400:
                    raise _RefusedError(stream.status, read_status(await stream.read()).message)
                self._reported = ""
                rest = b""
                async for chunk in stream:
                    *lines, rest = (rest + chunk).split(b"\n")
                    self._take(lines)
                    self._extend(patience, loop.time())
        except (LostError, TimeoutError):
            pass  # a watch that breaks goes on like one that ends
        if not self._lines_seen and loop.time() - self._watching_since < _SHORT_S:
            raise _ShortWatchError

    def _extend(self, patience: asyncio.Timeout, now: float) -> None:
        """The server has said something. A timer is not set anew for each of a thousand lines a second."""
        until, last = now + self._patience_s, patience.when() or 0.0
        if abs(until - last) > _PATIENCE_GRAIN * self._patience_s:
            patience.reschedule(until)

    def _begin_watch(self) -> None:
        self._watching_since = asyncio.get_running_loop().time()
        self._lines_seen = 0

    @property
    def _patience_s(self) -> float:
        """How long the server may say nothing."""
        if self._listing is not None:
            return _LIST_SILENCE_MAX_S
        return self._silence_max_s if self._has_bookmarks else self._timeout_s + _OVERDUE_S

    def _take(self, lines: Sequence[bytes]) -> None:
        events: list[Event] = []
        try:
            for text in lines:
                if text:
                    self._take_line(text, events)
        finally:
            if events:
                self._deliver(events)

    def _take_line(self, text: bytes, events: list[Event]) -> None:
        kind, content = self._reader.line(text)
        if isinstance(content, ApiStatus):
            raise _RefusedError(content.code, content.message)
        self._lines_seen += 1
        if isinstance(content, Unreadable):
            self._take_unreadable(kind, content, events)
        elif kind == BOOKMARK:
            self._take_bookmark(content)
        elif self._listing is not None:
            _apply(self._listing, kind, content)
        else:
            self._version = content.metadata.resource_version
            event = _apply(self.known, kind, content)
            if event is not None:
                events.append(event)

    def _take_unreadable(self, kind: str, content: Unreadable, events: list[Event]) -> None:
        gone = self.known.pop(content.key, None) if kind == DELETED and self._listing is None else None
        if gone is None:
            self._skip(content)
        else:
            self._version = content.version
            events.append(ObjectRemoved(gone))

    def _take_bookmark(self, bookmark: Object) -> None:
        meta = bookmark.metadata
        if self._listing is None:
            self._version = meta.resource_version
            self._has_bookmarks = True
        elif meta.annotations.get(INITIAL_EVENTS_END) == "true":
            listed, self._listing = self._listing, None
            self._replace(listed, meta.resource_version)
            self._begin_watch()  # what came before is the list

    # ------------------------------------------------------------------ reports

    def _set_synced(self) -> None:
        if not self.is_synced:
            self.is_synced = True
            self._host.on_synced(self._kind.info.kind)

    def _skip(self, content: Unreadable) -> None:
        if content.version and self._listing is None:
            self._version = content.version
        self._host.on_trouble(
            self._kind.info.kind, f"{self._kind.info.kind} {content.key.lstrip('/')} is left out: {content.problem}"
        )

    def _report(self, error: Exception) -> None:
        """Once for each new trouble, until the server is heard again."""
        message = self._described(error)
        is_refused = isinstance(error, _RefusedError) and error.code in (_FORBIDDEN, _NOT_FOUND)
        if message != self._reported:
            self._reported = message
            self._host.on_trouble(self._kind.info.kind, message, "" if is_refused else _cause(error))
        if is_refused and not self._kind.is_indispensable:
            self._host.on_refused(self._kind.info.kind)

    def _described(self, error: Exception) -> str:
        named = f'{self._kind.plural} in API group "{self._kind.info.group}"'
        code = error.code if isinstance(error, _RefusedError) else 0
        if code == _FORBIDDEN:
            then = "waiting for it" if self._kind.is_indispensable else "going on without"
            return f"missing permission: verbs list and watch on {named}; {then}: {error}"
        if code == _NOT_FOUND:
            return f"the server does not have {named}: {error}"
        return f"failed to list or watch {named}: {_cause(error)}"


def _cause(error: Exception) -> str:
    """Without the address of the request, which has another timeout each time."""
    return error.cause if isinstance(error, TransportError) else str(error)


def _apply(objects: dict[str, Object], kind: str, obj: Object) -> Event | None:
    """Makes the change to the objects; None if there is none."""
    key = object_key(obj)
    if kind == DELETED:
        gone = objects.pop(key, None)
        return ObjectRemoved(gone) if gone is not None else None
    old = objects.get(key)
    objects[key] = obj
    if old is None:
        return ObjectAdded(obj)
    if old.metadata.resource_version == obj.metadata.resource_version:
        return None
    return ObjectChanged(old, obj)
