"""A dashboard in front of an API server without a socket: requests as ASGI has them, answers as they were sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bayplan.apiserver.http.application import Application
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.storage import Storage
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.web.dashboard import Dashboard
from bayplan.web.explaining import Explainer
from bayplan.web.feed import Feed
from bayplan.web.past import StorageHistory
from bayplan.worlds.bootstrap import bootstrap

TOKEN = "s3cret"
NOW = 1_700_000_000_000_000_000
Document = dict[str, Any]


@dataclass
class Answered:
    """What one request was answered."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A dashboard and what is behind it."""

    registry: Registry = field(default_factory=lambda: Registry(Storage(), Catalogue()))
    queued: list[QueuedPod] = field(default_factory=list)
    now: int = NOW

    def __post_init__(self) -> None:
        bootstrap(self.registry, "127.0.0.1", 6443, NOW)
        self.application = Application(self.registry, TOKEN, lambda: NOW, "127.0.0.1:1", release=DEFAULT_RELEASE)
        self.feed = Feed(self.registry, lambda: self.queued, lambda: NOW)
        self.past = StorageHistory(self.registry.storage, lambda: self.now)
        self.dashboard = Dashboard(self.application, self.feed, self.past, Explainer(self.registry.storage))

    def get(self, path: str, accept: str = "*/*", token: str | None = TOKEN, method: str = "GET") -> Answered:
        return asyncio.run(self._ask(path, accept, token, method))

    async def _ask(self, path: str, accept: str, token: str | None, method: str) -> Answered:
        answered = Answered()

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": b""}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answered.status = message["status"]
                answered.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answered.body += message["body"]

        await self.dashboard(_scope(path, accept, token, method), receive, send)
        return answered

    def create(self, document: Document) -> None:
        resource = self.registry.catalogue.of_kind(document["apiVersion"], document["kind"])
        assert resource is not None
        namespace = "default" if resource.namespaced else ""
        self.registry.create(resource, namespace, document, WriteOptions("test"), NOW)

    def delete(self, resource: str, name: str) -> None:
        storage = self.registry.storage
        entry = storage.find(resource, "default", name)
        assert entry is not None
        storage.remove(resource, entry)

    def change(self, kind: str, name: str, document: Document, subresource: str = "") -> None:
        """Lays fields of spec or status over an object."""
        resource = self.registry.catalogue.of_kind("v1", kind)
        assert resource is not None

        def changed(stored: Document) -> Document:
            merged = {part: {**stored.get(part, {}), **fields} for part, fields in document.items()}
            return {**stored, **merged}

        namespace, options = "default" if resource.namespaced else "", WriteOptions("test", trusted=True)
        self.registry.update(resource, namespace, name, changed, options, NOW, subresource=subresource)


def _scope(path: str, accept: str, token: str | None, method: str) -> dict[str, Any]:
    headers = [(b"accept", accept.encode())]
    if token is not None:
        headers.append((b"authorization", f"Bearer {token}".encode()))
    raw, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": headers,
    }


@asynccontextmanager
async def open_page(feed: Feed) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
    """The messages of a feed as one page sees them."""
    stream = feed.messages()

    async def messages() -> AsyncIterator[tuple[str, Any]]:
        async for piece in stream:
            for message in piece.decode().split("\n\n"):
                if message.startswith("event: "):
                    event, _, data = message.split("\n")
                    yield event.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    try:
        yield messages()
    finally:
        await stream.aclose()


def node(name: str, cpu: str = "4", zone: str = "zone-a") -> Document:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, cpu: str = "500m", **spec: Any) -> Document:
    container = {"name": "main", "image": "image", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def served(documents: Iterable[Document] = ()) -> Served:
    made = Served()
    for document in documents:
        made.create(document)
    return made
