"""A recorder between watches and a file: when it begins, what it leaves out, and how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bayplan.analysis.recordings.reader import RecordingReader
from bayplan.analysis.recordings.recorder import Recorder
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.client.contract import Response, TransportError
from bayplan.client.watched_kinds import every_kind
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.core.events import ObjectAdded
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import KINDS

from .histories import BEGUN_AT, pod

OTHERS = [kind for kind in KINDS if kind not in ("Node", "Pod", "DeviceTaintRule")]


class Away:
    """A server that is not there."""

    async def request(self, *_: Any, **__: Any) -> Response:
        raise TransportError("nobody answers")

    def stream(self, *_: Any, **__: Any) -> Any:
        raise TransportError("nobody answers")


class Stage:
    """A recorder whose reflectors are played by the test."""

    def __init__(self, path: Path) -> None:
        self.writer = RecordingWriter(str(path), {})
        self.said: list[str] = []
        self.begun: list[int] = []
        self.recorder = Recorder(
            Away(),
            every_kind(NEWEST_RELEASE),
            self.writer,
            clock=lambda: BEGUN_AT,
            on_trouble=self.said.append,
            on_begun=self.begun.append,
        )


def test_it_begins_when_every_kind_is_listed_or_refused_twice(tmp_path: Path) -> None:
    """Once is no refusal: a server that is starting refuses everything."""
    stage = Stage(tmp_path / "a")
    for kind in (*OTHERS, "Node", "Pod"):
        assert stage.begun == []
        stage.recorder.on_synced(kind)
    stage.recorder.on_refused("DeviceTaintRule")
    assert stage.begun == []
    stage.recorder.on_refused("DeviceTaintRule")
    assert stage.begun == [0]
    stage.writer.close(BEGUN_AT)


def test_what_comes_before_it_begins_is_in_the_list(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "a")
    stage.recorder.on_events("Pod", [ObjectAdded(pod("a"))])
    for kind in KINDS:
        stage.recorder.on_synced(kind)
    stage.recorder.on_events("Pod", [ObjectAdded(pod("b"))])
    stage.writer.close(BEGUN_AT)
    (happening,) = list(RecordingReader(str(tmp_path / "a")))
    assert happening.event == ObjectAdded(pod("b"))


def test_troubles_are_said_once_and_recorded(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "a")
    for kind in KINDS:
        stage.recorder.on_synced(kind)
    stage.recorder.on_trouble("Pod", "failed to watch pods: it is away", "it is away")
    stage.recorder.on_trouble("Node", "failed to watch nodes: it is away", "it is away")
    assert stage.said == ["it is away"]
    stage.writer.close(BEGUN_AT)
    reader = RecordingReader(str(tmp_path / "a"))
    assert list(reader) == []
    assert [note.partition("Z: ")[2] for note in reader.notes] == [
        "Pod: failed to watch pods: it is away",
        "Node: failed to watch nodes: it is away",
    ]


def test_a_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """And nothing was recorded when one gives up before it comes."""

    async def wait_a_moment(stage: Stage) -> None:
        stopping = asyncio.get_running_loop().create_future()
        running = asyncio.ensure_future(stage.recorder.run(stopping))
        while not stage.said:
            await asyncio.sleep(0.01)
        stopping.set_result(None)
        await running

    stage = Stage(tmp_path / "a")
    asyncio.run(wait_a_moment(stage))
    assert stage.said == ["nobody answers"]
    with pytest.raises(InvalidObject, match="holds nothing"):
        RecordingReader(str(tmp_path / "a"))


def test_it_ends_when_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise InvalidObject([Fault("a", "", "", "no room")])

    async def record(stage: Stage) -> None:
        running = asyncio.ensure_future(stage.recorder.run(asyncio.get_running_loop().create_future()))
        await asyncio.sleep(0)
        for kind in KINDS:
            stage.recorder.on_synced(kind)
        monkeypatch.setattr(stage.writer, "event", full)
        stage.recorder.on_events("Pod", [ObjectAdded(pod("a"))])
        await running

    stage = Stage(tmp_path / "a")
    with pytest.raises(InvalidObject, match="no room"):
        asyncio.run(record(stage))
