"""Plain HTTP requests that a real API server (v1.36.4) was asked, in order, and its answers.

Uids, times, versions and generated names differ from run to run; where an answer gave one that a later request uses,
that request uses ours. Neither scheduler nor controllers run here, so what waits for them is listed as a difference.
"""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.api_server import Api

from bayplan.apiserver.http.bodies import check_length
from bayplan.apiserver.http.requests import Answer, Request, error_answer, query_of, segments_of
from bayplan.store.errors import ApiError

STORIES = ("raw http", "field selectors")
CONTROLLERS = "the recorded cluster had controllers and kubelets, which changed the object"
COMPACTED = "the recorded server had compacted its log"
#: By the number of the request: why our answer is another one.
DIFFERENCES = {
    313: "the root lists paths of the real server's own machinery",
    314: "the server's own address",
    339: "a continue token is decoded with newer words for bytes that are no text",
    360: "managedFields as YAML: the same content in another style",
    **dict.fromkeys((497, 507, 510, 511, 512, 520, 522, 544, 547, 548, 555, 556, 558, 559, 575), CONTROLLERS),
    **dict.fromkeys((566, 587, 589), COMPACTED),
}
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
AGE = re.compile(r"^(\d+[smhd])+$|<unknown>")
VERSION_IN_WORDS = re.compile(r"(resource version: |current: |record \(|\()\d+")
GENERATED = re.compile(r"^(gen-)[a-z0-9]{5}$")
SHORTENED = re.compile(r"(x+)\.\.\. \((\d+) characters\)")
IGNORED_FIELDS = {"description", "continue", "resourceVersion"}


@dataclass
class Replay:
    """Asks what was asked, and knows which of our names stand for recorded ones."""

    api: Api = field(default_factory=Api)
    ours: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {**_class("low", 10), "globalDefault": True})
        polite = {**_class("polite", 5), "preemptionPolicy": "Never"}
        self.api.post("/apis/scheduling.k8s.io/v1/priorityclasses", polite)
        self.api.post("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z1"}}})

    def differences(self, exchange: dict[str, Any]) -> list[str]:
        """Where our answer is not the recorded one; [] if it is the same."""
        response = exchange["response"]
        answer = self._asked(exchange["request"])
        try:
            got: Any = json.loads(answer.body) if answer.body else None
        except ValueError:
            got = {"text": answer.body.decode()}
        expected = response.get("body")
        self._learn(expected, got)
        found = [] if answer.status == response["status"] else [f"status {answer.status}, not {response['status']}"]
        return found if expected in (None, {"text": ""}) else found + _different(expected, got, "")

    def _asked(self, request: dict[str, Any]) -> Answer:
        path, _, query = self._translated(request["path"]).partition("?")
        # The recording shows only tokens that were wrong.
        headers = {"authorization": "Bearer secret"}
        headers |= {name.lower(): value for name, value in request["headers"].items()}
        segments = segments_of(path.encode())
        asked = Request(request["method"], segments, query_of(query.encode()), headers, self._body(request))
        try:
            asked = self.api.application.admitted(asked)
            check_length(len(asked.body))
        except ApiError as error:
            return error_answer(error)
        answer = self.api.application.answer(asked)
        assert isinstance(answer, Answer)
        return answer._replace(body=b"") if request["method"] == "HEAD" else answer

    def _body(self, request: dict[str, Any]) -> bytes:
        body = request.get("body")
        if body is None:
            return b""
        text = body["text"] if isinstance(body, dict) and set(body) == {"text"} else json.dumps(body)
        text = SHORTENED.sub(lambda found: "x" * int(found[2]), text)
        return self._translated(text).encode()

    def _translated(self, text: str) -> str:
        for recorded, our in self.ours.items():
            text = text.replace(recorded, our)
        return text

    def _learn(self, expected: Any, got: Any) -> None:
        if not isinstance(expected, dict) or not isinstance(got, dict):
            return
        for name, value in expected.items():
            if name in ("uid", "continue") and isinstance(got.get(name), str) and value:
                self.ours[value] = got[name]
            elif name == "resourceVersion" and isinstance(got.get(name), str):
                self.ours[f'"resourceVersion": "{value}"'] = f'"resourceVersion": "{got[name]}"'
                self.ours[f"resourceVersion={value}"] = f"resourceVersion={got[name]}"
            else:
                self._learn(value, got.get(name))


def _class(name: str, value: int) -> dict[str, Any]:
    return {"metadata": {"name": name}, "value": value}


def _different(expected: Any, got: Any, path: str) -> list[str]:
    if type(expected) is not type(got):
        return [f"{path}: {str(got)[:80]}, not {str(expected)[:80]}"]
    if isinstance(expected, dict):
        names = (set(expected) | set(got)) - IGNORED_FIELDS
        return [
            fault for name in sorted(names) for fault in _different(expected.get(name), got.get(name), f"{path}.{name}")
        ]
    if isinstance(expected, list):
        if len(expected) != len(got):
            return [f"{path}: {len(got)} items, not {len(expected)}"]
        pairs = enumerate(zip(expected, got, strict=True))
        return [fault for at, (one, other) in pairs for fault in _different(one, other, f"{path}[{at}]")]
    return [] if _masked(expected) == _masked(got) else [f"{path}: {str(got)[:200]}, not {str(expected)[:200]}"]


def _masked(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    masked = TIME.sub("TIME", UID.sub("UID", value))
    masked = VERSION_IN_WORDS.sub(r"\1N", GENERATED.sub(r"\1NAME", masked))
    return AGE.sub("AGE", masked)


def _exchanges(recordings: Path, story: str) -> list[dict[str, Any]]:
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    return [
        one
        for one in read
        if one["story"] == story
        and one["command"].startswith("raw:")
        and "watch" not in one["request"]["path"]
        # Of protobuf bodies the recording has only a note; of a key that was given twice, it has one.
        and [*(one["request"].get("body") or ())] != ["note"]
        and one["command"] != "raw: duplicate field, strict"
    ]


@pytest.mark.parametrize("story", STORIES)
def test_recorded_requests_are_answered_as_a_real_server_answered_them(recordings: Path, story: str) -> None:
    replay, found = Replay(), {}
    for exchange in _exchanges(recordings, story):
        differences = replay.differences(exchange)
        if differences:
            found[exchange["n"]] = (exchange["command"], differences[:3])
    expected = set(DIFFERENCES) if story == STORIES[0] else set()
    unexpected = {number: what for number, what in found.items() if number not in expected}
    assert not unexpected, "\n".join(f"{number}: {what}" for number, what in unexpected.items())
    assert set(found) == expected
