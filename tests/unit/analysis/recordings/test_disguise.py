"""Recordings under other names: nothing of the old ones is left, and the same happens at the same distances."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.analysis.recordings.disguise import write_anonymized
from bayplan.analysis.recordings.reader import RecordingReader
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.errors import InvalidObject
from bayplan.model.time_units import SECOND

from .histories import BEGUN_AT, STEP, node, pod, recorded, write

FIRST = [node("acme-n1"), node("acme-n2")]
OLD, NEW = pod("acme-shop"), pod("acme-shop", node="acme-n2", phase="Running", labels={"acme-team": "acme-pay"})
EVENTS: list[Event] = [ObjectAdded(OLD), ObjectChanged(OLD, NEW), ObjectRemoved(NEW), ObjectAdded(pod("acme-blog"))]


def test_everything_is_renamed_and_nothing_else_changes(tmp_path: Path) -> None:
    recorded(tmp_path / "a", FIRST, EVENTS)
    assert write_anonymized(str(tmp_path / "a"), str(tmp_path / "b")) == len(EVENTS)
    reader = RecordingReader(str(tmp_path / "b"))
    happenings = list(reader)
    assert "acme" not in repr([reader.objects, happenings, reader.head, reader.notes])
    assert [type(happening.event) for happening in happenings] == [type(event) for event in EVENTS]
    assert [happening.at - reader.started_at for happening in happenings] == [STEP, 2 * STEP, 3 * STEP, 4 * STEP]
    one, two = sorted(obj.metadata.name for obj in reader.objects)
    (_, (_, changed), (_, removed), (_, added)) = happenings[:4]
    assert isinstance(changed, ObjectChanged)
    assert isinstance(changed.new, type(NEW))
    assert changed.new.spec.node_name == two != one
    assert isinstance(removed, ObjectRemoved)
    assert isinstance(added, ObjectAdded)
    assert added.new.metadata.name < removed.old.metadata.name  # as blog comes before shop


def test_what_disturbed_recording_is_not_told_in_words(tmp_path: Path) -> None:
    writer = write(tmp_path / "a", FIRST, [])
    writer.trouble("Pod: https://acme.example: the watch was lost", BEGUN_AT + SECOND)
    writer.close(BEGUN_AT + SECOND)
    write_anonymized(str(tmp_path / "a"), str(tmp_path / "b"))
    reader = RecordingReader(str(tmp_path / "b"))
    assert list(reader) == []
    assert [note.partition(": ")[2] for note in reader.notes] == ["recording was disturbed 1 times"]


def test_a_file_that_stands_there_is_left_alone(tmp_path: Path) -> None:
    recorded(tmp_path / "a", FIRST, EVENTS)
    (tmp_path / "b").write_text("mine")
    with pytest.raises(InvalidObject, match="exists already"):
        write_anonymized(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_text() == "mine"


def test_nothing_is_left_of_an_attempt_that_failed(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="no such file"):
        write_anonymized(str(tmp_path / "a"), str(tmp_path / "b"))
    assert list(tmp_path.iterdir()) == []
