"""A scripted HTTP server for tests of clients, in the test's own event loop.

Takes what to answer, as a function of the request or as a list in the order of the requests; keeps every request it
received. A reply may be late, cut, half-closed, or never come; a watch says what the test has it say, when the test
wants. It judges no request: a test looks at `received`.

    async with ScriptedServer([Reply(500), Reply.of({"kind": "Pod"})]) as server:
        client = connect_to(server.url)
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from ssl import SSLContext
from typing import Any, Protocol, Self

_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str  # with its query
    headers: dict[str, str]  # names in lower case
    body: bytes
    connection: int  # connections count from 0, in the order in which they were accepted
    at: float  # time of the event loop

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Answer(Protocol):
    """Something a server can do with a request."""

    async def send(self, to: asyncio.StreamWriter) -> bool:
        """Returns whether the connection serves further requests."""
        ...


@dataclass(frozen=True)
class Reply:
    """A whole answer, after a while if wanted."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    closes: bool = False  # with `Connection: close`

    @classmethod
    def of(cls, document: Any, status: int = 200, **headers: str) -> Self:
        """A document as JSON; underscores in the names of headers stand for hyphens."""
        return cls(status, json.dumps(document).encode(), {k.replace("_", "-"): v for k, v in headers.items()})

    def rendered(self) -> bytes:
        headers = {**_JSON, **self.headers, "Content-Length": str(len(self.body))}
        if self.closes:
            headers["Connection"] = "close"
        return _head(self.status, headers) + self.body

    async def send(self, to: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(self.delay_s)
        to.write(self.rendered())
        await to.drain()
        return not self.closes


@dataclass(frozen=True)
class Cut:
    """Breaks the connection (a reset, not an orderly end): after so many bytes of a reply, or before any."""

    reply: Reply = field(default_factory=Reply)
    after: int = 0  # bytes, the head included; below 0: that many are missing at the end

    async def send(self, to: asyncio.StreamWriter) -> bool:
        to.write(self.reply.rendered()[: self.after])
        await to.drain()
        await asyncio.sleep(0.01)  # what was written is to arrive, and a reset may overtake it
        reset(to)
        return False


@dataclass(frozen=True)
class HalfClose:
    """Ends its own direction in order, before or within a reply, and goes on listening."""

    reply: Reply = field(default_factory=Reply)
    after: int = 0

    async def send(self, to: asyncio.StreamWriter) -> bool:
        to.write(self.reply.rendered()[: self.after])
        to.write_eof()
        return True


@dataclass(frozen=True)
class Stall:
    """Says nothing more: not a byte, or not what follows the first bytes of a reply."""

    reply: Reply = field(default_factory=Reply)
    after: int = 0

    async def send(self, to: asyncio.StreamWriter) -> bool:
        to.write(self.reply.rendered()[: self.after])
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")


class Watch:
    """A chunked answer of lines that a test writes when it wants: `send`, then `end`, `cut` or `half_close`."""

    def __init__(self, *events: Any, status: int = 200) -> None:
        self._status = status
        self._steps: asyncio.Queue[Callable[[asyncio.StreamWriter], bool]] = asyncio.Queue()
        self.opened = asyncio.Event()
        for event in events:
            self.send_line(event)

    def send_line(self, event: Any) -> None:
        """One event, as JSON and a line break, in a chunk of its own."""
        self.send_bytes(json.dumps(event).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """A chunk: a part of a line, or several lines."""
        self._then(lambda to: to.write(b"%x\r\n%b\r\n" % (len(data), data)), stays_open=True)

    def end(self) -> None:
        """The stream ends in order, as after its timeoutSeconds; the connection stays."""
        self._then(lambda to: to.write(b"0\r\n\r\n"), stays_open=False)

    def cut(self) -> None:
        self._then(reset, stays_open=False)

    def half_close(self) -> None:
        """The connection's direction to the client ends without the last chunk."""
        self._then(lambda to: to.write_eof(), stays_open=False)

    async def send(self, to: asyncio.StreamWriter) -> bool:
        to.write(_head(self._status, {**_JSON, "Transfer-Encoding": "chunked"}))
        self.opened.set()
        while (await self._steps.get())(to):
            await to.drain()
        return not to.transport.is_closing()

    def _then(self, step: Callable[[asyncio.StreamWriter], None], *, stays_open: bool) -> None:
        def do(to: asyncio.StreamWriter) -> bool:
            step(to)
            return stays_open

        self._steps.put_nowait(do)


def reset(to: asyncio.StreamWriter) -> None:
    """Breaks a connection so that the other side sees a reset, not an end."""
    with suppress(OSError, ValueError, AttributeError):  # it is gone already, which loops say in different ways
        to.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.transport.abort()


Script = Callable[[Received], Answer | Awaitable[Answer]] | Iterable[Answer]


class ScriptedServer:
    """Answers on a free port of the loopback while its block lasts. Requests beyond a list get a 500 that says so."""

    def __init__(self, script: Script, ssl: SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self._answer = script if callable(script) else _one_after_the_other(iter(script))
        self._ssl = ssl
        self._arrived = asyncio.Event()
        self._talking: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, ssl=self._ssl)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._ssl else 'http'}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut_all()
        await asyncio.gather(*self._talking, return_exceptions=True)

    def paths(self, method: str = "") -> list[str]:
        """The paths that were asked, all or those of one method."""
        return [request.path for request in self.received if method in ("", request.method)]

    async def until_received(self, count: int, timeout_s: float = 60.0) -> list[Received]:
        """Waits for so many requests in all."""
        async with asyncio.timeout(timeout_s):
            while len(self.received) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return self.received

    def cut_all(self) -> None:
        """Breaks every connection there is; new ones are welcome."""
        for task, to in self._talking.items():
            reset(to)
            task.cancel()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talking[task] = writer
        connection, self.connections = self.connections, self.connections + 1
        try:
            while await self._serve_one(reader, writer, connection):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the server
        finally:
            del self._talking[task]
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> bool:
        request = await _read_request(reader, connection)
        self.received.append(request)
        self._arrived.set()
        answer = self._answer(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        return await answer.send(writer)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, connection, asyncio.get_running_loop().time())


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _one_after_the_other(answers: Iterator[Answer]) -> Callable[[Received], Answer]:
    return lambda request: next(answers, None) or Reply.of({"message": f"no answer is left for {request.path}"}, 500)
