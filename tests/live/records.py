"""What went through a proxy: every request, by whom and when, and what became of it at the server and at the client.

Stands for the server's own log of who wrote what. Takes exchanges as a proxy sees them; gives them back by what they
were about. It judges nothing; `end_state` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.live.faults import Fault

# Addresses may have a prefix in front of the API's own paths.
_BINDING = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/binding$")
_POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/?]+)$")
_LEASE = re.compile(r"/apis/coordination.k8s.io/v1/namespaces/[^/]+/leases(/[^/?]+)?(\?|$)")


class Answer(NamedTuple):
    """What the server said, once for each time that a request was forwarded."""

    at: float
    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        return self.status < 400


@dataclass(eq=False)
class Exchange:
    """One request of a client."""

    who: str
    at: float  # seconds of the system clock
    method: str
    path: str  # with its query
    headers: dict[str, str]  # names in lower case
    body: bytes
    fault: Fault | None = None
    answers: list[Answer] = field(default_factory=list)
    forwarded_at: float = 0.0  # when the server was asked for the last time; 0: never
    returned: int | None = None  # the status of the answer that the client got in full
    ended_at: float = 0.0

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def is_watch(self) -> bool:
        return self.method == "GET" and re.search(r"[?&]watch=(true|1)(&|$)", self.path) is not None

    @property
    def took_effect(self) -> bool:
        """As far as the proxy knows: the server agreed, whatever the client learned of it."""
        return any(answer.ok for answer in self.answers)

    def __str__(self) -> str:
        statuses = "+".join(str(answer.status) for answer in self.answers) or "not forwarded"
        got = "nothing" if self.returned is None else self.returned
        fault = f", {self.fault.value}" if self.fault is not None else ""
        took = f" after {self.ended_at - self.at:.3f} s" if self.ended_at else ""
        return f"{self.at:.3f} {self.who} {self.method} {self.path}: {statuses}, got {got}{took}{fault}"


class BindingRequest(NamedTuple):
    """A binding that somebody asked for."""

    exchange: Exchange
    uid: str
    pod: str  # namespace/name
    node: str


class Deletion(NamedTuple):
    """A pod that somebody asked to delete."""

    exchange: Exchange
    uid: str  # of the precondition; empty without one
    pod: str


class Log:
    """All exchanges, of all clients, in the order in which they were asked."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def of(self, method: str, part: str = "") -> list[Exchange]:
        return [each for each in self.exchanges if each.method == method and part in each.path]

    def bindings(self) -> Iterator[BindingRequest]:
        for exchange in self.of("POST", "/binding"):
            if found := _BINDING.search(exchange.path):
                document = exchange.document
                uid, node = document["metadata"]["uid"], document["target"]["name"]
                yield BindingRequest(exchange, uid, "/".join(found.groups()), node)

    def deletions(self) -> Iterator[Deletion]:
        for exchange in self.of("DELETE"):
            if found := _POD.search(exchange.path):
                options = exchange.document if exchange.body else {}
                uid = (options.get("preconditions") or {}).get("uid", "")
                yield Deletion(exchange, uid, "/".join(found.groups()))

    def lease_writes(self) -> list[Exchange]:
        return [each for each in self.exchanges if each.method in ("POST", "PUT") and _LEASE.search(each.path)]

    def preemptors(self) -> dict[str, set[str]]:
        """By a victim's uid: the uids of the pods for whose sake events say that it was evicted."""
        found: dict[str, set[str]] = {}
        for exchange in self.of("POST", "/events"):
            event = exchange.document
            said = re.match(r"Preempted by pod (\S+) on node", event.get("note", ""))
            if said:
                found.setdefault(event["regarding"]["uid"], set()).add(said[1])
        return found

    def faults(self) -> dict[str, int]:
        """How often what went wrong."""
        counted: dict[str, int] = {}
        for exchange in self.exchanges:
            if exchange.fault is not None:
                counted[exchange.fault.value] = counted.get(exchange.fault.value, 0) + 1
        return counted
