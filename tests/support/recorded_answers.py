"""Recorded requests and a real server's answers (v1.36.4), asked of a server without a socket.

A case has requests that prepare it, one that counts, and the answer to that one. What differs from run to run stands in
the recording as a placeholder (`<uid>`, `<time>` …), which matches whatever looks like one.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.api_server import Api

from bayplan.apiserver.http.requests import Answer, Request, error_answer, query_of, segments_of
from bayplan.store.errors import ApiError

Case = dict[str, Any]

_PLACEHOLDERS = {
    "<uid>": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "<version>": r"\d+",
    "<time>": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| \+0000 UTC|\+00:00)(?: m=\S+)?",
    "<random>": r"[a-z0-9]{5}",
    "<ip>": r"[0-9a-f.:]+",
    "<port>": r"\d+",
    "<pointer>": r"\(?0x[0-9a-f]+\)?",
}
_PLACEHOLDER = re.compile("|".join(_PLACEHOLDERS))
#: Posts to these make nothing that must be deleted.
_MAKES_NOTHING = frozenset({"eviction", "binding", "bindings", "token", "approval"})
#: What this server says of kinds that it only keeps, and a real one has no reason to say.
WITHOUT_EFFECT = "is stored, but has no effect"


def read_cases(file: Path) -> list[Case]:
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@dataclass
class Replay:
    """A server that cases are asked of, one after the other."""

    api: Api = field(default_factory=Api)

    def differences(self, case: Case) -> list[str]:
        """Where the answer is not the recorded one; [] if it is the same."""
        version = ""
        made: list[str] = []
        codes: list[int] = []
        for request in [*case["setup"], case["request"]]:
            asked = json.loads(json.dumps(request).replace("<version>", version))
            answer = self._asked(asked)
            codes.append(answer.status)
            body = _decoded(answer)
            if answer.status < 300 and isinstance(body, dict):
                metadata = body.get("metadata") or {}
                version = metadata.get("resourceVersion") or version
                if _creates(asked) and metadata.get("name"):
                    made.append(f"{asked['path']}/{metadata['name']}")
        found = [] if codes[:-1] == case["setupCodes"] else [f"setup {codes[:-1]}, not {case['setupCodes']}"]
        found += _differences_of(case, answer)
        for path in reversed(made):
            query = "gracePeriodSeconds=0&propagationPolicy=Background"
            self._asked({"method": "DELETE", "path": path, "query": query})
        return found

    def _asked(self, request: dict[str, Any]) -> Answer:
        body = request.get("body")
        sent = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        headers = {"accept": "application/json", "user-agent": "apirecord/1", "authorization": "Bearer secret"}
        if body is not None:
            headers["content-type"] = request.get("contentType", "application/json")
        segments, query = segments_of(request["path"].encode()), query_of(request.get("query", "").encode())
        try:
            asked = self.api.application.admitted(Request(request["method"], segments, query, headers, sent))
        except ApiError as error:
            return error_answer(error)
        answer = self.api.application.answer(asked)
        assert isinstance(answer, Answer)
        return answer


def _creates(request: dict[str, Any]) -> bool:
    last = request["path"].rpartition("/")[2]
    return request["method"] == "POST" and "dryRun" not in request.get("query", "") and last not in _MAKES_NOTHING


def _decoded(answer: Answer) -> Any:
    try:
        return json.loads(answer.body) if answer.body else None
    except ValueError:
        return {"text": answer.body.decode(errors="replace")}


def _differences_of(case: Case, answer: Answer) -> Iterator[str]:
    recorded = case["response"]
    if answer.status != recorded["code"]:
        yield f"code {answer.status}, not {recorded['code']}"
    expected, got = recorded["body"], _decoded(answer)
    if "fields" in case.get("ignore", ()):
        for body in (expected, got):
            body.get("metadata", {}).pop("managedFields", None)
    if case.get("unordered") and isinstance(got, dict):
        expected, got = _in_any_order(expected), _in_any_order(got)
    yield from _different(expected, got, "")
    warned = sorted(value for name, value in answer.headers if name == "warning" and WITHOUT_EFFECT not in value)
    yield from _different(sorted(recorded.get("warnings", [])), warned, "warnings")


def _in_any_order(status: dict[str, Any]) -> dict[str, Any]:
    """A refusal with its causes sorted, and without the message, which lists them too."""
    details = dict(status.get("details") or {})
    details["causes"] = sorted(details.get("causes") or (), key=str)
    return {**status, "message": "", "details": details}


def _different(expected: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(got, dict):
        yield from _different_members(expected, got, path)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for position, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _different(one, other, f"{path}[{position}]")
    elif not _matches(expected, got):
        yield f"{path}: {str(got)[:300]}, not {str(expected)[:300]}"


def _different_members(expected: dict[str, Any], got: dict[str, Any], path: str) -> Iterator[str]:
    ours = {name: name for name in got}
    for name in expected.keys() - got.keys():
        ours |= {other: name for other in got.keys() - expected.keys() if _matches(name, other)}
    named = {ours[name]: value for name, value in got.items()}
    for name in sorted(expected.keys() | named.keys()):
        if name not in named:
            yield f"{path}.{name}: missing, not {str(expected[name])[:300]}"
        elif name not in expected:
            yield f"{path}.{name}: {str(named[name])[:300]}, not missing"
        else:
            yield from _different(expected[name], named[name], f"{path}.{name}")


def _matches(expected: Any, got: Any) -> bool:
    if isinstance(expected, str) and _PLACEHOLDER.search(expected):
        is_text = isinstance(got, str) or (expected == "<port>" and type(got) is int)
        return is_text and _pattern(expected).fullmatch(str(got)) is not None
    return type(expected) is type(got) and bool(expected == got)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    pieces = re.split(f"({_PLACEHOLDER.pattern})", text)
    return re.compile("".join(_PLACEHOLDERS.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)
