"""Stories of the real scheduler v1.36.4, as they were recorded on the wire, in the same terms as our own runs.

Takes the lines of `stories.jsonl.xz`; gives for each story what the test did (`actions`), what the environment did
(`volumes`), and what the scheduler was seen to do (`seen`).
"""

from __future__ import annotations

import json
import lzma
import re
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.scenarios.transcript import Face, Seen, differences, said_by
from tests.stories.requests import Fault, asked, faults_in, read_of_pods

MILLISECOND = 1_000_000
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
BINDING = re.compile(r"/api/v1/namespaces/(?P<namespace>[^/]+)/pods/(?P<name>[^/]+)/binding")
VOLUME = re.compile(r"/api/v1/persistentvolumes/(?P<name>[^/]+)")
#: The recorder's watch of a volume shows a write of the scheduler within this time.
VOLUME_LAG_MS = 20

Line = dict[str, Any]


@dataclass(slots=True)
class Exchange:
    """What an extender was asked, and what it answered; objects are shortened to their names."""

    verb: str
    request: Line
    asked_ms: float = 0.0
    status: int = 0  # 0: no answer
    answer: Any = None
    took_ms: float = 0.0


@dataclass(slots=True)
class Story:
    name: str
    wall_ms_of_second: float
    actions: list[tuple[float, Line]] = field(default_factory=list)  # milliseconds, details
    volumes: list[tuple[float, Line]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    pods: dict[str, str] = field(default_factory=dict)  # key by uid
    bound: set[str] = field(default_factory=set)  # pods that were seen on a node
    requests: list[Seen] = field(default_factory=list)  # what the scheduler wrote, whole
    reads: list[tuple[float, str]] = field(default_factory=list)  # of pods
    faults: dict[str, deque[Fault]] = field(default_factory=dict)  # what becomes of requests, by `request_key`
    ends_ms: float = 0.0

    @property
    def namespace(self) -> str:
        return f"s-{self.name.replace('_', '-')}"


def read_stories(path: Path, names: Collection[str]) -> dict[str, Story]:
    """The stories of these names."""
    lines: dict[str, list[Line]] = {}
    with lzma.open(path, "rt") as recorded:
        for line in map(json.loads, recorded):
            if line["story"] in names:
                lines.setdefault(line["story"], []).append(line)
    return {name: story_of(name, of_story) for name, of_story in lines.items()}


def story_of(name: str, lines: list[Line]) -> Story:
    """What the lines tell, of the real scheduler or of ours."""
    assert lines[0]["what"] == "story"
    story = Story(name, lines[0]["data"]["wall_ms_of_second"])
    uids = story.pods = {line["data"]["uid"]: line["data"]["pod"] for line in lines if line["what"] == "pod"}
    story.bound = {line["data"]["pod"] for line in lines if line["what"] == "pod" and line["data"].get("nodeName")}
    faces: dict[str, Face] = {}
    written: dict[str, float] = {}
    for line in lines:
        at, data = line["t_ms"], line["data"]
        story.ends_ms = at
        match line["what"]:
            case "action":
                story.actions.append((at, data))
            case "request":
                story.seen += _requested(at, data, written)
                story.requests += asked(_ns(at), data, uids)
                story.reads += read_of_pods(at, data)
            case "volume":
                if data["type"] == "MODIFIED" and not _is_ours(at, data, written):
                    story.volumes.append((at, data))
            case "pod":
                story.seen += _watched(at, data, faces)
            case "event":
                story.seen += _told(at, data, uids)
            case "extender-request":
                story.exchanges.append(Exchange(data["path"].removeprefix("/ext/"), data["body"], at))
                story.seen += _bound_by_extender(at, data["path"], data["body"])
            case "extender-response":
                # The last: one that hangs is answered after those that were asked behind it.
                exchange = next(one for one in reversed(story.exchanges) if not one.status)
                exchange.status, exchange.answer, exchange.took_ms = (
                    data["status"],
                    data["body"],
                    at - exchange.asked_ms,
                )
    story.faults = faults_in(lines)
    return story


def _requested(at: float, data: Line, written: dict[str, float]) -> Iterator[Seen]:
    binding = BINDING.fullmatch(data["path"])
    if binding is not None and "body" in data:
        pod = f"{binding['namespace']}/{binding['name']}"
        yield Seen(_ns(at), pod, "binding", f"to {data['body']['target']['name']}")
    volume = VOLUME.fullmatch(data["path"])
    if volume is not None and data["method"] == "PUT":
        written[volume["name"]] = at
        claim = data["body"]["spec"]["claimRef"]
        yield Seen(_ns(at), f"{claim['namespace']}/{claim['name']}", "volume", f"gets {volume['name']}")


def _bound_by_extender(at: float, path: str, body: Line) -> Iterator[Seen]:
    if path.endswith("/bind"):
        pod = f"{body['PodNamespace']}/{body['PodName']}"
        yield Seen(_ns(at), pod, "binding", f"by the extender to {body['Node']}")


def _is_ours(at: float, data: Line, written: dict[str, float]) -> bool:
    """Whether the change is what the scheduler wrote."""
    return at - written.get(data["name"], -1e9) < VOLUME_LAG_MS and data["phase"] == "Available"


def _watched(at: float, data: Line, faces: dict[str, Face]) -> Iterator[Seen]:
    pod = data["pod"]
    if data["type"] == "DELETED":
        faces.pop(pod, None)
        yield Seen(_ns(at), pod, "status", "gone")
        return
    face = _face(data)
    for what in differences(faces.get(pod), face):
        yield Seen(_ns(at), pod, "status", what)
    faces[pod] = face


def _face(data: Line) -> Face:
    said = {
        one["type"]: said_by(one["type"], one["status"], one.get("reason", ""), one.get("message", ""))
        for one in data.get("conditions", [])
    }
    return Face(
        data["phase"],
        data.get("nodeName", ""),
        data.get("nominatedNodeName", ""),
        "deletionTimestamp" in data,
        said.get("PodScheduled", ""),
        said.get("DisruptionTarget", ""),
    )


def _told(at: float, data: Line, uids: dict[str, str]) -> Iterator[Seen]:
    regarding = data["regarding"]
    if regarding["kind"] == "Pod":
        pod = f"{regarding['namespace']}/{regarding['name']}"
        yield Seen(_ns(at), pod, "event", told(data["eventType"], data["reason"], data["note"], data, uids))


def told(kind: str, reason: str, note: str, data: Line, uids: dict[str, str]) -> str:
    text = f"{kind} {reason}: {with_names(note, uids)}"
    series = data.get("series")
    return f"{text} (again)" if series else text


def with_names(note: str, uids: dict[str, str]) -> str:
    """The note with pods by their names, where it has their uids."""
    return UID.sub(lambda found: uids.get(found[0], found[0]), note)


def _ns(milliseconds: float) -> int:
    return round(milliseconds * MILLISECOND)
