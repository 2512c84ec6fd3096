"""The secure port: pages over HTTPS for those who may see them.

An ASGI application in front of the pages, and the server around it, which runs on the event loop of the scheduler. What
a page costs is taken from the scheduler's time, which is why only the health pages are for everybody.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio import FIRST_COMPLETED
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from bayplan.apiserver.http.connections import PEER_CERTIFICATE
from bayplan.apiserver.http.requests import Answer, error_answer
from bayplan.apiserver.http.sending import NOT_CACHED, Receive, Scope, Send, send_answer
from bayplan.apiserver.http.server import Server
from bayplan.client.loggers import structlog
from bayplan.serving.access import AccessControl
from bayplan.serving.authentication_lookup import AuthenticationLookup
from bayplan.serving.encryption import Encryption
from bayplan.serving.health import text_answer
from bayplan.serving.pages import Page, PageRequest
from bayplan.store.errors import ApiError

#: How often certificate files are looked at.
_REFRESH_S: Final = 60.0
_NOT_FOUND: Final = text_answer("404 page not found\n", status=404)
_NO_SUCH_METHOD: Final = text_answer("Method Not Allowed\n", status=405)
_FAILED: Final = text_answer("Internal Server Error\n", status=500)

_log = structlog.get_logger("serving")


class Pages:
    """The application: lets a request in or not, and shows the page it asks for."""

    def __init__(self, access: AccessControl, pages: Mapping[str, Page]) -> None:
        self._access = access
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        try:
            answer = await self._answer(scope)
        except ApiError as error:
            answer = error_answer(error)
        except Exception as error:  # a broken page must not end the scheduler
            _log.error("Page failed", path=scope["path"], err=repr(error))
            answer = _FAILED
        await send_answer(answer._replace(headers=(NOT_CACHED, *answer.headers)), scope["method"], send)

    async def _answer(self, scope: Scope) -> Answer:
        method, path = scope["method"], scope["path"]
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        certificate = (scope.get("extensions") or {}).get(PEER_CERTIFICATE)
        await self._access.admit(method.lower(), path, headers, certificate)
        page = self._pages.get(path.rstrip("/") or "/")
        if page is None:
            return _NOT_FOUND
        if method not in ("GET", "HEAD"):
            return _NO_SUCH_METHOD
        query = parse_qs(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)
        return await page(PageRequest(query, dict(headers).get("accept", "")))


class SecurePort:
    """Serves pages on a socket until it is canceled; `lookup` goes on finding out whose certificates count."""

    def __init__(
        self,
        pages: Pages,
        listening: socket.socket,
        encryption: Encryption,
        lookup: AuthenticationLookup | None = None,
    ) -> None:
        self._encryption = encryption
        self._lookup = lookup
        self._address = "{}:{}".format(*listening.getsockname()[:2])
        self._server = Server(pages, listening, encryption.context)

    async def run(self) -> None:
        serving = asyncio.ensure_future(self._server.serve())
        looking = [] if self._lookup is None else [asyncio.ensure_future(self._lookup.run())]
        try:
            await self._server.started()
            _log.info(f"Serving securely on {self._address}")
            while not serving.done():
                ended, _ = await asyncio.wait({serving, *looking}, timeout=_REFRESH_S, return_when=FIRST_COMPLETED)
                for one in ended:
                    one.result()
                self._encryption.refresh()
        finally:
            self._server.stop()
            for one in looking:
                one.cancel()
            await asyncio.gather(serving, *looking, return_exceptions=True)
