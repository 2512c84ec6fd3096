"""Requests of a scheduler in words that can be compared, and what became of them where that was not as usual.

Takes lines of a story. In a request everything counts but times, uids, versions and who owned which field: pods are
named instead of their uids, and times must have the right number of digits. Reads are left out, and leases.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.scenarios.transcript import Seen

Line = dict[str, Any]

POD = re.compile(r"/api/v1/namespaces/(?P<namespace>[^/]+)/pods/(?P<name>[^/]+)(?P<part>/binding|/status|)")
EVENTS = re.compile(r"/apis/events.k8s.io/v1/namespaces/(?P<namespace>[^/]+)/events(/(?P<name>[^/]+)\.[0-9a-f]+)?")
VOLUME = re.compile(r"/api/v1/persistentvolumes/(?P<name>[^/]+)")
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
EVENT_NAME = re.compile(r"^(.+)\.[0-9a-f]{16}$")
SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MICROSECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
PATCH = "application/strategic-merge-patch+json"
#: An answer that took longer than this was held up on purpose.
LATE_MS = 300


class Fault(NamedTuple):
    """What becomes of a request."""

    delay_ms: float = 0.0
    forwarded: bool = True  # whether the server gets it at all
    status: int = 0  # of the answer that was made up; 0: the server's own, or none
    body: Line | None = None
    headers: Mapping[str, str] = {}
    cut: bool = False  # there is no answer


def asked(at: int, data: Line, uids: Mapping[str, str]) -> Iterator[Seen]:
    """The request, if it wrote something about a pod."""
    found = _subject(data)
    if data["method"] != "GET" and found is not None:
        about, part = found
        # The first recorder did not write it down.
        content = f" {data.get('contentType', PATCH)}" if data["method"] == "PATCH" else ""
        query = f"?{data['query']}" if data.get("query") else ""
        said = masked(data.get("body"), "", {**uids, about.partition("/")[2]: "NAME"})
        if part == "pod" and said.get("preconditions") == {"uid": about}:
            del said["preconditions"]  # which only we have: another pod may have got the victim's name
        body = json.dumps(said, sort_keys=True)
        yield Seen(at, about, f"request {part}", f"{data['method']} {part}{query}{content} {body}")


def read_of_pods(at: float, data: Line) -> Iterator[tuple[float, str]]:
    """When pods were listed or watched, and with which query."""
    if data["method"] == "GET" and data["path"] == "/api/v1/pods":
        yield at, masked_query(data.get("query", ""))


def masked_query(query: str) -> str:
    """Without versions, and without how long a watch is to last, which is drawn."""
    query = re.sub(r"resourceVersion=\d+", "resourceVersion=VERSION", query)
    return re.sub(r"timeout=\d+m\d+s&timeoutSeconds=\d+", "timeout=SECONDS", query)


def _subject(data: Line) -> tuple[str, str] | None:
    """The pod, or claim, that the request is about, and which part of it."""
    path, body = data["path"], data.get("body") or {}
    if pod := POD.fullmatch(path):
        return f"{pod['namespace']}/{pod['name']}", pod["part"].strip("/") or "pod"
    event = EVENTS.fullmatch(path)
    if event and (event["name"] or "regarding" in body):
        return f"{event['namespace']}/{event['name'] or body['regarding']['name']}", "event"
    if VOLUME.fullmatch(path) and "spec" in body:
        claim = body["spec"]["claimRef"]
        return f"{claim['namespace']}/{claim['name']}", "volume"
    return None


def masked(value: Any, field: str, names: Mapping[str, str]) -> Any:
    """Without what differs from run to run; `names` stand for uids and for the name of what the request is about."""
    if isinstance(value, dict):
        return {name: masked(inner, name, names) for name, inner in value.items() if name != "managedFields"}
    if field == "$setElementOrder/conditions":
        # Kubelets differ in which conditions they set before the scheduler's own, which is the last.
        return [len(value) > 1, value[-1]["type"]]
    if isinstance(value, list):
        return [masked(inner, field, names) for inner in value]
    if not isinstance(value, str):
        return value
    if field == "resourceVersion":
        return "VERSION"
    if SECONDS.fullmatch(value):
        return "SECONDS"
    if MICROSECONDS.fullmatch(value):
        return "MICROSECONDS"
    if field == "name" and (event := EVENT_NAME.match(value)):
        return f"{names.get(event[1], event[1])}.TIME"
    if value in names:
        return names[value]
    return UID.sub(lambda found: names.get(found[0], "UID"), value)


def request_key(method: str, path: str, body: Any) -> str:
    """What a request must have in common with a recorded one to fare like it."""
    about = body["regarding"]["name"] if isinstance(body, dict) and "regarding" in body else ""
    return f"{method} {path} {about}".strip()


def faults_in(lines: list[Line]) -> dict[str, deque[Fault]]:
    """For each request of a kind, in order, how it fared; only for kinds of which one fared badly."""
    waiting: dict[str, list[tuple[float, str]]] = {}
    fared: dict[str, list[tuple[float, Fault]]] = {}
    injections: list[Line] = []
    for line in lines:
        data = line["data"]
        if line["what"] == "action" and data["do"] == "inject":
            injections.append(data)
        elif line["what"] == "request":
            key = request_key(data["method"], data["path"], data.get("body"))
            waiting.setdefault(data["path"], []).append((line["t_ms"], key))
        elif line["what"] == "response" and waiting.get(data["path"]):
            asked_at = line["t_ms"] - data.get("ms", data.get("after_ms", 0.0))
            asked_then = min(waiting[data["path"]], key=lambda one: abs(one[0] - asked_at))
            waiting[data["path"]].remove(asked_then)
            fared.setdefault(asked_then[1], []).append(
                (asked_then[0], _fault(line["t_ms"] - asked_then[0], data, injections))
            )
    return {
        key: deque(fault for _, fault in sorted(of_kind, key=lambda one: one[0]))
        for key, of_kind in fared.items()
        if any(fault != Fault() for _, fault in of_kind)
    }


def _fault(took_ms: float, data: Line, injections: list[Line]) -> Fault:
    delay = took_ms if took_ms > LATE_MS else 0.0
    if not data.get("injected"):
        return Fault(delay)
    forwarded = "forwarded_status" in data
    if "status" not in data:
        return Fault(delay, forwarded, cut=True)
    headers: Line = next(
        (one.get("headers", {}) for one in reversed(injections) if one.get("status") == data["status"]), {}
    )
    return Fault(delay, forwarded, data["status"], data["answer"], headers)
