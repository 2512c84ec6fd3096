"""A server that does what a script says with each of its connections, byte for byte, in the test's own event loop.

A script is a coroutine over one connection. The first connection gets the first script, and so on; the last script is
for all that follow.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Script = Callable[["ServedConnection"], Awaitable[None]]


@dataclass
class Asked:
    """A request as it came."""

    method: str
    target: str
    headers: dict[str, str]  # names in lower case; of a repeated one all values, with commas
    body: bytes


@dataclass
class ServedConnection:
    """One connection, from the server's side."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: ScriptedServer
    number: int  # of the connection, from 0

    async def request(self) -> Asked | None:
        """The next request; None when the client has closed."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode().rstrip().split("\r\n")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(": ")
            headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = first.split(" ")
        asked = Asked(method, target, headers, body)
        self.server.asked.append(asked)
        self.server.asked_on.append(self.number)
        return asked

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def ended(self) -> None:
        """Waits until the client closes."""
        with suppress(ConnectionError):
            while await self.reader.read(1024):
                pass

    def reset(self) -> None:
        """Ends the connection with a reset instead of an orderly end."""
        plain = self.writer.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass
class ScriptedServer:
    """What has been asked so far, and where the server is."""

    port: int = 0
    scheme: str = "http"
    connections: int = 0
    asked: list[Asked] = field(default_factory=list)
    asked_on: list[int] = field(default_factory=list)  # the number of the connection of each

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(*scripts: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedServer]:
    """A server on a free port of this machine, while the block runs."""
    state = ScriptedServer(scheme="http" if tls is None else "https")
    running: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = state.connections
        state.connections += 1
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await scripts[min(number, len(scripts) - 1)](ServedConnection(reader, writer, state, number))
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            running.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def reply(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """A whole response with a length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(*chunks: bytes, is_complete: bool = True) -> bytes:
    """A response in chunks, with or without its end."""
    parts = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(parts) + b"0\r\n\r\n" * is_complete


async def always_ok(connection: ServedConnection) -> None:
    """Answers every request."""
    while await connection.request():
        connection.send(reply())
