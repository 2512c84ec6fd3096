"""Every creation of a recorded session with a real API server (v1.36.4), through admission.

A document that was taken must come out as it was answered, but for what the server draws (uid, times, versions,
addresses); one that was refused must be refused with the same Status. The classes and namespaces that count are
those that the recording has shown so far.
"""

from __future__ import annotations

import copy
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.support.admission_documents import Documents, namespace

from bayplan.apiserver.registry.admission import admit_create
from bayplan.apiserver.schema.resources import Resource, resource_of
from bayplan.model.timestamps import parse_time
from bayplan.store.errors import ApiError

Exchange = dict[str, Any]
# Options of the request, not documents; and a body that is not in the recording.
NOT_ADMISSION = {
    "raw: field validation unknown",
    "raw: dry run unknown",
    "raw: body of 2 MB (over the object limit)",
    # The version of a new object is the store's business.
    "raw: create with rv",
}
# These came to be, or went, where the recording did not look.
UNSEEN_CLASSES = {"raw: create pod", "raw: pod refused or taken: preemption policy against the class"}
NEVER_THE_SAME = frozenset({"uid", "creationTimestamp", "resourceVersion", "managedFields"})
DRAWN = {"lastTransitionTime", "lastPhaseTransitionTime", "clusterIP", "clusterIPs", "nodePort"}


@pytest.fixture(scope="module")
def exchanges(recordings: Path) -> list[Exchange]:
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        return [json.loads(line) for line in lines]


def test_documents_are_taken_and_refused_as_recorded(exchanges: list[Exchange]) -> None:
    cluster = Documents(*(namespace(name) for name in ("default", "kube-system", "kube-public")))
    differences, count = {}, 0
    for exchange in exchanges:
        found = _target(exchange["request"]["path"])
        if found is None or "note" in exchange["response"]:
            continue
        resource, where, name = found
        if exchange["request"]["method"] == "POST" and not name and _is_told(exchange, cluster):
            count += 1
            expected = _masked(exchange["response"]["body"])
            got = _masked(_admitted(resource, where, exchange, cluster))
            if got != expected:
                differences[f"{exchange['n']} {exchange['command']}"] = (got, expected)
        _learn(cluster, resource, where, name, exchange)
    assert differences == {}
    assert count > 150


def _target(path: str) -> tuple[Resource, str, str] | None:
    parts = [part for part in urlsplit(path).path.split("/") if part]
    if len(parts) < 3:
        return None
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    where = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        where, rest = rest[1], rest[2:]
    resource = resource_of(group, version, rest[0]) if rest and len(rest) <= 2 else None
    return (resource, where, rest[1] if len(rest) > 1 else "") if resource and "get" in resource.verbs else None


def _is_told(exchange: Exchange, cluster: Documents) -> bool:
    """Whether the recording shows all that the answer depends on."""
    body, answer = _body(exchange), exchange["response"]["body"]
    if not isinstance(body, dict) or "metadata" not in body or exchange["command"] in NOT_ADMISSION:
        return False
    if exchange["response"]["status"] not in (201, 403, 404, 422, 500):
        return False
    class_name = answer.get("spec", {}).get("priorityClassName", "") if answer["kind"] == "Pod" else ""
    known = {document["metadata"]["name"] for document in cluster.documents if document["kind"] == "PriorityClass"}
    is_default = class_name and "priorityClassName" not in body["spec"]
    return exchange["command"] not in UNSEEN_CLASSES and not (is_default and class_name not in known)


def _body(exchange: Exchange) -> Any:
    body = exchange["request"].get("body")
    try:
        return yaml.safe_load(body) if isinstance(body, str) else body
    except yaml.YAMLError:
        return None


def _admitted(resource: Resource, where: str, exchange: Exchange, cluster: Documents) -> dict[str, Any]:
    document = copy.deepcopy(_body(exchange))
    answered = exchange["response"]["body"].get("metadata", {})
    given = {"namespace": where} if where else {}
    # The name and the uid are somebody else's to draw.
    drawn = {field: answered[field] for field in ("name", "uid") if field in answered}
    document["metadata"] = {**document["metadata"], **given, **drawn}
    now = parse_time(answered["creationTimestamp"]) if "creationTimestamp" in answered else 0
    try:
        return admit_create(resource, document, cluster, now)
    except ApiError as error:
        return error.status()


def _masked(document: dict[str, Any]) -> dict[str, Any]:
    masked: dict[str, Any] = _without_drawn(document)
    masked["metadata"] = {
        name: value for name, value in masked.get("metadata", {}).items() if name not in NEVER_THE_SAME
    }
    return masked


def _without_drawn(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "…" if name in DRAWN else _without_drawn(item) for name, item in value.items()}
    return [_without_drawn(item) for item in value] if isinstance(value, list) else value


def _learn(cluster: Documents, resource: Resource, where: str, name: str, exchange: Exchange) -> None:
    answer = exchange["response"].get("body")
    if not isinstance(answer, dict) or "dryRun" in exchange["request"]["path"]:
        return
    method, status = exchange["request"]["method"], exchange["response"]["status"]
    if (status == 404 and method == "GET") or (
        method == "DELETE" and status == 200 and answer.get("kind") != resource.kind
    ):
        cluster.remove(resource, where, name)
    elif status in (200, 201):
        for shown in _shown(answer, resource):
            cluster.add(shown)


def _shown(answer: dict[str, Any], resource: Resource) -> Iterator[dict[str, Any]]:
    if answer.get("kind") == resource.kind and "name" in answer.get("metadata", {}):
        yield answer
    elif answer.get("kind") == f"{resource.kind}List":
        for item in answer.get("items") or ():
            yield {**item, "apiVersion": resource.api_version, "kind": resource.kind}
