"""Clients that accept nothing but protobuf."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.api_server import CONFIG_MAPS, DEFINITIONS, TOYS, Api, config_map, toy_definition

from bayplan.apiserver.http.requests import StreamedAnswer
from bayplan.apiserver.schema.protobuf import PREFIX, decode

PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        (f"{CONFIG_MAPS}/m", 200, "ConfigMap"),
        (CONFIG_MAPS, 200, "ConfigMapList"),
        (f"{CONFIG_MAPS}/nobody", 404, "Status"),
    ],
)
def test_answers_in_protobuf(path: str, status: int, kind: str) -> None:
    api = Api()
    made = api.post(CONFIG_MAPS, config_map(a="b"))
    answer = api.answer("GET", path, accept=PROTOBUF)
    assert (answer.status, answer.content_type) == (status, PROTOBUF)
    document = decode(answer.body)
    assert document["kind"] == kind
    if kind == "ConfigMap":
        assert document == made


@pytest.mark.parametrize("accept", [f"{PROTOBUF},application/json", f"application/json,{PROTOBUF}", f"{PROTOBUF}, */*"])
def test_those_that_take_json_get_json(accept: str) -> None:
    answer = Api().answer("GET", CONFIG_MAPS, accept=accept)
    assert answer.content_type == "application/json"


def test_custom_objects_are_not_acceptable() -> None:
    api = Api()
    api.post(DEFINITIONS, toy_definition())
    assert api.answer("GET", TOYS, accept=PROTOBUF).status == 406
    assert api.answer("GET", CONFIG_MAPS, accept=f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io").status == 406


def test_a_watch_in_protobuf() -> None:
    async def check() -> None:
        api = Api()
        api.post(CONFIG_MAPS, config_map())
        stream = api.ask("GET", f"{CONFIG_MAPS}?watch=true", accept=f"{PROTOBUF};stream=watch")
        assert isinstance(stream, StreamedAnswer)
        assert stream.content_type == f"{PROTOBUF};stream=watch"
        frame = await anext(stream.pieces)
        await stream.pieces.aclose()
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert decode(frame[frame.index(PREFIX) :])["metadata"]["name"] == "m"

    asyncio.run(check())
