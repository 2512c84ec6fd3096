"""The pods' part of a recorded session with a real API server (v1.36.4), played against the store.

Every creation, patch, binding and deletion must have the recorded code, message, generation, grace period and
status. The recording's kubelet is not here: a pod it has ended meanwhile is ended before the exchange that says so.
"""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from bayplan.model.pod import Pod
from bayplan.store import ApiError, Store
from bayplan.testing.builders import node, priority_class

Exchange = dict[str, Any]
POD_PATH = re.compile(r"/api/v1/namespaces/raw/(?:pods(?:/(?P<name>[^/]+)(?:/(?P<part>status|binding))?)?|bindings)")
# An HTTP server refuses these before they reach its store.
NOT_FOR_THE_STORE = {"raw: bind, no target", "raw: bind, wrong kind of target", "raw: delete on bindings"}
MERGE_KEYS = ("name", "type")


@pytest.fixture(scope="module")
def exchanges(recordings: Path) -> list[Exchange]:
    """Writes to pods, in order, and the readings between them."""
    with lzma.open(recordings / "transcripts.jsonl.xz", "rt") as lines:
        recorded = [json.loads(line) for line in lines]
    return [
        one
        for one in recorded
        if one["story"] == "raw http"
        and POD_PATH.fullmatch(urlsplit(one["request"]["path"]).path)
        and "dryRun" not in one["request"]["path"]
        and one["command"] not in NOT_FOR_THE_STORE
    ]


def test_the_store_answers_as_recorded(exchanges: list[Exchange]) -> None:
    store = Store()
    store.load([node("n1").zone("z1").obj(), priority_class("low", 10, default=True).obj()], 0)
    played = 0
    for exchange in exchanges:
        if exchange["request"]["method"] != "GET":
            compare(exchange, answer(store, exchange))
            played += 1
        elif exchange["response"]["status"] == 404:
            name = exchange["request"]["path"].rpartition("/")[2]
            store.delete(Pod, "raw", name, 0, grace_seconds=0)
    assert played >= 30


def answer(store: Store, exchange: Exchange) -> Pod | ApiError:
    try:
        return perform(store, exchange["request"])
    except ApiError as error:
        return error


def perform(store: Store, request: Exchange) -> Pod:
    url = urlsplit(request["path"])
    match = POD_PATH.fullmatch(url.path)
    assert match is not None
    name, part = match["name"], match["part"]
    body: Any = request.get("body")
    if request["method"] == "DELETE":
        grace = parse_qs(url.query).get("gracePeriodSeconds")
        deleted = store.delete(Pod, "raw", name, 0, grace_seconds=int(grace[0]) if grace else None).object
        assert isinstance(deleted, Pod)
        return deleted
    if request["method"] == "PATCH":
        strategic = "strategic" in request["headers"]["Content-Type"]
        modify = store.modify_status if part == "status" else store.modify
        patched: Pod = modify("Pod", "raw", name, lambda pod: patch(pod, body, strategic), 0)
        return patched
    if body["kind"] == "Binding":
        meta = body["metadata"]
        annotations = meta.get("annotations", {})
        return store.bind("raw", meta["name"], body["target"]["name"], meta.get("uid", ""), 0, annotations=annotations)
    return store.create(msgspec.convert(body, Pod), 0)


def patch(pod: Pod, body: Exchange, strategic: bool) -> Pod:
    return msgspec.convert(merged(msgspec.to_builtins(pod), body, strategic), Pod)


def merged(old: Any, new: Any, strategic: bool) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        result = {key: value for key, value in old.items() if key not in new}
        result.update({key: merged(old.get(key), value, strategic) for key, value in new.items() if value is not None})
        return result
    if strategic and isinstance(old, list) and isinstance(new, list):
        by_key = {_merge_key(one): one for one in old}
        by_key.update({_merge_key(one): merged(by_key.get(_merge_key(one)), one, strategic) for one in new})
        return [*by_key.values()]
    return new


def _merge_key(one: Exchange) -> str:
    return next(str(one[key]) for key in MERGE_KEYS if key in one)


def compare(exchange: Exchange, got: Pod | ApiError) -> None:
    response, label = exchange["response"], exchange["command"]
    body = response["body"]
    if isinstance(got, ApiError):
        assert (got.code, got.reason) == (response["status"], body["reason"]), label
        assert without_uid(without_difference(body["message"])) == without_uid(got.message), label
        details = {key: value for key, value in body["details"].items() if key != "causes"}
        assert {key: value for key, value in got.details().items() if key != "causes"} == details, label
        assert [cause.field for cause in got.causes] == [one["field"] for one in body["details"].get("causes", [])]
        return
    assert response["status"] in (200, 201), label
    if body["kind"] != "Pod":
        return
    meta = body["metadata"]
    assert (got.metadata.generation, got.metadata.deletion_grace_period_seconds) == (
        meta["generation"],
        meta.get("deletionGracePeriodSeconds"),
    ), label
    assert (got.metadata.labels, got.metadata.annotations) == (meta.get("labels", {}), meta.get("annotations", {}))
    assert got.spec == msgspec.convert(body["spec"], Pod.__annotations__["spec"]), label
    if body["status"]["phase"] == "Pending":
        assert without_times(got) == without_times(msgspec.convert(body, Pod)), label


def without_difference(message: str) -> str:
    """The server shows what differs in its own structs; that is no part of the refusal's words."""
    return message.partition("\n@@")[0]


def without_uid(message: str) -> str:
    return re.sub(r"UID in object meta: \S+", "UID in object meta: …", message)


def without_times(pod: Pod) -> list[tuple[str, ...]]:
    return [(one.type, one.status, one.reason, one.message) for one in pod.status.conditions] + [
        (pod.status.phase, pod.status.nominated_node_name)
    ]
