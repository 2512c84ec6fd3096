"""Recordings as they are written: when blocks go out, files that take turns, going on after a break."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.analysis.recordings.writer import RecordingWriter, recording_files
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.errors import InvalidObject
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND

from .histories import BEGUN_AT, node, pod, read, write


def test_what_was_seen_is_in_the_file_within_seconds(tmp_path: Path) -> None:
    writer = write(tmp_path / "a", [node("n1")], [ObjectAdded(pod("a"))])
    assert read(tmp_path / "a")[1] == []
    writer.tick(BEGUN_AT + 6 * SECOND)
    (happening,) = read(tmp_path / "a")[1]
    assert happening.event == ObjectAdded(pod("a"))
    writer.close(BEGUN_AT + 7 * SECOND)


def test_a_quiet_time_is_recorded_too(tmp_path: Path) -> None:
    writer = write(tmp_path / "a", [node("n1")], [])
    size = writer.bytes_written
    writer.tick(BEGUN_AT + 30 * SECOND)
    assert writer.bytes_written == size
    writer.tick(BEGUN_AT + MINUTE)
    assert writer.bytes_written > size
    writer.close(BEGUN_AT + MINUTE)


def test_another_pod_of_the_same_name_is_another_pod(tmp_path: Path) -> None:
    """A list after a lost watch shows both as one that changed."""
    old = pod("a")
    new = replace(old, metadata=replace(old.metadata, uid="another"))
    write(tmp_path / "a", [old], [ObjectChanged(old, new)]).close(BEGUN_AT + SECOND)
    assert [happening.event for happening in read(tmp_path / "a")[1]] == [ObjectRemoved(old), ObjectAdded(new)]


def test_files_of_a_directory_take_turns(tmp_path: Path) -> None:
    folder = tmp_path / "week"
    writer = RecordingWriter(f"{folder}/", {}, file_ns=MINUTE, files_max=2)
    writer.begin([node("n1")], BEGUN_AT)
    for number in range(1, 5):
        writer.event(ObjectAdded(pod(f"p{number}")), BEGUN_AT + number * MINUTE)
        writer.tick(BEGUN_AT + number * MINUTE)
    writer.close(BEGUN_AT + 5 * MINUTE)
    assert [file.name for file in recording_files(folder)] == ["recording-000004.rec", "recording-000005.rec"]
    objects, happenings = read(folder)
    assert sorted(obj.metadata.name for obj in objects) == ["n1", "p1", "p2", "p3"]
    assert [happening.event for happening in happenings] == [ObjectAdded(pod("p4"))]


def test_files_that_grow_take_turns_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "week"
    writer = RecordingWriter(f"{folder}/", {}, file_bytes=300)
    writer.begin([node("n1")], BEGUN_AT)
    events = [ObjectAdded(pod(f"p{number}")) for number in range(200)]
    for number, event in enumerate(events, start=1):
        writer.event(event, BEGUN_AT + number * 6 * SECOND)
        writer.tick(BEGUN_AT + number * 6 * SECOND)
    writer.close(BEGUN_AT + 1_300 * SECOND)
    assert len(recording_files(folder)) > 2
    assert [happening.event for happening in read(folder)[1]] == events


@pytest.mark.parametrize("path", ["missing/a", "file/a"])
def test_files_that_cannot_be_written(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidObject, match="cannot be written"):
        RecordingWriter(str(tmp_path / path), {})
