"""Answers as they leave: with an end of line as Go writes it, or indented for people."""

from __future__ import annotations

import pytest
import yaml
from tests.support.api_server import CONFIG_MAPS, Api, config_map

from bayplan.apiserver.http.rendering import finished
from bayplan.apiserver.http.requests import TEXT, Answer, Request
from bayplan.model.media_types import JSON

_BODY = b'{"a":{"b":1},"c":[]}'
_INDENTED = b'{\n  "a": {\n    "b": 1\n  },\n  "c": []\n}'


def _finished(
    answer: Answer, path: tuple[str, ...] = ("api", "v1"), agent: str = "", query: dict[str, str] | None = None
) -> bytes:
    return finished(answer, Request("GET", path, query or {}, {"user-agent": agent})).body


@pytest.mark.parametrize(
    ("agent", "query", "body"),
    [
        ("kubectl/v1.36", {}, _BODY + b"\n"),
        ("curl/8.0", {}, _INDENTED),
        ("curl/8.0", {"pretty": "false"}, _BODY + b"\n"),
        ("kubectl/v1.36", {"pretty": "true"}, _INDENTED),
        ("kubectl/v1.36", {"pretty": "1"}, _INDENTED),
        ("kubectl/v1.36", {"pretty": "yes"}, _BODY + b"\n"),
        ("Mozilla/5.0 (X11)", {"pretty": ""}, _INDENTED),
    ],
)
def test_json_ends_its_line_or_is_for_people(agent: str, query: dict[str, str], body: bytes) -> None:
    assert _finished(Answer(200, _BODY), agent=agent, query=query) == body


@pytest.mark.parametrize("path", [("version",), ("openapi", "v2"), ("openapi", "v3", "api", "v1")])
def test_version_and_openapi_are_sent_as_they_are(path: tuple[str, ...]) -> None:
    assert _finished(Answer(200, _BODY), path, "curl/8.0") == _BODY


@pytest.mark.parametrize("answer", [Answer(200, b"ok", TEXT), Answer(304, b"", JSON)])
def test_what_is_no_json_is_sent_as_it_is(answer: Answer) -> None:
    assert _finished(answer, agent="curl/8.0") == answer.body


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_list_in_yaml_is_what_one_document_would_be(count: int) -> None:
    api = Api()
    for number in range(count):
        api.post(CONFIG_MAPS, config_map(f"m{number}", text="two\nlines: ü\n", flag="true", long="a b " * 50))
    listed = api.get(CONFIG_MAPS)
    answer = api.ask("GET", CONFIG_MAPS, accept="application/yaml")
    assert isinstance(answer, Answer)
    assert yaml.safe_load(answer.body) == listed
    head, *rest = answer.body.splitlines()
    assert head == b"apiVersion: v1"
    assert [line for line in rest if not line.startswith((b" ", b"-"))] == [
        *([b"items:"] if count else [b"items: []"]),
        *(b"kind: ConfigMapList", b"metadata:"),
    ]
