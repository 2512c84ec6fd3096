"""Recordings as they are read: what was written, cut off anywhere, and with gaps."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.analysis.recordings.blocks import BlockFile
from bayplan.analysis.recordings.reader import Happening, RecordingReader
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.structs import replace
from bayplan.model.time_units import HOUR, SECOND
from bayplan.model.timestamps import format_time

from .histories import BEGUN_AT, STEP, end_of, histories, node, pod, read, recorded, recorded_again, write

History = tuple[list[Object], list[Event]]


@given(histories())
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, history: History) -> None:
    first, events = history
    path = recorded(tmp_path_factory.mktemp("whole") / "a", first, events)
    reader = RecordingReader(str(path))
    assert sorted(reader.objects, key=lambda obj: obj.metadata.name) == sorted(first, key=lambda obj: obj.metadata.name)
    assert list(reader) == [Happening(BEGUN_AT + number * STEP, event) for number, event in enumerate(events, start=1)]
    assert reader.started_at == BEGUN_AT
    assert reader.ended_at == BEGUN_AT + (len(events) + 1) * STEP
    assert reader.notes == []


@settings(max_examples=50)
@given(histories(), st.data())
def test_a_recording_cut_anywhere_is_read_up_to_there(
    tmp_path_factory: pytest.TempPathFactory, history: History, data: st.DataObject
) -> None:
    first, events = history
    path = tmp_path_factory.mktemp("cut") / "a"
    writer = write(path, first, [])
    begun = path.stat().st_size
    ends = []
    for number, event in enumerate(events, start=1):
        now = BEGUN_AT + number * 6 * SECOND
        writer.event(event, now)
        writer.tick(now)
        ends.append(path.stat().st_size)
    writer.close(BEGUN_AT + HOUR)
    kept = data.draw(st.integers(0, path.stat().st_size))
    os.truncate(path, kept)
    if kept < begun:
        with pytest.raises(InvalidObject, match="was cut off before the first list"):
            RecordingReader(str(path))
        return
    whole = sum(1 for end in ends if end <= kept)
    assert [happening.event for happening in read(path)[1]] == events[:whole]


@given(histories(), histories())
def test_what_happened_in_a_gap_comes_as_differences(
    tmp_path_factory: pytest.TempPathFactory, before: History, after: History
) -> None:
    path = tmp_path_factory.mktemp("gap") / "a"
    recorded(path, *before)
    recorded_again(path, after[0], BEGUN_AT + HOUR)
    objects, happenings = read(path)
    known = end_of(objects, (happening.event for happening in happenings))
    assert known == end_of(after[0], ())


def test_a_pod_that_came_in_a_gap_came_when_it_says(tmp_path: Path) -> None:
    new = pod("b", node="n1")
    new = replace(new, metadata=replace(new.metadata, creation_timestamp=format_time(BEGUN_AT + 60 * SECOND)))
    path = recorded(tmp_path / "a", [pod("a")], [])
    recorded_again(path, [new], BEGUN_AT + HOUR)
    reader = RecordingReader(str(path))
    assert list(reader) == [
        Happening(BEGUN_AT + 60 * SECOND, ObjectAdded(new)),
        Happening(BEGUN_AT + HOUR, ObjectRemoved(pod("a"))),
    ]
    assert any("nothing was recorded from 2026-01-01T00:00:00Z to" in note for note in reader.notes)


def test_what_disturbed_recording_is_known(tmp_path: Path) -> None:
    writer = write(tmp_path / "a", [node("n1")], [ObjectChanged(node("n1"), node("n1", cpu="8"))])
    writer.trouble("Pod: the watch was lost", BEGUN_AT + SECOND)
    writer.close(BEGUN_AT + SECOND)
    with (tmp_path / "a").open("ab") as file:
        file.write(b"half a block")
    reader = RecordingReader(str(tmp_path / "a"))
    assert len(list(reader)) == 1
    assert reader.notes == [
        "2026-01-01T00:00:01Z: Pod: the watch was lost",
        f"{tmp_path / 'a'} was cut off: its last 12 bytes are not whole",
    ]


@pytest.mark.parametrize(
    "entries",
    [[[0, 0]], [[0, 0, {}]], [[1, 5]], [[2, 0, "Pod", 7, {}]], [[0, 0, {"startedAt": 0}], [2, 0, "Podd", -1, {}]], 5],
)
def test_blocks_that_mean_nothing(tmp_path: Path, entries: object) -> None:
    file = BlockFile(tmp_path / "a")
    file.add(msgspec.msgpack.encode(entries))
    file.close()
    with pytest.raises(InvalidObject, match=r"is not a recording that this version can read|was cut off before"):
        RecordingReader(str(tmp_path / "a"))


def test_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="there is no recording in this directory"):
        RecordingReader(str(tmp_path))
