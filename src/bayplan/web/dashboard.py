"""The dashboard in front of the API: an ASGI application that answers for the page and passes on everything else.

`/` is the page for browsers; whoever asks it for JSON gets the API's paths as before. The page's own files are for
everybody, since they say nothing about the cluster; the feed, the past and the explanations need the token.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from importlib import resources
from typing import Final

from bayplan.apiserver.http.application import Application, path_of, request_of
from bayplan.apiserver.http.requests import Answer, Request, error_answer
from bayplan.apiserver.http.sending import Receive, Scope, Send, send_answer, send_pieces
from bayplan.apiserver.storage.entries import encode_json
from bayplan.config.feature_gates import GateSettings
from bayplan.config.loading import ConfigSource
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.store.errors import ApiError, BadRequest, MethodNotAllowed, NotFound, Unauthorized
from bayplan.web.explaining import Explainer
from bayplan.web.feed import Feed
from bayplan.web.past import StorageHistory
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
_FEED_HEADERS: Final = (("cache-control", "no-store"), ("x-accel-buffering", "no"))


def page_files() -> dict[str, Answer]:
    """Every file of the page by its name. Only these are served, whatever a path says."""
    found = {}
    for file in (resources.files("bayplan.web") / "static").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        found[file.name] = Answer(200, file.read_bytes(), _TYPES[suffix], _HEADERS)
    return found


class Dashboard:
    """The page, its feed and its explanations, in front of an application."""

    def __init__(self, application: Application, feed: Feed, past: StorageHistory, explainer: Explainer) -> None:
        self._application = application
        self._feed = feed
        self._past = past
        self._explainer = explainer
        self._files = page_files()

    @classmethod
    def of(cls, cluster: HostedCluster, config: ConfigSource = None, feature_gates: GateSettings = None) -> Dashboard:
        """For a cluster whose scheduler has this configuration."""
        scheduler = cluster.scheduler

        def queued_pods() -> Iterable[QueuedPod]:  # of a queue that is another one after the scheduler has started over
            return () if scheduler is None else scheduler.queue.queued_pods()

        feed = Feed(cluster.registry, queued_pods, time.time_ns)
        past = StorageHistory(cluster.storage, time.time_ns)
        explainer = Explainer(cluster.storage, config, feature_gates, cluster.kubernetes_version)
        return cls(cluster.application, feed, past, explainer)

    def close(self) -> None:
        """Ends whatever would keep the server from stopping."""
        self._feed.close()
        self._application.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        segments = path_of(scope)
        if not segments:
            request = request_of(scope)
            if "text/html" in request.header("accept") and request.method in ("GET", "HEAD"):
                await send_answer(self._files[_PAGE], request.method, send)
                return
        if segments[:1] == (FOLDER,):
            request = request_of(scope)
            try:
                await self._own(request, receive, send)
            except ApiError as error:
                await send_answer(error_answer(error), request.method, send)
        else:
            await self._application(scope, receive, send)

    async def _own(self, request: Request, receive: Receive, send: Send) -> None:
        method, segments = request.method, request.segments[1:]
        if method not in ("GET", "HEAD"):
            raise MethodNotAllowed
        if len(segments) == 1 and segments[0] in self._files:
            await send_answer(self._files[segments[0]], method, send)
            return
        scheme, _, given = request.header("authorization").partition(" ")
        if scheme != "Bearer" or not self._application.is_token(given.strip()):
            raise Unauthorized("Unauthorized")
        if segments == ("events",) and method == "GET":
            await send_pieces(self._feed.messages(), "text/event-stream", _FEED_HEADERS, receive, send)
        elif segments == ("past",):
            answer = await self._past.until(_version(request.query.get("until", "")))
            await send_answer(Answer(200, encode_json(answer)), method, send)
        elif len(segments) == 3 and segments[0] == "explain":
            when = request.query.get("when", "")
            answer = await self._explainer.explain(segments[1], segments[2], when)
            await send_answer(Answer(200, encode_json(answer)), method, send)
        else:
            raise NotFound.no_resource()


def _version(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise BadRequest(f"{text}: expected a version")
    return int(text)
