"""Field selectors as a real API server (v1.36.4) took and refused them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.schema.resources import resource_of
from bayplan.apiserver.selecting.field_selectors import parse_field_selector
from bayplan.store import BadRequest


def refusal(path: str) -> str:
    url = urlsplit(path)
    parts = url.path.strip("/").split("/")
    group, version, plural = ("", parts[1], parts[-1]) if parts[0] == "api" else (parts[1], parts[2], parts[-1])
    resource = resource_of(group, version, plural)
    assert resource is not None
    try:
        parse_field_selector(parse_qs(url.query)["fieldSelector"][0], kind_of(resource).selectable)
    except BadRequest as problem:
        return problem.message
    return ""


def test_fields_are_taken_and_refused_as_recorded(recordings: Path) -> None:
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        exchanges = [json.loads(line) for line in lines if "fieldSelector=" in line]
    refused = taken = 0
    for exchange in exchanges:
        path, answer = exchange["request"]["path"], exchange["response"]
        is_refused = answer["status"] == 400
        assert refusal(path) == (answer["body"]["message"] if is_refused else ""), path
        refused += is_refused
        taken += not is_refused
    assert refused >= 12
    assert taken >= 100
