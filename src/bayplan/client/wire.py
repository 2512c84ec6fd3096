"""One connection to a server: bytes of a request out, its response in, one at a time.

A response is gathered whole, or its head is given first and its body goes to a `Sink` as it comes. Knows nothing of
methods, addresses or retries; a connection that breaks fails what waits on it with `BrokenExchange`.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from functools import lru_cache
from socket import MSG_DONTWAIT, MSG_PEEK, socket
from typing import Protocol

import httptools

from bayplan.client.contract import Response
from bayplan.client.go_errors import NO_BODY_IN_TIME, NO_HEADERS_IN_TIME, connection_broken, host_and_port

_PEEK = int(MSG_PEEK | MSG_DONTWAIT)
_GZIP_WINDOW = 31  # of zlib: with a gzip header
_BODYLESS = frozenset({204, 304})


@lru_cache(maxsize=64)
def _lowered(name: bytes) -> str:
    """A header's name; a server uses the same ones over and over."""
    return name.decode("latin-1").lower()


class BrokenExchange(Exception):  # noqa: N818 - what happened to the exchange; callers turn it into an error of the contract
    """There is no (whole) response; the text is Go's reason."""

    def __init__(self, cause: str, *, is_unanswered: bool = False) -> None:
        super().__init__(cause)
        self.is_unanswered = is_unanswered  # the connection ended before a byte of the answer came


class Sink(Protocol):
    """Takes a body as it comes."""

    def feed(self, data: bytes) -> None: ...
    def finish(self, error: BrokenExchange | None) -> None: ...


class Wire(asyncio.Protocol):
    """A connection."""

    def __init__(self, on_lost: Callable[[Wire], None]) -> None:
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._socket: socket | None = None
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Response] | None = None
        self._sink: Sink | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._is_head_complete = False
        self._has_begun = False
        self._expanding: zlib._Decompress | None = None
        self.is_open = False
        self.is_lost = asyncio.Event()
        self.has_served = False  # an exchange before this one
        self.idle_since = 0.0

    # What the owner calls.

    def watch_socket(self, plain: socket) -> None:
        """The socket below, for `is_silent`."""
        self._socket = plain

    def is_silent(self) -> bool:
        """Whether the server has neither closed this idle connection nor sent anything that nobody asked for."""
        if self._socket is None or self._socket.fileno() < 0:
            return False
        try:
            self._socket.recv(1, _PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def send(self, data: bytes, sink: Sink | None = None) -> asyncio.Future[Response]:
        """Sends a request; gives its response, or only its head if there is a sink for the body."""
        assert self._transport is not None
        self._sink = sink
        self._has_begun = False
        self._forget_message()
        self._answer = self._loop.create_future()
        self._transport.write(data)
        return self._answer

    def expire(self) -> None:
        """The answer is too late."""
        self._break(NO_BODY_IN_TIME if self._is_head_complete else NO_HEADERS_IN_TIME)

    def abort(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Ends an idle connection politely."""
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody asked
            self.abort()
            return
        self._has_begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._break(f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self.is_lost.set()
        if self._answer is not None:
            if exc is None and self._ends_with_connection():
                self.on_message_complete()
            else:
                cause = connection_broken(exc, self._has_begun, self._ends())
                self._fail(BrokenExchange(cause, is_unanswered=not self._has_begun))
        self._transport = self._socket = None
        self._on_lost(self)

    # Called by the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[_lowered(name)] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return
        self._is_head_complete = True
        if self._headers.get("content-encoding") == "gzip":
            self._expanding = zlib.decompressobj(_GZIP_WINDOW)
        if self._sink is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(Response(status, b"", self._headers))

    def on_body(self, body: bytes) -> None:
        if self._expanding is not None:
            try:
                body = self._expanding.decompress(body)
            except zlib.error as error:
                self._break(f"gzip: {error}")
                return
        if self._sink is not None:
            self._sink.feed(body)
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if not self._is_head_complete:  # 100 Continue and the like: the response is yet to come
            self._forget_message()
            return
        answer, sink, self._answer, self._sink = self._answer, self._sink, None, None
        self.has_served = True
        self.is_open = self.is_open and self._parser.should_keep_alive()
        if sink is not None:
            sink.finish(None)
        elif answer is not None and not answer.done():
            body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            answer.set_result(Response(self._parser.get_status_code(), body, self._headers))

    def _forget_message(self) -> None:
        self._headers = {}
        self._body = []
        self._is_head_complete = False
        self._expanding = None

    def _ends_with_connection(self) -> bool:
        """Whether the response said nothing about the length of its body, which then is all that comes."""
        return (
            self._is_head_complete
            and "content-length" not in self._headers
            and "transfer-encoding" not in self._headers
            and self._parser.get_status_code() not in _BODYLESS
        )

    def _ends(self) -> str:
        """Both ends of the connection, as Go's messages have them."""
        assert self._transport is not None
        own, peer = (self._transport.get_extra_info(name) for name in ("sockname", "peername"))
        return f" tcp {host_and_port(*own[:2])}->{host_and_port(*peer[:2])}" if own and peer else ""

    def _break(self, cause: str) -> None:
        """Ends the connection, as nobody knows what else will come on it."""
        self._fail(BrokenExchange(cause))
        self.abort()

    def _fail(self, error: BrokenExchange) -> None:
        answer, sink, self._answer, self._sink = self._answer, self._sink, None, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
        elif sink is not None:
            sink.finish(error)
