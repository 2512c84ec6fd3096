"""Events into the files of a recording: one file, or files in a directory that take turns.

A recording that exists is continued: what is known is listed again, and the reader finds out what has changed since.
Every file of a directory begins with such a list, so that it can be read without those before it; the oldest are
deleted when there are too many. What was observed is in the file within seconds, also where nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from bayplan.analysis.recordings.blocks import BlockFile
from bayplan.analysis.recordings.entries import ALIVE, HEAD, SYNCED, TROUBLE, Entry, EntryWriter
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.time_units import MICROSECOND, MINUTE, SECOND
from bayplan.worlds.live_journal import in_order

_PATTERN: Final = "recording-*.rec"
_BLOCK_BYTES: Final = 256 * 1024
#: What a crash may cost at most.
_WRITES_AFTER_NS: Final = 5 * SECOND
_SAYS_ALIVE_AFTER_NS: Final = MINUTE

_encode = msgspec.msgpack.Encoder().encode


class RecordingWriter:
    """Writes what it is told. All times are those of the caller."""

    def __init__(
        self, path: str, head: dict[str, Any], *, file_bytes: int = 0, file_ns: int = 0, files_max: int = 0
    ) -> None:
        """`path` is a directory if there is one, or if it ends with a slash. Limits of 0 are none."""
        self._head = head
        self._folder = Path(path) if Path(path).is_dir() or path.endswith("/") else None
        self._file_bytes = file_bytes
        self._file_ns = file_ns
        self._files_max = files_max
        self._known: dict[tuple[str, str], Object] = {}
        self._waiting: list[msgspec.Raw] = []
        self._waiting_bytes = 0
        self._written_at = self._last = self._began_at = 0
        self._entries = EntryWriter()
        self.events = 0
        self._file = self._open(Path(path))
        self._bytes_before = -self._file.size

    @property
    def bytes_written(self) -> int:
        """Of this run, in all files."""
        return self._bytes_before + self._file.size

    def begin(self, objects: Iterable[Object], now: int) -> None:
        """All that is known when recording begins."""
        self._known = {(type(obj).__name__, object_key(obj)): obj for obj in objects}
        self._list(now)

    def event(self, event: Event, now: int) -> None:
        match event:
            case ObjectAdded(new):
                self._known[type(new).__name__, object_key(new)] = new
                entry: Entry | None = self._entries.added(new)
            case ObjectChanged(old, new) if old.metadata.uid != new.metadata.uid:
                self.event(ObjectRemoved(old), now)
                self.event(ObjectAdded(new), now)
                return
            case ObjectChanged(old, new):
                self._known[type(new).__name__, object_key(new)] = new
                entry = self._entries.changed(old, new)
            case ObjectRemoved(old):
                self._known.pop((type(old).__name__, object_key(old)), None)
                entry = self._entries.removed(old)
            case _:
                entry = None
        if entry is not None:
            self.events += 1
            self._add(entry, now)

    def trouble(self, message: str, now: int) -> None:
        """Something that may have hidden what happened."""
        self._add([TROUBLE, 0, message], now)

    def tick(self, now: int) -> None:
        """To be called about once a second."""
        if self._waiting:
            if now - self._written_at >= _WRITES_AFTER_NS:
                self._write(now)
        elif now - self._last >= _SAYS_ALIVE_AFTER_NS:
            self._add([ALIVE, 0], now)
            self._write(now)
        if self._folder is not None and self._is_full(now):
            self._turn_over(self._folder, now)

    def close(self, now: int) -> None:
        """Says until when everything was seen, if it began."""
        try:
            if self._began_at:
                self._add([ALIVE, 0], now)
                self._write(now)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Writes nothing more."""
        self._file.close()

    def _list(self, now: int) -> None:
        self._began_at = self._last = now
        self._entries = EntryWriter()
        self._add([HEAD, 0, {**self._head, "startedAt": now}], now)
        for obj in in_order(self._known.values()):
            self._add(self._entries.added(obj), now)
        self._add([SYNCED, 0], now)
        self._write(now)

    def _add(self, entry: Entry, now: int) -> None:
        passed = max(now - self._last, 0) // MICROSECOND
        self._last += passed * MICROSECOND  # so that what is cut off does not add up
        entry[1] = passed
        content = _encode(entry)
        self._waiting.append(msgspec.Raw(content))
        self._waiting_bytes += len(content)
        if self._waiting_bytes >= _BLOCK_BYTES:
            self._write(now)

    def _write(self, now: int) -> None:
        """Entries leave the list first: if there is no room for them, there is none later either."""
        content, self._waiting, self._waiting_bytes = self._waiting, [], 0
        self._written_at = now
        self._file.add(_encode(content))

    def _is_full(self, now: int) -> bool:
        is_large = 0 < self._file_bytes <= self._file.size
        return is_large or 0 < self._file_ns <= now - self._began_at

    def _turn_over(self, folder: Path, now: int) -> None:
        self._add([ALIVE, 0], now)
        self._write(now)
        self._file.close()
        self._bytes_before += self._file.size
        self._file = self._open(folder)
        self._list(now)
        if self._file_bytes:
            self._file_bytes = max(self._file_bytes, 2 * self._file.size)  # more than what every file begins with
        if self._files_max:
            for file in recording_files(folder)[: -self._files_max]:
                file.unlink(missing_ok=True)

    def _open(self, path: Path) -> BlockFile:
        try:
            if self._folder is not None:
                self._folder.mkdir(parents=True, exist_ok=True)
                number = max(map(_number, recording_files(self._folder)), default=0) + 1
                path = self._folder / f"recording-{number:06}.rec"
            return BlockFile(path)
        except OSError as error:
            raise InvalidObject([Fault(str(path), "", "", f"cannot be written: {error.strerror}")]) from error


def recording_files(folder: Path) -> list[Path]:
    """In the order in which they were written."""
    return sorted(folder.glob(_PATTERN), key=_number)


def _number(file: Path) -> int:
    digits = file.stem.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
