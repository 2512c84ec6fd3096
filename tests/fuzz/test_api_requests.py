"""Spoilt requests to the API: an answer or a refusal that says why; never an internal error.

Each number makes one session of requests, always the same, on a cluster of its own. `FUZZ=100000` sends that many
requests, `FUZZ_FIRST=50` begins at another session; a failure names its session.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.fuzz.api_requests import TABLE, YAML, Template, spoilt, templates, valid

from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.requests import Answer, Request, StreamedAnswer
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import RESOURCES
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.worlds.bootstrap import bootstrap, create

SESSION = 250
COUNT = int(os.environ.get("FUZZ", "2000")) // SESSION
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
PARTS = 8
SHOWN = 10
CPU_SECONDS_MAX = 3.0
NOW = 1_700_000_000 * 10**9
UNMUTATED_SHARE = 0.3
#: What the real server answers with 500 as well, and with the same words.
REAL_INTERNAL_ERRORS = re.compile(
    "resourceVersion should not be set on objects to be created"
    "|resourceVersion: Invalid value"
    "|strconv.ParseUint: parsing"
    "|target.kind: Unsupported value"
    "|target.name: Required value"
    "|This pod has more than one PodDisruptionBudget"
    "|no preferred addresses found; known addresses: "
    # Patches that contradict themselves.
    "|expected a map.string.interface .., but received a "
    "|The order in patch list:"
    "|map: .* does not contain declared merge key: "
    "|unknown patch type: "
    "|list element types are not identical: "
    "|failed to create typed patch object ",
    re.DOTALL,
)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_spoilt_requests_are_answered_or_refused(part: int, recordings: Path) -> None:
    known = templates(recordings)
    logging.disable(logging.CRITICAL)
    problems = []
    try:
        for number in range(FIRST + part, FIRST + COUNT, PARTS):
            problems += _problems(number, known)
    finally:
        logging.disable(logging.NOTSET)
    assert not problems, f"{len(problems)} requests:\n" + "\n".join(problems[:SHOWN])


def _problems(number: int, known: list[Template]) -> list[str]:
    rng = Random(number)
    registry = Registry(Storage(), Catalogue())
    bootstrap(registry, "127.0.0.1", 6443, NOW)
    create(registry, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, NOW)
    application = Application(registry, "token", lambda: NOW, "127.0.0.1:8080", release=DEFAULT_RELEASE)
    found = []
    creations = [template for template in known if template.method == "POST"]
    for count in range(SESSION):
        # Some objects first, so that there is something to change.
        template = rng.choice(creations if count < SESSION // 4 else known)
        request = valid(template) if rng.random() < UNMUTATED_SHARE else spoilt(template, rng)
        problem = _problem(application, request)
        if problem:
            found.append(f"session {number}: {problem}: {_shown(request)}")
    return found + [f"session {number}: {problem}" for problem in _unreadable(application)]


def _shown(request: Request) -> str:
    path = "/".join(request.segments)[:150]
    return f"{request.method} /{path} {str(request.query)[:200]} {request.headers} {request.body[:600]!r}"


def _problem(application: Application, request: Request) -> str:
    """What is wrong with the answer; "" if nothing."""
    before, started = application.registry.storage.version, time.process_time()
    try:
        answer = application.answer(request)
        if isinstance(answer, StreamedAnswer):
            asyncio.run(_first_piece(answer))
            return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if time.process_time() - started > CPU_SECONDS_MAX:
        return "slow"
    if answer.status >= 400 and application.registry.storage.version != before and request.method != "DELETE":
        return f"refused with {answer.status}, and something was stored"
    return _fault_of(answer)


async def _first_piece(stream: StreamedAnswer) -> None:
    pieces = stream.pieces
    try:
        async with asyncio.timeout(0.0001):
            await anext(pieces)
    except (TimeoutError, StopAsyncIteration):
        pass
    await pieces.aclose()


def _fault_of(answer: Answer) -> str:
    if any(ord(character) < 32 for name, value in answer.headers for character in name + value):
        return f"a header with control characters: {answer.headers}"
    if answer.content_type.startswith("text/plain") or not answer.body or answer.content_type == YAML:
        return ""
    if "protobuf" in answer.content_type:
        return ""
    body: Any = json.loads(answer.body)
    if answer.status < 400:
        return ""
    if body.get("kind") != "Status" or body.get("code") != answer.status:
        return f"{answer.status} without a Status: {body}"
    if answer.status == 500 and not REAL_INTERNAL_ERRORS.match(body["message"]):
        return f"500 {body['message']}"
    return ""


def _unreadable(application: Application) -> list[str]:
    """Resources whose objects can no longer be listed, in any form."""
    problems = []
    for resource in RESOURCES:
        if "list" not in resource.verbs:
            continue
        path = ("apis", resource.group, resource.version) if resource.group else ("api", "v1")
        for accept in ("application/json", TABLE, YAML):
            answer = application.answer(Request("GET", (*path, resource.plural), {}, {"accept": accept}))
            if not isinstance(answer, Answer) or answer.status != 200:
                problems.append(f"{resource.plural} cannot be listed as {accept}")
    return problems
