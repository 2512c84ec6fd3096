"""A recording under other names: read twice, first to learn what there is to rename, then to write it again.

The rules are those of a dump. Names sort as before and times keep their distances, so that the same decisions follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bayplan.analysis.anonymizing.objects import Anonymizer
from bayplan.analysis.recordings.reader import RecordingReader
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object


def write_anonymized(source: str, path: str) -> int:
    """The number of events. Raises InvalidObject; what stands there already is not touched."""
    if Path(path).exists():
        raise InvalidObject([Fault(path, "", "", "exists already: anonymized recordings are not continued")])
    anonymizer = Anonymizer()
    for obj in _objects(RecordingReader(source)):
        anonymizer.learn(obj)
    anonymizer.finish_learning()
    reader = RecordingReader(source)
    unfinished = Path(f"{path}.part")
    unfinished.unlink(missing_ok=True)
    try:
        events = _rewrite(reader, anonymizer, str(unfinished))
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return events


def _rewrite(reader: RecordingReader, anonymizer: Anonymizer, path: str) -> int:
    renamed = anonymizer.renamed
    writer = RecordingWriter(path, {"kubernetesVersion": reader.head.get("kubernetesVersion"), "anonymized": True})
    writer.begin(map(renamed, reader.objects), anonymizer.moved(reader.started_at))
    for at, event in reader:
        now = anonymizer.moved(at)
        match event:
            case ObjectAdded(new):
                writer.event(ObjectAdded(renamed(new)), now)
            case ObjectChanged(old, new):
                writer.event(ObjectChanged(renamed(old), renamed(new)), now)
            case ObjectRemoved(old):
                writer.event(ObjectRemoved(renamed(old)), now)
    if reader.notes:  # which may have names in them
        writer.trouble(f"recording was disturbed {len(reader.notes)} times", anonymizer.moved(reader.ended_at))
    writer.close(anonymizer.moved(reader.ended_at))
    return writer.events


def _objects(reader: RecordingReader) -> Iterator[Object]:
    """All, each as often as it changed."""
    yield from reader.objects
    for _, event in reader:
        match event:
            case ObjectAdded(new) | ObjectChanged(_, new):
                yield new
