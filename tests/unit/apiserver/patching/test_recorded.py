"""Recorded writes to a real API server (v1.36.4): patched documents and owners of fields, write by write.

Each write is repeated on the object as it was read just before; the document and its `managedFields` must come out as
recorded, times aside. What the server adds after the owners are known (admission, the status) is taken from the answer.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.apiserver.patching.merge_patch import apply_merge_patch
from bayplan.apiserver.patching.server_side_apply.applying import apply
from bayplan.apiserver.patching.server_side_apply.scopes import Scope, scope_of
from bayplan.apiserver.patching.server_side_apply.tracking import track, with_old_times
from bayplan.apiserver.patching.strategic_merge import apply_strategic_merge_patch
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import RESOURCES, Resource
from bayplan.model.timestamps import parse_time
from bayplan.store.errors import ApiError

Object = dict[str, Any]
BY_PLURAL = {(one.group, one.version, one.plural): one for one in RESOURCES}
APPLY = "application/apply-patch+yaml"
# The server adds nothing to these on create once owners are known; a status is never owned by whoever creates.
COMPLETE_KINDS = {"ConfigMap", "Secret", "Deployment", "DaemonSet", "StatefulSet", "CronJob", "PodDisruptionBudget", "PriorityClass", "Node", "StorageClass", "HorizontalPodAutoscaler", "Event", "ResourceQuota"}  # fmt: skip  # noqa: E501
SET_BY_ADMISSION = ("priority", "priorityClassName", "preemptionPolicy", "tolerations")


class Exchange(NamedTuple):
    number: int
    method: str
    media_type: str
    resource: Resource
    subresource: str
    key: tuple[str, ...]  # of the object: resource, namespace, name
    parameters: dict[str, str]
    agent: str
    sent: Any
    status: int
    received: Object

    @property
    def manager(self) -> str:
        return self.parameters.get("fieldManager") or self.agent

    @property
    def scope(self) -> Scope:
        return scope_of(self.resource, self.subresource)

    @property
    def time(self) -> int:
        entries = self.received.get("metadata", {}).get("managedFields", [{}])
        return parse_time(max(entry.get("time", "1970-01-01T00:00:00Z") for entry in entries))


@pytest.fixture(scope="module")
def exchanges(recordings: Path) -> list[Exchange]:
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        return [found for line in lines if (found := exchange_of(json.loads(line))) is not None]


def exchange_of(recorded: Object) -> Exchange | None:
    request, response = recorded["request"], recorded["response"]
    url = urlsplit(request["path"])
    parts = url.path.strip("/").split("/")
    prefix = 2 if parts[0] == "api" else 3
    group, version, rest = "/".join(parts[1 : prefix - 1]), parts[prefix - 1 : prefix], parts[prefix:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    resource = BY_PLURAL.get((group, "".join(version), rest[0])) if rest else None
    body = response.get("body")
    if resource is None or not isinstance(body, dict) or "kubectl" in recorded:
        return None
    name = rest[1] if len(rest) > 1 else body.get("metadata", {}).get("name", "")
    headers = {key.lower(): value for key, value in request["headers"].items()}
    return Exchange(
        recorded["n"],
        request["method"],
        headers.get("content-type", ""),
        resource,
        rest[2] if len(rest) > 2 else "",
        (resource.plural, namespace, name),
        {key: values[0] for key, values in parse_qs(url.query).items()},
        headers.get("user-agent", "").split("/")[0],
        request.get("body"),
        response["status"],
        body,
    )


def without_times(document: Object) -> list[Object]:
    entries = document["metadata"].get("managedFields", [])
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries]


def content(document: Object, subresource: str) -> Object:
    """What a write to the object, or to its status, is about."""
    counters = {"managedFields", "resourceVersion", "generation"}
    metadata = {name: value for name, value in document["metadata"].items() if name not in counters}
    if subresource:
        return {"status": document["status"]}
    return {**document, "metadata": metadata, "status": None}


def writes_after_reads(exchanges: list[Exchange]) -> Iterator[tuple[Object, Exchange]]:
    """Writes with the object as it was read last, unless somebody else wrote to it in between."""
    live: dict[tuple[str, ...], Object] = {}
    for one in exchanges:
        before, is_object = live.get(one.key), one.received.get("kind") == one.resource.kind
        is_write = one.method in ("PATCH", "PUT") and one.subresource in ("", "status")
        if is_write and before and (one.status >= 400 or (is_object and not has_other_writes(before, one))):
            yield before, one
        if one.status < 300 and is_object and "dryRun" not in one.parameters:
            live[one.key] = one.received


def has_other_writes(before: Object, one: Exchange) -> bool:
    """Whether the answer shows writes by others since the object was read."""
    managers = {entry["manager"] for entry in one.received["metadata"].get("managedFields", [])} - {one.manager}
    known = {entry["manager"] for entry in before["metadata"].get("managedFields", [])}
    has_other_status = not one.subresource and before.get("status") != one.received.get("status")
    return not managers <= known or has_other_status


PATCHES = {
    "application/json-patch+json": lambda live, patch, _: apply_json_patch(live, patch),
    "application/merge-patch+json": lambda live, patch, _: apply_merge_patch(live, patch),
    "application/strategic-merge-patch+json": apply_strategic_merge_patch,
}


def patched(live: Object, one: Exchange) -> Object:
    kind = message_of(one.resource.api_version, one.resource.kind)
    return PATCHES[one.media_type](live, one.sent, kind) if one.method == "PATCH" else one.sent


def test_whoever_creates_owns_what_is_recorded(exchanges: list[Exchange]) -> None:
    count = 0
    for one in exchanges:
        kind = one.resource.kind
        is_create = one.method == "POST" and one.status == 201 and not one.subresource and isinstance(one.sent, dict)
        if not is_create or one.received.get("kind") != kind or kind not in COMPLETE_KINDS | {"Pod"}:
            continue
        new = {**one.received, "metadata": {**one.received["metadata"], "managedFields": None, "uid": ""}}
        if kind == "Pod":
            sent = one.sent.get("spec", {})
            new["spec"] = {
                name: value for name, value in new["spec"].items() if name not in SET_BY_ADMISSION or name in sent
            }
        tracked = track(one.scope, None, new, one.manager, one.time)
        assert without_times(tracked) == without_times(one.received), one.number
        count += 1
    assert count > 80


def test_patches_give_the_recorded_documents_and_owners(exchanges: list[Exchange]) -> None:
    count = 0
    for live, one in writes_after_reads(exchanges):
        if one.media_type == APPLY or one.status >= 400:
            continue
        new = patched(live, one)
        stored = {**one.received, "metadata": {**one.received["metadata"]}}
        stored["metadata"]["managedFields"] = new["metadata"].get("managedFields")
        tracked = with_old_times(live, track(one.scope, live, stored, one.manager, one.time))
        assert without_times(tracked) == without_times(one.received), one.number
        if one.method == "PATCH" and one.resource.kind != "Node":  # a controller annotates new nodes, leaving no trace
            documents = [without_empty(content(document, one.subresource)) for document in (new, one.received)]
            assert documents[0] == documents[1], one.number
        count += 1
    assert count > 60


def without_empty(value: Any) -> Any:
    """The server leaves out what is empty; documents that were just patched may still have it."""
    if isinstance(value, dict):
        members = {name: without_empty(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member not in (None, [], {})}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def test_applied_configurations_give_the_recorded_owners_and_refusals(exchanges: list[Exchange]) -> None:
    results = [
        (live, one)
        for live, one in writes_after_reads(exchanges)
        if one.media_type == APPLY and "fieldManager" in one.parameters
    ]
    for live, one in results:
        force = one.parameters.get("force") == "true"
        try:
            document = apply(one.scope, live, one.sent, one.parameters.get("fieldManager", ""), one.time, force=force)
        except ApiError as refusal:
            answer = refusal.status()
        else:
            answer = {**one.received, "metadata": {**one.received["metadata"]}}
            answer["metadata"]["managedFields"] = document["metadata"]["managedFields"]
        assert answer.get("message") == one.received.get("message"), one.number
        if one.status < 300:
            assert without_times(answer) == without_times(one.received), one.number
        else:
            assert answer == one.received, one.number
    assert len(results) > 20
