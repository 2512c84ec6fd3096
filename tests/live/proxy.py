"""A proxy between a client and an API server that knows HTTP/1.1, lets a plan of faults happen, and records it all.

One proxy serves one client, under a name; several may share a log. Within a connection nothing is reordered, and an
answer that is passed on is passed on as it came. `cut_network` takes the client's whole network away. It speaks no
TLS, and understands no more of HTTP than requests and answers with a length or in chunks.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple, Self

from tests.live.faults import Fault, FaultPlan
from tests.live.records import Answer, Exchange, Log
from tests.support.live_server import reset

_HEAD_MAX = 1 << 20
#: A server may close a connection that was idle for longer, just when it is used again.
_IDLE_MAX_S = 1.0
_GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "status": "Failure"}}


class _Cut(Exception):  # noqa: N818 - nothing is wrong: the plan wants it so
    """The client's connection is to be reset."""


class _Message(NamedTuple):
    """A request or an answer."""

    start: str  # its first line
    headers: dict[str, str]  # names in lower case
    head: bytes
    body: bytes  # without the framing of chunks
    raw: bytes  # head and body as they came


class FaultProxy:
    """Listens on a free port of the loopback while its block lasts."""

    def __init__(
        self, upstream_port: int, who: str = "scheduler", plan: FaultPlan | None = None, log: Log | None = None
    ) -> None:
        self.upstream_port = upstream_port
        self.who = who
        self.plan = plan or FaultPlan()
        self.log = log or Log()
        self._is_up = asyncio.Event()
        self._is_up.set()
        self._says_nothing = False
        self._talking: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=_HEAD_MAX)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        talking = dict(self._talking)
        self._cut_all()
        await asyncio.gather(*talking, return_exceptions=True)

    def cut_network(self, *, silently: bool = False) -> None:
        """Until it heals nothing gets through: connections are reset, or just say nothing any more."""
        self._says_nothing = silently
        self._is_up.clear()
        if not silently:
            self._cut_all()

    def heal_network(self) -> None:
        """Connections from before are lost all the same."""
        self._is_up.set()
        self._cut_all()

    def _cut_all(self) -> None:
        for task, client in self._talking.items():
            reset(client)
            task.cancel()

    async def pass_network(self) -> None:
        """Returns if there is a network."""
        if not self._is_up.is_set():
            if self._says_nothing:
                await self._is_up.wait()
            raise _Cut

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talking[task] = writer
        connection = _Connection(self, reader, writer)
        try:
            await self.pass_network()
            while await connection.serve_one():
                pass
        except (
            _Cut,
            ConnectionError,
            RuntimeError,
            asyncio.CancelledError,
        ):  # uvloop: RuntimeError for a closed connection
            reset(writer)
        except asyncio.IncompleteReadError:
            pass  # either side ended its direction
        finally:
            del self._talking[task]
            connection.close()


class _Connection:
    """One connection of the client, and the one to the server that serves it."""

    def __init__(self, proxy: FaultProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._plan = proxy, proxy.plan
        self._reader, self._writer = reader, writer
        self._upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used_at = 0.0

    def close(self) -> None:
        self._writer.close()
        self._close_upstream()

    async def serve_one(self) -> bool:
        """Returns whether the connection serves further requests."""
        request = await _read_message(self._reader)
        method, path, _ = request.start.split(" ")
        exchange = Exchange(self._proxy.who, time.time(), method, path, request.headers, request.body)
        self._proxy.log.exchanges.append(exchange)
        await self._proxy.pass_network()
        exchange.fault = self._plan.draw(method, exchange.is_watch)
        try:
            await self._before(exchange)
            if exchange.fault is Fault.REFUSED:
                return await self._refuse(exchange)
            if exchange.is_watch:
                return await self._watch(exchange, request)
            return await self._answer(exchange, request)
        finally:
            exchange.ended_at = time.time()

    async def _before(self, exchange: Exchange) -> None:
        """What goes wrong before the server is asked."""
        if exchange.fault is Fault.CUT_BEFORE:
            raise _Cut
        if exchange.fault is Fault.STALLED:
            await self._stall()
        if exchange.fault is Fault.DELAYED:
            await asyncio.sleep(self._plan.moment(self._plan.delay_max_s))

    async def _stall(self) -> None:
        await asyncio.sleep(self._plan.moment(self._plan.stall_max_s))
        raise _Cut

    async def _refuse(self, exchange: Exchange) -> bool:
        status = self._plan.refusal(exchange.method)
        phrase = HTTPStatus(status).phrase
        said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "message": "by the proxy"}
        body = json.dumps({**said, "reason": phrase.title().replace(" ", "")}).encode()
        retry = "Retry-After: 1\r\n" if status == HTTPStatus.TOO_MANY_REQUESTS else ""
        head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{retry}"
        self._writer.write(head.encode() + b"\r\n" + body)
        await self._writer.drain()
        exchange.returned = status
        return True

    # ---------------------------------------------------------------- one answer

    async def _answer(self, exchange: Exchange, request: _Message) -> bool:
        answer = await self._forward(exchange, request)
        if exchange.fault is Fault.REPEATED:
            # Another connection, as of a balancer that asks again; it may pass on either answer.
            self._close_upstream()
            again = await self._forward(exchange, request)
            answer = self._plan.draws.choice((answer, again))
        await self._proxy.pass_network()
        await self._spoil(exchange, answer)
        self._writer.write(answer.raw)
        await self._writer.drain()
        exchange.returned = _status_of(answer)
        return answer.headers.get("connection", "").lower() != "close"

    async def _spoil(self, exchange: Exchange, answer: _Message) -> None:
        """What goes wrong after the server has answered."""
        match exchange.fault:
            case Fault.CUT_AFTER:
                raise _Cut
            case Fault.STALLED_AFTER:
                await self._stall()
            case Fault.HALF_CLOSED:
                self._writer.write_eof()
                await self._stall()
            case Fault.CUT_WITHIN:
                self._writer.write(answer.raw[: self._plan.draws.randrange(1, len(answer.raw))])
                await self._writer.drain()
                await asyncio.sleep(0.005)  # a reset may overtake what was written
                raise _Cut
            case _:
                pass

    async def _forward(self, exchange: Exchange, request: _Message) -> _Message:
        reader, writer = await self._to_server()
        exchange.forwarded_at = time.time()
        writer.write(request.raw)
        await writer.drain()
        answer = await _read_message(reader)
        exchange.answers.append(Answer(time.time(), _status_of(answer), answer.body))
        return answer

    async def _to_server(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if time.time() - self._used_at > _IDLE_MAX_S:
            self._close_upstream()
        if self._upstream is None:
            port = self._proxy.upstream_port
            self._upstream = await asyncio.open_connection("127.0.0.1", port, limit=_HEAD_MAX)
        self._used_at = time.time()
        return self._upstream

    def _close_upstream(self) -> None:
        if self._upstream is not None:
            self._upstream[1].close()
            self._upstream = None

    # ---------------------------------------------------------------- a watch

    async def _watch(self, exchange: Exchange, request: _Message) -> bool:
        """Passes on a stream until one side ends it, the client goes, or something goes wrong."""
        reader, writer = await self._to_server()
        exchange.forwarded_at = time.time()
        writer.write(request.raw)
        head = await _read_head(reader)
        if head.headers.get("transfer-encoding", "") != "chunked":
            answer = await _with_body(head, reader)
            exchange.answers.append(Answer(time.time(), _status_of(answer), answer.body))
            exchange.returned = _status_of(answer)
            self._writer.write(answer.raw)
            return True
        exchange.answers.append(Answer(time.time(), _status_of(head), b""))
        self._writer.write(head.head)
        gone = asyncio.ensure_future(self._reader.read(1))
        pumping = asyncio.ensure_future(self._pump(exchange, reader))
        try:
            await asyncio.wait({gone, pumping}, return_when=asyncio.FIRST_COMPLETED)
            if pumping.done():
                await pumping
            return False
        finally:
            gone.cancel()
            pumping.cancel()
            await asyncio.gather(gone, pumping, return_exceptions=True)

    async def _pump(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        moment = None if exchange.fault is None else self._plan.moment(self._plan.watch_max_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(moment):
                while chunk := await _read_chunk(reader):
                    await self._proxy.pass_network()
                    self._writer.write(_framed(chunk))
                    await self._writer.drain()
                await self._end_watch(exchange)
                return
        await self._spoil_watch(exchange, reader)

    async def _end_watch(self, exchange: Exchange) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        exchange.returned = HTTPStatus.OK

    async def _spoil_watch(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        match exchange.fault:
            case Fault.WATCH_CUT_WITHIN:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._plan.moment(self._plan.watch_max_s)):
                        chunk = _framed(await _read_chunk(reader))
                        self._writer.write(chunk[: len(chunk) // 2])
                        await asyncio.sleep(0.005)
                raise _Cut
            case Fault.WATCH_GONE:
                self._writer.write(_framed(json.dumps(_GONE).encode() + b"\n"))
                await self._end_watch(exchange)
            case Fault.WATCH_ENDED:
                await self._end_watch(exchange)
            case Fault.WATCH_STALLED:
                await self._stall()
            case Fault.WATCH_HALF_CLOSED:
                self._writer.write_eof()
                await self._stall()
            case _:
                raise _Cut


# ---------------------------------------------------------------- HTTP/1.1


async def _read_message(reader: asyncio.StreamReader) -> _Message:
    return await _with_body(await _read_head(reader), reader)


async def _read_head(reader: asyncio.StreamReader) -> _Message:
    head = await reader.readuntil(b"\r\n\r\n")
    start, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return _Message(start, headers, head, b"", head)


async def _with_body(head: _Message, reader: asyncio.StreamReader) -> _Message:
    if head.headers.get("transfer-encoding", "") != "chunked":
        body = await reader.readexactly(int(head.headers.get("content-length", "0")))
        return head._replace(body=body, raw=head.head + body)
    chunks = []
    while chunk := await _read_chunk(reader):
        chunks.append(chunk)
    raw = b"".join([head.head, *map(_framed, chunks), b"0\r\n\r\n"])
    return head._replace(body=b"".join(chunks), raw=raw)


async def _read_chunk(reader: asyncio.StreamReader) -> bytes:
    """Empty at the end."""
    size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
    return (await reader.readexactly(size + 2))[:-2]


def _framed(chunk: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(chunk), chunk)


def _status_of(answer: _Message) -> int:
    return int(answer.start.split(" ")[1])
