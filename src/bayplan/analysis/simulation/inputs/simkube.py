"""SimKube's recordings of a cluster: workloads as they were applied, scaled and deleted, as plans.

Takes a trace that `skctl` has exported (`.sktrace`, MessagePack) or the same as JSON, either perhaps packed with gzip.
Times are relative to the first event. Fields set by the server are removed, and unknown kinds are ignored. Recorded
lifetimes of pods are not used: annotations say how long pods run, as everywhere.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec

from bayplan.analysis.simulation.inputs.commands import Apply, DeleteObject, PlannedCommand, reference_to
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.reading import from_dicts
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND

_GZIP_MAGIC: Final = b"\x1f\x8b"
_VERSION: Final = 2


class _Event(msgspec.Struct):
    ts: int
    applied_objs: list[dict[str, Any]] = []
    deleted_objs: list[dict[str, Any]] = []


class _Trace(msgspec.Struct):
    events: list[_Event]
    version: int


def read_simkube(path: Path) -> list[PlannedCommand]:
    """What was done when. Raises InvalidObject with every fault."""
    trace = _decoded(path, _content(path))
    if trace.version != _VERSION:
        raise _wrong(path, f"is a SimKube trace of version {trace.version}; only version {_VERSION} is supported")
    faults: list[Fault] = []
    plans: list[PlannedCommand] = []
    events = sorted(enumerate(trace.events), key=lambda numbered: numbered[1].ts)
    for number, event in events:
        source = f"{path}: event {number}"
        try:
            applied, deleted = _objects(event.applied_objs, source), _objects(event.deleted_objs, source)
        except InvalidObject as error:
            faults += error.faults
            continue
        at = (event.ts - events[0][1].ts) * SECOND
        if applied:
            plans.append(PlannedCommand(at, Apply(tuple(applied)), source))
        if deleted:
            plans.append(PlannedCommand(at, DeleteObject(tuple(reference_to(obj) for obj in deleted)), source))
    if faults:
        raise InvalidObject(faults)
    return plans


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == _GZIP_MAGIC else data
    except FileNotFoundError as error:
        raise _wrong(path, "no such file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise _wrong(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _decoded(path: Path, data: bytes) -> _Trace:
    """JSON starts with a brace, which in MessagePack would be a number and no trace."""
    try:
        if data.lstrip()[:1] == b"{":
            return msgspec.json.decode(data, type=_Trace)
        return msgspec.msgpack.decode(data, type=_Trace)
    except msgspec.DecodeError as error:
        raise _wrong(path, f"is not a SimKube trace: {error}") from error


def _objects(given: list[dict[str, Any]], source: str) -> list[Object]:
    return [_as_manifest(obj) for obj in from_dicts(given, source).objects]


def _as_manifest(obj: Any) -> Any:
    meta = obj.metadata
    kept = ObjectMeta(name=meta.name, namespace=meta.namespace, labels=meta.labels, annotations=meta.annotations)
    return replace(obj, metadata=kept)


def _wrong(path: Path, message: str) -> InvalidObject:
    return InvalidObject([Fault(str(path), "", "", message)])
