"""Recordings of SimKube: what they say is done when, in either form, and what is wrong with a broken one."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import Apply, DeleteObject
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.model.errors import InvalidObject

SECOND = 1_000_000_000


def deployment(replicas: int, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, **metadata},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
    }


EVENTS = [
    {"ts": 1_710_892_138, "applied_objs": [deployment(1, uid="u1", resourceVersion="7")], "deleted_objs": []},
    {"ts": 1_710_892_238, "applied_objs": [deployment(3)], "deleted_objs": []},
    {"ts": 1_710_892_438, "applied_objs": [], "deleted_objs": [deployment(3)]},
]
TRACE = {"version": 2, "config": {}, "events": EVENTS, "index": {}, "pod_lifecycles": {}}


@pytest.mark.parametrize(
    "encode",
    [
        msgspec.json.encode,
        msgspec.msgpack.encode,
        lambda trace: gzip.compress(msgspec.json.encode(trace), mtime=0),
        lambda trace: gzip.compress(msgspec.msgpack.encode(trace), mtime=0),
    ],
    ids=["json", "msgpack", "json.gz", "msgpack.gz"],
)
def test_what_is_done_when(tmp_path: Path, encode: Any) -> None:
    """Times count from the first event; what a server wrote into an object is taken off."""
    file = tmp_path / "dsb.sktrace"
    file.write_bytes(encode(TRACE))
    plans = load_timeline(f"simkube:{file}")
    assert [plan.at for plan in plans] == [0, 100 * SECOND, 300 * SECOND]
    first, second, last = (plan.command for plan in plans)
    assert isinstance(first, Apply)
    assert isinstance(second, Apply)
    assert [one.spec.replicas for one in (*first.objects, *second.objects)] == [1, 3]  # type: ignore[union-attr]
    meta = first.objects[0].metadata
    assert (meta.namespace, meta.name, meta.labels, meta.uid, meta.resource_version) == (
        "shop",
        "web",
        {"app": "web"},
        "",
        "",
    )
    assert last == DeleteObject((Reference("Deployment", "shop", "web"),))
    assert plans[1].source == f"{file}: event 1"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"version": 2}', "{file}: is not a SimKube trace: Object missing required field `events`"),
        (b"\xc1", "{file}: is not a SimKube trace: MessagePack data is malformed: invalid opcode '\\xc1' (byte 0)"),
        (b"{", "{file}: is not a SimKube trace: Input data was truncated"),
        (b"\x1f\x8bxx", "{file}: cannot be read: "),
        (b'{"version": 9, "events": []}', "{file}: is a SimKube trace of version 9; only version 2 is supported"),
        (
            msgspec.json.encode({"version": 2, "events": [{"ts": 1, "applied_objs": [deployment(-1, name=7)]}]}),
            "{file}: event 0: ",
        ),
    ],
    ids=["no events", "no messagepack", "cut off", "broken gzip", "another version", "bad object"],
)
def test_a_broken_recording(tmp_path: Path, content: bytes, complaint: str) -> None:
    """One clear sentence that names the file."""
    file = tmp_path / "dsb.json"
    file.write_bytes(content)
    with pytest.raises(InvalidObject) as caught:
        load_timeline(f"simkube:{file}")
    assert str(caught.value).startswith(complaint.replace("{file}", str(file)))


def test_no_such_recording() -> None:
    with pytest.raises(InvalidObject, match=r"^nowhere.sktrace: no such file$"):
        load_timeline("simkube:nowhere.sktrace")
