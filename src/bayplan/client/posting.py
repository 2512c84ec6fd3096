"""JSON posted to one HTTP server, from a thread that waits for the answer.

Takes an address, a time limit and TLS settings; gives status and body. The limit holds for the whole exchange, however
slowly the server sends. Connections are kept and used again. `PostError` says in the words of Go's client what went
wrong, because that is what users of extenders look for. Follows no redirects, uses no proxy, repeats nothing.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from threading import Lock
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import httptools

from bayplan.client.go_errors import (
    NO_BODY_IN_TIME,
    NO_HEADERS_IN_TIME,
    connection_broken,
    dial_failed,
    request_failed,
    tls_failed,
)

CHUNK_BYTES = 1 << 16
OK = 200
POST = "POST"


class PostError(Exception):
    """There is no answer, or it broke off."""


class PostAnswer(NamedTuple):
    status: int
    body: bytes  # empty unless the status is 200


class Poster:
    """Posts to one server. May be used by several threads at once."""

    def __init__(self, url: str, timeout_s: float, tls: ssl.SSLContext | None = None, server_name: str = "") -> None:
        """`url` is any of the server's; `tls` is needed for https. Raises ValueError for a port that is none."""
        parts = urlsplit(url)
        self._scheme, self._host = parts.scheme, parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = tls if parts.scheme == "https" else None
        self._server_name = server_name or self._host
        self._timeout_s = timeout_s
        self._idle: list[socket.socket] = []
        self._lock = Lock()

    def post(self, url: str, body: bytes) -> PostAnswer:
        """Raises PostError."""
        deadline = time.monotonic() + self._timeout_s
        if self._scheme not in ("http", "https"):
            raise PostError(request_failed(POST, url, f'unsupported protocol scheme "{self._scheme}"'))
        if not self._host:
            raise PostError(request_failed(POST, url, "http: no Host in request URL"))
        try:
            connection = self._take() or self._connect(deadline)
        except TimeoutError:
            raise PostError(request_failed(POST, url, NO_HEADERS_IN_TIME)) from None
        except PostError as error:
            raise PostError(request_failed(POST, url, str(error))) from error
        except OSError as error:
            raise PostError(request_failed(POST, url, tls_failed(error, self._server_name))) from error
        exchange = _Exchange(connection, url, deadline)
        try:
            answer = exchange.run(body)
        except BaseException:
            connection.close()
            raise
        if exchange.may_go_on:
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()
        return answer

    def close(self) -> None:
        """Give up the connections that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> socket.socket | None:
        """A connection that the server has not closed meanwhile."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not _has_news(connection):
                return connection
            connection.close()

    def _connect(self, deadline: float) -> socket.socket:
        connection = _dial(self._host, self._port, deadline)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(_time_left(deadline))
            if self._tls is None:
                return connection
            return self._tls.wrap_socket(connection, server_hostname=self._server_name)
        except BaseException:
            connection.close()
            raise


class _Exchange:
    """One request and its answer; the parser calls the methods that begin with `on`."""

    def __init__(self, connection: socket.socket, url: str, deadline: float) -> None:
        self._connection, self._url, self._deadline = connection, url, deadline
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._has_length = False
        self._status = 0  # known when all headers are there
        self._complete = self._keeps_alive = False

    @property
    def may_go_on(self) -> bool:
        """Whether the connection can be used again."""
        return self._complete and self._keeps_alive

    def run(self, body: bytes) -> PostAnswer:
        try:
            self._connection.settimeout(_time_left(self._deadline))
            self._connection.sendall(_head(urlsplit(self._url), len(body)) + body)
            while not self._complete and self._status in (0, OK):
                self._receive()
        except TimeoutError:
            raise PostError(NO_BODY_IN_TIME if self._status else self._posting(NO_HEADERS_IN_TIME)) from None
        except httptools.HttpParserError as error:
            raise PostError(self._posting(f"net/http: HTTP/1.x transport connection broken: {error}")) from error
        except OSError as error:
            raise PostError(self._posting(connection_broken(error, has_begun=False))) from error
        return PostAnswer(self._status, b"".join(self._body) if self._status == OK else b"")

    def _receive(self) -> None:
        self._connection.settimeout(_time_left(self._deadline))
        data = self._connection.recv(CHUNK_BYTES)
        if data:
            self._parser.feed_data(data)
        elif not self._status:
            raise PostError(self._posting(connection_broken(None, has_begun=False)))
        elif self._has_length:
            raise PostError(connection_broken(None, has_begun=True))
        else:
            self._complete = True  # the end of the connection is the end of the body

    def _posting(self, what: str) -> str:
        return request_failed(POST, self._url, what)

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: ARG002
        self._has_length |= name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        self._keeps_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._complete = True


def _time_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _head(url: SplitResult, length: int) -> bytes:
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return (
        f"POST {path} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\nUser-Agent: bayplan\r\n"
        f"Content-Length: {length}\r\nContent-Type: application/json\r\n\r\n"
    ).encode()


def _dial(host: str, port: int, deadline: float) -> socket.socket:
    """A connection to the first of the host's addresses that accepts one. Raises TimeoutError or PostError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise PostError(dial_failed(host, port, socket.gaierror())) from None
    failure = ""
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_time_left(deadline))
            connection.connect(address)
        except BaseException as error:
            connection.close()
            if not isinstance(error, OSError) or isinstance(error, TimeoutError):
                raise
            failure = failure or dial_failed(str(address[0]), port, error)
        else:
            return connection
    raise PostError(failure)


def _has_news(connection: socket.socket) -> bool:
    """Whether there is something to read, which of a connection not in use can only be its end."""
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    return bool(poller.poll(0))
