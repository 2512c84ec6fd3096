"""Documents in protobuf: what is decoded again is what was encoded."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.conftest import REPOSITORY_ROOT

from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.protobuf import PREFIX, decode
from bayplan.apiserver.schema.protobuf_encoding import encode, is_encodable, watch_frame

RECORDED = REPOSITORY_ROOT / "tests/recordings/admission.jsonl.xz"
OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "AAE="}, "type": "Opaque"},
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "w", "creationTimestamp": "2026-01-31T12:00:00Z"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 8081}]},
        "status": {"loadBalancer": {}},
    },
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"leaseDurationSeconds": 0, "renewTime": "2026-01-31T12:00:00.000120Z"},
    },
    {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": [{"metadata": {}}]},
    {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "reason": "NotFound",
        "details": {"name": "m", "kind": "configmaps"},
        "code": 404,
    },
]


@pytest.mark.parametrize("document", OBJECTS, ids=[each["kind"] for each in OBJECTS])
def test_round_trip(document: dict[str, Any]) -> None:
    assert decode(encode(document)) == document


def _stored() -> Iterator[dict[str, Any]]:
    """Objects as a real server has answered with them, one of each kind and shape of request."""
    with lzma.open(RECORDED, "rt", encoding="utf-8") as lines:
        for position, line in enumerate(lines):
            if position % 8 == 0:
                whole = line.replace("<time>", "2026-01-01T00:00:00Z").replace('"<port>"', "30000")
                yield from _objects_in(msgspec.json.decode(whole))


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("metadata"), dict) and "uid" in value["metadata"] and "kind" in value:
            yield value
        else:
            for inner in value.values():
                yield from _objects_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects_in(inner)


def test_recorded_objects_come_back_as_they_were() -> None:
    kinds, different = set(), []
    for document in _stored():
        if message_of(document["apiVersion"], document["kind"]) is None:
            continue
        kinds.add(document["kind"])
        if decode(encode(document)) != decode(encode(decode(encode(document)))) or _lost(document):
            different.append(document["kind"])
    assert different == []
    assert len(kinds) > 20


def _lost(document: dict[str, Any]) -> list[str]:
    """Parts of a document that are not there any more; what says nothing may go."""
    return [*_missing(document, decode(encode(document)), "")]


def _missing(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            is_type = name in ("apiVersion", "kind") and path.endswith("volumeClaimTemplates")  # it says so itself
            if value not in (None, {}, [], "", 0, False) and not is_type:
                yield from _missing(value, after.get(name), f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from _missing(one, other, path)
    elif before != after:
        yield path


def test_an_event_of_a_watch_has_its_length_in_front() -> None:
    frame = watch_frame({"type": "ADDED", "object": OBJECTS[0]})
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert PREFIX in frame


def test_custom_objects_have_no_protobuf() -> None:
    assert is_encodable("v1", "Pod")
    assert not is_encodable("example.com/v1", "Toy")
