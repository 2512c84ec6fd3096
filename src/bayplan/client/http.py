"""Requests to one API server over HTTP/1.1, on connections that are kept; implements `ApiClient`.

Takes a `Connection`. Heads are rendered once for each kind of request, and go out with the body in one write. A request
that the server dropped unanswered is asked again only if that is safe. No limit on the rate, no retries of refusals.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Final

from bayplan.client.connection import Connection, Credential, CredentialsFailed
from bayplan.client.contract import LostError, NotSentError, Response, Stream
from bayplan.client.dialing import Dialer, DialFailed
from bayplan.client.go_errors import NO_HEADERS_IN_TIME, request_failed
from bayplan.client.pool import ConnectionPool
from bayplan.client.streams import HttpStream
from bayplan.client.wire import BrokenExchange, Wire
from bayplan.model.media_types import JSON

_UNAUTHORIZED: Final = 401
_CONNECTIONS_MAX: Final = 64
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}  # as Go names them
_DEFAULT_AGENT: Final = "scheduler"
_WITHOUT_BODY: Final = frozenset({"GET", "DELETE"})


class HttpClient:
    """Asks one API server."""

    def __init__(self, connection: Connection, *, connections_max: int = _CONNECTIONS_MAX) -> None:
        self._connection = connection
        self._credentials = connection.credentials
        self._dialer = Dialer(connection)
        self._pool = ConnectionPool(self._dialer.dial, connections_max)
        self._heads = _Heads(connection, self._dialer.absolute_form)
        self._streams: set[HttpStream] = set()

    @property
    def host(self) -> str:
        """The server, as metrics name it."""
        return self._connection.address.authority

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        timeout_s: float | None = None,
        agent: str = _DEFAULT_AGENT,
    ) -> Response:
        deadline = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        if time.monotonic() >= self._credentials.fresh_until:
            await self._renew_credentials(method, path, deadline)
        used = self._credentials.current
        data = self._heads.request(method, path, body, content_type, agent)
        response = await self._exchange(method, path, data, deadline)
        if response.status != _UNAUTHORIZED or not await self._has_other_credentials(used, deadline):
            return response
        data = self._heads.request(method, path, body, content_type, agent)
        return await self._exchange(method, path, data, deadline)

    @asynccontextmanager
    async def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AsyncIterator[Stream]:
        stream = await self._open(path, idle_timeout_s)
        self._streams.add(stream)
        try:
            yield stream
        finally:
            self._streams.discard(stream)
            stream.close()

    async def close(self) -> None:
        """Ends every connection; requests and streams under way fail."""
        for stream in list(self._streams):
            stream.close()
        await self._pool.close()

    async def _renew_credentials(self, method: str, path: str, deadline: float | None = None) -> None:
        before = self._credentials.current.certificate
        try:
            async with asyncio.timeout_at(deadline):
                await self._credentials.renew()
        except CredentialsFailed as error:
            raise NotSentError(*self._failed(method, path, f"getting credentials: {error}")) from None
        except TimeoutError:
            raise NotSentError(*self._failed(method, path, NO_HEADERS_IN_TIME)) from None
        if self._credentials.current.certificate != before:
            self._pool.close_idle()

    async def _has_other_credentials(self, used: Credential, deadline: float | None = None) -> bool:
        """After a 401."""
        try:
            async with asyncio.timeout_at(deadline):
                has_other = await self._credentials.rejected(used)
        except (CredentialsFailed, TimeoutError):
            return False  # the refusal says enough
        if has_other and self._credentials.current.certificate != used.certificate:
            self._pool.close_idle()
        return has_other

    async def _exchange(self, method: str, path: str, data: bytes, deadline: float | None) -> Response:
        wire = self._pool.take() or await self._wait(method, path, deadline)
        try:
            return await self._ask(wire, data, deadline)
        except BrokenExchange as broken:
            if method != "GET" or not (wire.has_served and broken.is_unanswered):
                raise LostError(*self._failed(method, path, str(broken))) from None
        # The server closed an idle connection while a question was on its way to it that may be asked twice.
        self._pool.close_idle()
        wire = await self._wait(method, path, deadline)
        try:
            return await self._ask(wire, data, deadline)
        except BrokenExchange as broken:
            raise LostError(*self._failed(method, path, str(broken))) from None

    async def _wait(self, method: str, path: str, deadline: float | None) -> Wire:
        try:
            if deadline is None:
                return await self._pool.wait()
            async with asyncio.timeout_at(deadline):
                return await self._pool.wait()
        except DialFailed as error:
            raise NotSentError(*self._failed(method, path, str(error))) from None
        except TimeoutError:
            raise NotSentError(*self._failed(method, path, NO_HEADERS_IN_TIME)) from None

    async def _ask(self, wire: Wire, data: bytes, deadline: float | None) -> Response:
        answer = wire.send(data)
        timer = None
        if deadline is not None:
            timer = asyncio.get_running_loop().call_at(deadline, wire.expire)
        try:
            return await answer
        except asyncio.CancelledError:
            wire.abort()
            raise
        finally:
            if timer is not None:
                timer.cancel()
            self._pool.give(wire)

    def _failed(self, method: str, path: str, cause: str) -> tuple[str, str]:
        """The whole message, and the cause."""
        return request_failed(method, self._connection.address.shown + path, cause), cause

    async def _open(self, path: str, idle_timeout_s: float | None) -> HttpStream:
        """A stream whose head has come."""
        if time.monotonic() >= self._credentials.fresh_until:
            await self._renew_credentials("GET", path)
        used = self._credentials.current
        stream = await self._begin(path, idle_timeout_s)
        if stream.status == _UNAUTHORIZED and await self._has_other_credentials(used):
            stream.close()
            stream = await self._begin(path, idle_timeout_s)
        return stream

    async def _begin(self, path: str, idle_timeout_s: float | None) -> HttpStream:
        try:
            wire = await self._dialer.dial(_ignore)
        except DialFailed as error:
            raise NotSentError(*self._failed("GET", path, str(error))) from None
        stream = HttpStream(wire, idle_timeout_s, partial(self._failed, "GET", path))
        try:
            head = await wire.send(self._heads.request("GET", path, b"", JSON, _DEFAULT_AGENT), stream)
        except BaseException as error:
            stream.close()
            if isinstance(error, BrokenExchange):
                raise LostError(*self._failed("GET", path, str(error))) from None
            raise
        stream.status = head.status
        return stream


def _ignore(wire: Wire) -> None:
    """A stream's connection belongs to no pool."""


class _Heads:
    """Requests as bytes: all of a head but its first line and the length is rendered once for each kind of request."""

    def __init__(self, connection: Connection, absolute_form: str) -> None:
        self._connection = connection
        self._target_prefix = absolute_form + connection.address.prefix
        self._authorization = ""
        self._tails: dict[tuple[str, str], bytes] = {}

    def request(self, method: str, path: str, body: bytes, content_type: str, agent: str) -> bytes:
        authorization = self._connection.credentials.current.authorization
        if authorization != self._authorization:
            self._authorization = authorization
            self._tails.clear()
        key = (content_type if body else "", agent)
        tail = self._tails.get(key)
        if tail is None:
            tail = self._tails[key] = self._tail(*key)
        first = f"{method} {self._target_prefix}{path} HTTP/1.1\r\n".encode()
        if body:
            return b"%b%bContent-Length: %d\r\n\r\n%b" % (first, tail, len(body), body)
        return b"%b%b%b\r\n" % (first, tail, b"" if method in _WITHOUT_BODY else b"Content-Length: 0\r\n")

    def _tail(self, content_type: str, agent: str) -> bytes:
        address, proxy = self._connection.address, self._connection.proxy
        is_for_proxy = self._target_prefix.startswith(address.scheme)
        fields = [
            ("Host", address.authority),
            ("User-Agent", f"{_product()}/{agent}"),
            ("Accept", JSON),
            ("Content-Type", content_type),
            ("Authorization", self._authorization or address.basic_authorization),
            ("Proxy-Authorization", proxy.basic_authorization if proxy is not None and is_for_proxy else ""),
            *self._connection.headers,
        ]
        return "".join(f"{name}: {value}\r\n" for name, value in fields if value).encode()


def _product() -> str:
    machine = platform.machine()
    return f"bayplan/{version('bayplan')} ({platform.system().lower()}/{_MACHINES.get(machine, machine)})"
