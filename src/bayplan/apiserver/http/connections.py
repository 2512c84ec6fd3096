"""One client's connection: uvicorn's, with an end for clients that never finish asking or never take their answer.

Head and body of an answer are sent together, which halves the calls to the system.

A request whose head does not come within a while, or is too long, ends the connection; so does a body that stops
coming, see `application`. The application finds in a request's scope how to end its connection at once.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Under this name a scope has a function that ends the connection without sending what is left.
ABORT: Final = "bayplan.abort"
#: Under this one it has the client's certificate as DER, if the client gave one and it was verified.
PEER_CERTIFICATE: Final = "bayplan.peer_certificate"
HEAD_SECONDS: Final = 30.0
HEAD_MAX: Final = 1024 * 1024
_TOO_LONG: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 35\r\nconnection: close\r\n\r\n431 Request Header Fields Too Large"
)


class _Gathering:
    """A transport that sends together what is written in one turn of the event loop, such as head and body."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)

    def _flush(self) -> None:
        if self._pieces and not self._transport.is_closing():
            self._transport.write(b"".join(self._pieces))
        self._pieces.clear()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def _socket_transport(transport: Any) -> Any:
    """The transport itself, or the one below its encryption, as far as asyncio lets one see."""
    encryption = getattr(transport, "_ssl_protocol", None)
    return transport if encryption is None else getattr(encryption, "_transport", None)


class HttpConnection(HttpToolsProtocol):
    """Reads requests from a socket, and writes their answers to it."""

    _head_length = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._socket_transport = _socket_transport(transport)
        gathering: Any = _Gathering(transport, self.loop)
        self.transport = gathering
        self._head_timer = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_complete()
        super().connection_lost(exc)
        # asyncio's transport refers to itself through this, and only a collection of old objects could free it.
        getattr(self._socket_transport, "__dict__", {}).pop("_read_ready_cb", None)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is not None:
            self._head_length += len(data)
        super().data_received(data)
        if self._head_timer is not None and self._head_length > HEAD_MAX and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        scope: Any = self.scope
        encryption = self.transport.get_extra_info("ssl_object")
        certificate = None if encryption is None else encryption.getpeercert(binary_form=True)
        scope["extensions"] = {ABORT: self.transport.abort, PEER_CERTIFICATE: certificate}
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def on_headers_complete(self) -> None:
        self._head_is_complete()
        super().on_headers_complete()

    def _head_is_complete(self) -> None:
        self._head_length = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
