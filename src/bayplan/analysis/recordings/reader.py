"""The files of a recording into what was there at first and the events that followed.

Where the recorder was away, a later list is held against what was known: the differences become events of the time
that the objects themselves name if they can, or of the end of the gap. Events come one by one, so that a long
recording takes little memory. Files that were cut off are read up to there; how much is missing is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from bayplan.analysis.recordings.blocks import ReadBlocks
from bayplan.analysis.recordings.entries import (
    ADDED,
    CHANGED,
    HEAD,
    REMOVED,
    SYNCED,
    TROUBLE,
    Entry,
    EntryReader,
    Plain,
)
from bayplan.analysis.recordings.writer import recording_files
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import KINDS, Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.time_units import MICROSECOND, SECOND
from bayplan.model.timestamps import format_time, parse_time

#: Shorter absences are those between two files.
_GAP_NS: Final = SECOND
_Place = tuple[str, str]
_decode = msgspec.msgpack.Decoder(list[Entry]).decode


class Happening(NamedTuple):
    """An event and when it was seen, in nanoseconds."""

    at: int
    event: Event


class RecordingReader:
    """One recording. What it says of the whole is complete once all events were read."""

    def __init__(self, path: str) -> None:
        """Reads what was there at first. Raises InvalidObject."""
        self.path = path
        self.head: dict[str, Any] = {}
        self.notes: list[str] = []
        """What may have hidden something."""
        self._files = [Path(path)]
        if Path(path).is_dir():
            self._files = recording_files(Path(path))
            if not self._files:
                raise _wrong(path, "there is no recording in this directory")
        self._known: dict[_Place, Object]
        self._now = self.started_at = 0
        self._entries = self._read()
        self._state = EntryReader()
        self._listed: dict[_Place, Object] | None = {}
        self._listed_at = 0
        for kind, entry in self._entries:
            if kind == SYNCED and self.head:
                break
            self._take(kind, entry)
        else:
            raise _wrong(path, "holds nothing: it was cut off before the first list of objects was complete")
        self._known, self._listed = self._listed, None
        self.started_at = self._now
        self.objects = list(self._known.values())

    @property
    def ended_at(self) -> int:
        """The time of what was read last."""
        return self._now

    def __iter__(self) -> Iterator[Happening]:
        """What followed; to be read once."""
        for kind, entry in self._entries:
            if kind == SYNCED:
                yield from self._caught_up()
            else:
                event = self._take(kind, entry)
                if event is not None:
                    yield Happening(self._now, event)

    def _take(self, kind: int, entry: Entry) -> Event | None:
        try:
            return self._taken(kind, entry)
        except (msgspec.MsgspecError, KeyError, IndexError, TypeError) as error:
            raise _unknown(self.path, error) from error

    def _taken(self, kind: int, entry: Entry) -> Event | None:
        if kind == HEAD:
            before, self._now = self._now, entry[2]["startedAt"]
            self.head = self.head or entry[2]
            self._state, self._listed, self._listed_at = EntryReader(), {}, before
            return None
        self._now += entry[1] * MICROSECOND
        if kind == ADDED:
            new = _object(entry[2], self._state.added(*entry[2:]))
            return self._added(new)
        if kind == CHANGED:
            name, plain = self._state.changed(*entry[2:])
            new = _object(name, plain)
            place = _place(new)
            old, self._known[place] = self._known[place], new
            return ObjectChanged(old, new)
        if kind == REMOVED:
            name, plain = self._state.removed(*entry[2:])
            meta = plain["metadata"]
            return ObjectRemoved(self._known.pop((name, f"{meta.get('namespace', '')}/{meta['name']}")))
        if kind == SYNCED:
            raise KeyError(HEAD)  # without which there is no list
        if kind == TROUBLE:
            self.notes.append(f"{format_time(self._now)}: {entry[2]}")
        return None

    def _added(self, new: Object) -> Event | None:
        place = _place(new)
        if self._listed is not None:
            self._listed[place] = new
            return None
        self._known[place] = new
        return ObjectAdded(new)

    def _caught_up(self) -> Iterator[Happening]:
        """The differences to what was known before the list."""
        assert self._listed is not None
        since, now = self._listed_at, self._now
        if now - since > _GAP_NS:
            self.notes.append(f"nothing was recorded from {format_time(since)} to {format_time(now)}")
        listed, self._listed = self._listed, None
        found: list[Happening] = []
        for place, old in self._known.items():
            new = listed.get(place)
            if new is None or new.metadata.uid != old.metadata.uid:
                found.append(Happening(now, ObjectRemoved(old)))
            elif new != old:
                found.append(Happening(now, ObjectChanged(old, new)))
        for place, new in listed.items():
            old_one = self._known.get(place)
            if old_one is None or old_one.metadata.uid != new.metadata.uid:
                found.append(Happening(_created(new.metadata, since, now), ObjectAdded(new)))
        self._known = listed
        yield from sorted(found, key=lambda happening: happening.at)

    def _read(self) -> Iterator[tuple[int, Entry]]:
        for file in self._files:
            blocks = ReadBlocks(file)
            for content in blocks:
                try:
                    entries = _decode(content)
                except msgspec.MsgspecError as error:
                    raise _unknown(str(file), error) from error
                for entry in entries:
                    yield entry[0], entry
            if blocks.unread_bytes:
                self.notes.append(f"{file} was cut off: its last {blocks.unread_bytes:,} bytes are not whole")


def _created(meta: ObjectMeta, since: int, now: int) -> int:
    """When an object appeared that was first seen after a gap."""
    if meta.creation_timestamp is None:
        return now
    return min(max(parse_time(meta.creation_timestamp), since), now)


def _place(obj: Object) -> _Place:
    return type(obj).__name__, object_key(obj)


def _object(kind: str, plain: Plain) -> Object:
    made: Object = msgspec.convert(plain, KINDS[kind].struct)
    return made


def _wrong(path: str, message: str) -> InvalidObject:
    return InvalidObject([Fault(path, "", "", message)])


def _unknown(path: str, error: Exception) -> InvalidObject:
    return _wrong(path, f"is not a recording that this version can read: {error!r}")
