"""Histories of small clusters, to write down and read again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bayplan.analysis.recordings.reader import Happening, RecordingReader
from bayplan.analysis.recordings.writer import RecordingWriter
from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.kinds import Object, object_key
from bayplan.model.structs import replace
from bayplan.testing import builders as make

#: When histories begin, and how far their events are apart.
BEGUN_AT, STEP = 1_767_225_600_000_000_000, 250_000_000


def pod(name: str, node: str = "", phase: str = "Pending", labels: dict[str, str] | None = None) -> Any:
    made = make.pod(name).cpu("1").labels(**(labels or {})).obj()
    return replace(
        made,
        metadata=replace(made.metadata, uid=f"uid-{name}"),
        spec=replace(made.spec, node_name=node),
        status=replace(made.status, phase=phase),
    )


def node(name: str, cpu: str = "4") -> Any:
    return make.node(name).capacity(cpu=cpu, memory="8Gi", pods=20).obj()


def write(path: Path, first: Iterable[Object], events: Iterable[Event], **settings: int) -> RecordingWriter:
    """All of it, one step apart; the writer is left open."""
    writer = RecordingWriter(str(path), {"kubernetesVersion": "v1.36.4"}, **settings)
    writer.begin(first, BEGUN_AT)
    for number, event in enumerate(events, start=1):
        writer.event(event, BEGUN_AT + number * STEP)
    return writer


def recorded(path: Path, first: Iterable[Object], events: Iterable[Event]) -> Path:
    """A whole file."""
    listed = list(events)
    write(path, first, listed).close(BEGUN_AT + (len(listed) + 1) * STEP)
    return path


def recorded_again(path: Path, objects: Iterable[Object], now: int) -> None:
    """The recorder comes back, and finds these objects."""
    writer = RecordingWriter(str(path), {})
    writer.begin(objects, now)
    writer.close(now)


def read(path: Path) -> tuple[list[Object], list[Happening]]:
    reader = RecordingReader(str(path))
    return reader.objects, list(reader)


def end_of(first: Iterable[Object], events: Iterable[Event]) -> dict[tuple[str, str], Object]:
    """What there is after the events."""
    known = {(type(obj).__name__, object_key(obj)): obj for obj in first}
    for event in events:
        match event:
            case ObjectAdded(new) | ObjectChanged(_, new):
                known[type(new).__name__, object_key(new)] = new
            case ObjectRemoved(old):
                del known[type(old).__name__, object_key(old)]
    return known


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Object], list[Event]]:
    """Pods and nodes that come, change and go."""
    first: list[Object] = [node(name) for name in draw(st.sets(st.sampled_from(["n1", "n2"])))]
    known = end_of(first, ())
    events: list[Event] = []
    for _ in range(draw(st.integers(0, 12))):
        new = draw(_OBJECTS)
        place = type(new).__name__, object_key(new)
        old = known.get(place)
        if old is None:
            events.append(ObjectAdded(new))
        elif draw(st.booleans()) and old != new:
            events.append(ObjectChanged(old, new))
        else:
            events.append(ObjectRemoved(old))
        known = end_of(known.values(), events[-1:])
    return first, events


_NODES = st.builds(node, st.sampled_from(["n1", "n2"]), st.sampled_from(["4", "8"]))
_PODS = st.builds(
    pod,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["", "n1", "n2"]),
    st.sampled_from(["Pending", "Running", "Succeeded"]),
    st.dictionaries(st.sampled_from(["app", "annotations", "tier"]), st.sampled_from(["x", "y"])),
)
_OBJECTS = st.one_of(_NODES, _PODS)
