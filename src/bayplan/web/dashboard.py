"""The dashboard in front of the API: an ASGI application that answers for the page and passes on all else.

`/` is the page for browsers; whoever asks it for JSON gets the API's paths as before. The page's own files are for
everybody, since they say nothing about the cluster; the feed and the explanations need the token.
"""

from __future__ import annotations

import asyncio
import time
from importlib import resources
from typing import Any, Final

from bayplan.analysis.cluster import ConfigSource
from bayplan.apiserver.http.application import Application, Receive, Scope, Send, error_answer
from bayplan.apiserver.http.requests import Answer, query_of, segments_of
from bayplan.apiserver.storage.entries import encode_json
from bayplan.config.feature_gates import GateSettings
from bayplan.store.errors import ApiError, MethodNotAllowed, NotFound, Unauthorized
from bayplan.web.explaining import Explainer
from bayplan.web.feed import Feed
from bayplan.worlds.hosting import HostedCluster

FOLDER: Final = "dashboard"
_PAGE: Final = "index.html"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: The page runs its own modules and talks to its own server, and nothing else.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-cache"),
)


def page_files() -> dict[str, Answer]:
    """Every file of the page by its name. Only these are served, whatever a path says."""
    found = {}
    for file in (resources.files("bayplan.web") / "static").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        found[file.name] = Answer(200, file.read_bytes(), _TYPES[suffix], _HEADERS)
    return found


class Dashboard:
    """The page, its feed and its explanations, in front of an application."""

    def __init__(self, application: Application, feed: Feed, explainer: Explainer) -> None:
        self._application = application
        self._feed = feed
        self._explainer = explainer
        self._files = page_files()

    @classmethod
    def of(cls, cluster: HostedCluster, config: ConfigSource = None, feature_gates: GateSettings = None) -> Dashboard:
        """For a cluster whose scheduler has this configuration."""
        scheduler = cluster.scheduler
        feed = Feed(cluster.registry, tuple if scheduler is None else scheduler.queue.queued_pods, time.time_ns)
        return cls(cluster.application, feed, Explainer(cluster.storage, config, feature_gates))

    def close(self) -> None:
        """Ends whatever would keep the server from stopping."""
        self._feed.close()
        self._application.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        raw_path = scope.get("raw_path") or scope["path"].encode()
        segments = segments_of(raw_path.partition(b"?")[0])
        if not segments and "text/html" in headers.get("accept", "") and scope["method"] in ("GET", "HEAD"):
            await _send(self._files[_PAGE], scope["method"], send)
        elif segments[:1] == (FOLDER,):
            try:
                await self._own(segments[1:], scope, headers, receive, send)
            except ApiError as error:
                await _send(error_answer(error), scope["method"], send)
        else:
            await self._application(scope, receive, send)

    async def _own(
        self, segments: tuple[str, ...], scope: Scope, headers: dict[str, str], receive: Receive, send: Send
    ) -> None:
        method = scope["method"]
        if method not in ("GET", "HEAD"):
            raise MethodNotAllowed
        if len(segments) == 1 and segments[0] in self._files:
            await _send(self._files[segments[0]], method, send)
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not self._application.is_token(given.strip()):
            raise Unauthorized("Unauthorized")
        if segments == ("events",) and method == "GET":
            await self._stream(receive, send)
        elif len(segments) == 3 and segments[0] == "explain":
            when = query_of(scope["query_string"]).get("when", "")
            answer = await self._explainer.explain(segments[1], segments[2], when)
            await _send(Answer(200, encode_json(answer)), method, send)
        else:
            raise NotFound.no_resource()

    async def _stream(self, receive: Receive, send: Send) -> None:
        await send(_start(200, "text/event-stream", (("cache-control", "no-store"), ("x-accel-buffering", "no"))))
        sending = asyncio.ensure_future(_send_all(self._feed, send))
        leaving = asyncio.ensure_future(_left(receive))
        _, unfinished = await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


def _start(status: int, content_type: str, headers: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in (("content-type", content_type), *headers)]
    return {"type": "http.response.start", "status": status, "headers": encoded}


async def _send(answer: Answer, method: str, send: Send) -> None:
    length = ("content-length", str(len(answer.body)))
    await send(_start(answer.status, answer.content_type, (*answer.headers, length)))
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})


async def _send_all(feed: Feed, send: Send) -> None:
    messages = feed.messages()
    try:
        async for message in messages:
            await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        await messages.aclose()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
