"""Leader election in virtual time: a server that keeps one Lease, connections that fail, and clocks that drift."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from bayplan.client.contract import LostError, NotSentError, Response, Stream
from bayplan.model.media_types import JSON

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = f"{LEASES}/kube-scheduler"
EVENTS = "/api/v1/namespaces/kube-system/events"
#: 2026-11-16T00:00:00Z, when every virtual clock starts.
EPOCH_NS = 1_794_787_200 * 10**9

Document = dict[str, Any]


def virtual_now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class DriftingClock:
    """A clock that runs `rate` times as fast as the world. Who sleeps into a span of `stuck` wakes at its end."""

    rate: float = 1.0
    offset: float = 0.0
    stuck: tuple[tuple[float, float], ...] = ()

    def monotonic(self) -> float:
        return self.offset + self.rate * virtual_now()

    def wall_ns(self) -> int:
        return EPOCH_NS + round(self.monotonic() * 1e9)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.rate)
        for start, end in self.stuck:
            if start <= virtual_now() < end:
                await asyncio.sleep(end - virtual_now())


@dataclass
class Asked:
    at: float
    who: str
    method: str
    path: str
    query: str
    agent: str
    body: Any

    @property
    def line(self) -> str:
        return f"{self.at:.1f} {self.method} {self.path.rpartition('/')[2]}"


class LeaseServer:
    """Keeps one Lease and says who asked what."""

    def __init__(self) -> None:
        self.lease: Document | None = None
        self.version = 100
        self.asked: list[Asked] = []

    def answer(self, method: str, path: str, body: Any) -> Response:
        if path == EVENTS:
            return _response(201, body)
        if method == "POST":
            if self.lease is not None:
                return _refusal(409, 'leases.coordination.k8s.io "kube-scheduler" already exists')
            metadata = {**body["metadata"], "uid": "a-uid", "creationTimestamp": "2026-11-16T00:00:00Z"}
            return self._store({**body, "metadata": metadata}, 201)
        if self.lease is None:
            return _refusal(404, 'leases.coordination.k8s.io "kube-scheduler" not found')
        if method == "GET":
            return _response(200, self.lease)
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return _refusal(409, "the object has been modified")
        return self._store(body, 200)

    def _store(self, lease: Document, status: int) -> Response:
        self.version += 1
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": str(self.version)}}
        return _response(status, self.lease)

    @property
    def holder(self) -> str:
        holder: str = self.lease["spec"]["holderIdentity"] if self.lease is not None else ""
        return holder


def _response(status: int, document: Any) -> Response:
    return Response(status, json.dumps(document).encode(), {})


def _refusal(status: int, message: str) -> Response:
    return _response(status, {"kind": "Status", "status": "Failure", "message": message, "code": status})


@dataclass(frozen=True)
class Fate:
    """What happens to a request: it takes its time, is refused, or is lost on the way there or back."""

    there_s: float = 0.001
    back_s: float = 0.001
    status: int = 0
    unsent: bool = False
    lost_there: bool = False
    lost_back: bool = False


@dataclass
class Link:
    """A candidate's connection to the server. Lease requests meet the fate that `fate` gives for now."""

    server: LeaseServer
    who: str = "A"
    fate: Callable[[str], Fate] = field(default=lambda method: Fate())
    rate: float = 1.0

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        timeout_s: float | None = None,
        agent: str = "scheduler",
    ) -> Response:
        path, _, query = path.partition("?")
        document = json.loads(body) if body else None
        self.server.asked.append(Asked(virtual_now(), self.who, method, path, query, agent, document))
        fate = self.fate(method) if path.startswith(LEASES) else Fate()
        if fate.unsent:
            raise NotSentError("connect: connection refused")
        exchange = asyncio.ensure_future(self._exchange(fate, method, path, document))
        limit_s = None if timeout_s is None else timeout_s / self.rate
        done, _ = await asyncio.wait({exchange}, timeout=limit_s)  # what was sent goes on without us
        if not done:
            raise LostError("context deadline exceeded")
        return exchange.result()

    async def _exchange(self, fate: Fate, method: str, path: str, document: Any) -> Response:
        await asyncio.sleep(fate.there_s)
        if fate.lost_there:
            raise LostError("EOF")
        response = _refusal(fate.status, "injected") if fate.status else self.server.answer(method, path, document)
        await asyncio.sleep(fate.back_s)
        if fate.lost_back:
            raise LostError("EOF")
        return response

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError("election watches nothing")
