"""Watches: what changes, as it changes, one line of JSON for each event.

Takes what is watched and from which version; gives pieces of bytes for as long as the client listens. Changes are noted
as they are made and sent together: while events come thick and fast, a watcher is woken some hundred times a second
and not once for each. A client that does not keep up is cut off, and resumes from its last version, as with any server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from functools import partial
from time import monotonic
from typing import Final

from bayplan.apiserver.http.accepting import PARTIAL, Form
from bayplan.apiserver.http.reading import ListSelection, check_list_options, selection_of
from bayplan.apiserver.http.rendering import object_bytes
from bayplan.apiserver.http.requests import Request, StreamedAnswer
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.turns import in_thread
from bayplan.apiserver.registry.versions import served_form, storage_name
from bayplan.apiserver.storage.entries import Document, Entry, encode_json
from bayplan.apiserver.storage.log import BYTES_MAX, DocumentChange, watch_line
from bayplan.apiserver.tables.building import check_include_object, one_row_table, partial_metadata
from bayplan.model.watch_types import ADDED, BOOKMARK, DELETED, ERROR, MODIFIED
from bayplan.model.well_known import INITIAL_EVENTS_END
from bayplan.store.errors import Gone, InternalError
from bayplan.store.log import DEFAULT_CAPACITY

#: How long a watch lasts if the client does not say.
TIMEOUT_SECONDS: Final = 1_800
#: How often a quiet watch is told the version it has reached, if it asked for that.
BOOKMARK_SECONDS: Final = 60
#: So long is spent on what was there, or had changed, when a watch begins, before others have their turn.
PIECE_SECONDS: Final = 0.005
#: After sending, so long is waited for more to send with it.
GATHERING_SECONDS: Final = 0.01
#: A watcher with so many events unsent, or bytes, has stopped reading; one who resumes never has, as logs are shorter.
BEHIND_MAX: Final = 2 * DEFAULT_CAPACITY
BEHIND_BYTES_MAX: Final = 4 * BYTES_MAX


class Watch:
    """One client's watch."""

    def __init__(
        self,
        registry: Registry,
        target: Target,
        selection: ListSelection,
        form: Form,
        clock: Callable[[], int],
        include_object: str,
    ) -> None:
        self._registry = registry
        self._target = target
        self._selection = selection
        self._form = form
        self._clock = clock
        self._include_object = include_object
        self._has_columns = False
        self._initial: Iterator[bytes] | None = None
        """What was there, or had changed, when the watch began, while it is being sent."""
        self._noted_meanwhile: list[DocumentChange] = []
        self._lines: list[bytes] = []
        self._unsent = 0
        """Bytes of events since the last were sent."""
        self._news = asyncio.Event()
        self._is_over = False
        self._cut_off: Callable[[], None] | None = None

    def when_stalled(self, react: Callable[[], None]) -> None:
        """Has this done once the client has fallen too far behind."""
        self._cut_off = react

    def close(self) -> None:
        """Ends the watch, from whatever it waits for."""
        self._is_over = True
        self._news.set()

    async def pieces(
        self, begin: Callable[[Watch], None], timeout_s: float, *, bookmarks: bool
    ) -> AsyncGenerator[bytes, None]:
        """The lines of the watch as they come, until it is over."""
        stop = self._registry.storage.follow(self._note, storage_name(self._target.resource))
        ends_at = asyncio.get_running_loop().time() + timeout_s
        try:
            begin(self)
            while True:
                while self._initial is not None:
                    if piece := await self._next_initial(self._initial):
                        yield piece
                    await asyncio.sleep(0)
                if self._lines:
                    piece, self._lines, self._unsent = b"".join(self._lines), [], 0
                    yield piece
                    await asyncio.sleep(GATHERING_SECONDS)
                    continue
                left = ends_at - asyncio.get_running_loop().time()
                if self._is_over or left <= 0:
                    return
                if not await self._wait(min(left, BOOKMARK_SECONDS)) and bookmarks:
                    self.add_bookmark()
        finally:
            stop()

    async def _wait(self, seconds: float) -> bool:
        """Whether there was news before the time was up."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    # What is noted.

    def begin_with_everything(self, *, bookmark: bool) -> None:
        """ADDED for all that is there, before anything else; then perhaps a bookmark that says that this was all."""
        storage = self._registry.storage
        entries = storage.entries(storage_name(self._target.resource), self._target.namespace)
        self._initial = self._everything(entries, storage.version if bookmark else None)

    def _everything(self, entries: list[Entry], version: int | None) -> Iterator[bytes]:
        yield from _gathered(
            watch_line(ADDED, self._render(entry)) if self._is_selected(entry) else b"" for entry in entries
        )
        if version is not None:
            yield self._bookmark(version, {"annotations": {INITIAL_EVENTS_END: "true"}})

    def _past(self, changes: Iterable[DocumentChange]) -> Iterator[bytes]:
        seen = ((self._event_of(change), change) for change in changes)
        yield from _gathered(self._line(event_type, change) if event_type else b"" for event_type, change in seen)

    async def _next_initial(self, initial: Iterator[bytes]) -> bytes:
        """Some more of it. After the last of it, what has changed meanwhile is noted."""
        piece = None
        if not self._is_over:
            more = partial(next, initial, None)
            piece = await in_thread(more) if self._reads_documents else more()
        if piece is None:
            self._initial = None
            noted, self._noted_meanwhile = self._noted_meanwhile, []
            for change in noted:
                self._note(change)
        return piece or b""

    @property
    def _reads_documents(self) -> bool:
        """Whether JSON that is there does not do."""
        return bool(self._form.shape) or not self._selection.is_everything

    def add_since(self, version: int) -> None:
        """What has changed since a version, or the one event that says that this is not known any more."""
        try:
            changes = self._registry.storage.log.since(version)
        except Gone as error:
            self._lines.append(watch_line(ERROR, encode_json(error.status())))
            self._is_over = True
            return
        name = storage_name(self._target.resource)
        self._initial = self._past([change for change in changes if change.resource == name])

    def add_bookmark(self) -> None:
        """Tells the client which version it has reached."""
        self._lines.append(self._bookmark(self._registry.storage.version, {}))

    def _bookmark(self, version: int, metadata: Document) -> bytes:
        resource = self._target.resource
        named = {"resourceVersion": str(version), **metadata}
        bookmark = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": named}
        return watch_line(BOOKMARK, self._shaped(bookmark) if self._form.shape else encode_json(bookmark))

    def _event_of(self, change: DocumentChange) -> str:
        """The type of the event that the change is to this client; "" if it is none."""
        namespace = self._target.namespace
        if namespace and change.new.namespace != namespace:
            return ""
        return change.type if self._selection.is_everything else self._seen_as(change)

    def _note(self, change: DocumentChange) -> None:
        event_type = self._event_of(change)
        if not event_type or self._is_over:
            return
        if self._initial is not None:
            self._noted_meanwhile.append(change)
            if len(self._noted_meanwhile) > BEHIND_MAX:
                self._give_up()
            return
        line = self._line(event_type, change)
        self._lines.append(line)
        self._unsent += len(line)
        if len(self._lines) > BEHIND_MAX or self._unsent > BEHIND_BYTES_MAX:
            self._give_up()
        self._news.set()

    def _give_up(self) -> None:
        """Keeps nothing more for a client that does not read."""
        self._is_over = True
        self._lines.clear()
        self._noted_meanwhile.clear()
        if self._cut_off is not None:
            self._cut_off()

    def _seen_as(self, change: DocumentChange) -> str:
        """What the change is to one who sees only some objects; "" if nothing."""
        was = change.old is not None and self._is_selected(change.old)
        stays = change.type != DELETED and self._is_selected(change.new)
        if stays:
            return MODIFIED if was else ADDED
        return DELETED if was else ""

    def _is_selected(self, entry: Entry) -> bool:
        if self._selection.is_everything:
            return True
        return self._selection.has(served_form(self._target.resource, entry.document))

    def _line(self, event_type: str, change: DocumentChange) -> bytes:
        if self._form.shape:
            return watch_line(event_type, self._render(change.new))
        return change.line(event_type, self._target.resource.api_version, self._render)

    def _render(self, entry: Entry) -> bytes:
        resource = self._target.resource
        if self._form.shape:
            return self._shaped(served_form(resource, entry.document))
        return object_bytes(entry, resource)

    def _shaped(self, document: Document) -> bytes:
        """A document as the table or the metadata that were asked for."""
        if self._form.shape == PARTIAL:
            return encode_json(partial_metadata(document, self._form.version))
        row = one_row_table(
            self._registry.definitions.printer(self._target.resource),
            document,
            self._clock(),
            include_object=self._include_object,
            with_columns=not self._has_columns,
            version=self._form.version,
        )
        self._has_columns = True
        return encode_json(row)


def _gathered(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines as pieces, each made in a few milliseconds."""
    piece, ends_at = [], monotonic() + PIECE_SECONDS
    for line in lines:
        piece.append(line)
        if monotonic() >= ends_at:
            yield b"".join(piece)
            piece, ends_at = [], monotonic() + PIECE_SECONDS
    yield b"".join(piece)


def watch(
    registry: Registry, request: Request, target: Target, form: Form, clock: Callable[[], int]
) -> tuple[Watch, StreamedAnswer]:
    """A watch as the request asks for it, and what it sends."""
    check_list_options(request, is_watch=True)
    version, fault = request.version()
    if fault:
        raise InternalError(fault)
    selection = selection_of(registry, request, target)
    shown = check_include_object(request.query.get("includeObject", ""))
    seen = Watch(registry, target, selection, form, clock, shown)
    bookmarks = request.flag("allowWatchBookmarks")
    sends_all = request.flag("sendInitialEvents")

    def begin(started: Watch) -> None:
        if sends_all or not version:
            started.begin_with_everything(bookmark=bookmarks and (sends_all or version == 0))
        elif version <= registry.storage.version:
            started.add_since(version)

    timeout_s = request.number("timeoutSeconds") or TIMEOUT_SECONDS
    content_type = "application/json"
    pieces = seen.pieces(begin, timeout_s, bookmarks=bookmarks)
    return seen, StreamedAnswer(pieces, content_type, seen.when_stalled)
