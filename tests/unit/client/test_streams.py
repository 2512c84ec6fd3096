"""Responses that are read as they come."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.scripted_server import Script, ScriptedServer, ServedConnection, always_ok, chunked, reply, serving

from bayplan.client.connection import Connection, address_of
from bayplan.client.contract import LostError, NotSentError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient

Run = Callable[[Coroutine[Any, Any, None]], None]
PATH = "/api/v1/pods?watch=true"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MANY = 48 * 1024 * 1024


@pytest.fixture(params=[asyncio.run, run_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


@asynccontextmanager
async def client_of(*scripts: Script) -> AsyncIterator[tuple[HttpClient, ScriptedServer]]:
    async with serving(*scripts) as server:
        client = HttpClient(Connection(address_of(server.url)))
        try:
            yield client, server
        finally:
            await client.close()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def sending(data: bytes) -> Script:
    """Sends this, and closes."""

    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(data)

    return script


def test_what_has_come_can_be_read_while_more_is_to_come(run: Run) -> None:
    read = asyncio.Event()

    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(HEAD + chunk(b"one"))
        await read.wait()
        connection.send(chunk(b"two") + b"0\r\n\r\n")

    async def main() -> None:
        async with client_of(script) as (client, _), client.stream(PATH) as stream:
            assert stream.status == 200
            chunks = []
            async for data in stream:
                chunks.append(data)
                read.set()
            assert chunks == [b"one", b"two"]

    run(main())


def test_a_stream_has_a_connection_of_its_own(run: Run) -> None:
    async def main() -> None:
        async with client_of(always_ok) as (client, server):
            await client.request("GET", "/")
            async with client.stream(PATH) as stream:
                assert await stream.read() == b"{}"
            assert server.asked_on == [0, 1]

    run(main())


def test_leaving_the_block_ends_the_connection(run: Run) -> None:
    ended = asyncio.Event()

    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(HEAD + chunk(b"one"))
        await connection.ended()
        ended.set()

    async def main() -> None:
        async with client_of(script) as (client, _):
            async with client.stream(PATH) as stream:
                async for _data in stream:
                    break
            await asyncio.wait_for(ended.wait(), 60)

    run(main())


def test_who_stops_waiting_for_the_head_ends_the_connection(run: Run) -> None:
    ended = asyncio.Event()

    async def script(connection: ServedConnection) -> None:
        await connection.ended()
        ended.set()

    async def main() -> None:
        async with client_of(script) as (client, _):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2), client.stream(PATH):
                    pytest.fail("there is no head")
            await asyncio.wait_for(ended.wait(), 60)

    run(main())


def test_a_refusal_can_be_read(run: Run) -> None:
    async def main() -> None:
        async with client_of(sending(reply(b"no", "403 Forbidden"))) as (client, _), client.stream(PATH) as stream:
            assert stream.status == 403
            assert await stream.read() == b"no"

    run(main())


@pytest.mark.parametrize(
    ("data", "body"),
    [
        pytest.param(chunked(b"hello"), b"hello", id="in chunks"),
        pytest.param(reply(b"hello"), b"hello", id="with a length"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello", id="until the end"),
        pytest.param(reply(gzip.compress(b"hello"), "200 OK", "Content-Encoding: gzip"), b"hello", id="gzip"),
    ],
)
def test_the_end_of_the_body_is_the_end(run: Run, data: bytes, body: bytes) -> None:
    async def main() -> None:
        async with client_of(sending(data)) as (client, _), client.stream(PATH) as stream:
            assert await stream.read() == body

    run(main())


def test_a_break_is_reported_after_what_came_before_it(run: Run) -> None:
    async def main() -> None:
        async with client_of(sending(chunked(b"one", is_complete=False))) as (client, server):
            async with client.stream(PATH) as stream:
                assert await anext(aiter(stream)) == b"one"
                with pytest.raises(LostError) as caught:
                    await anext(aiter(stream))
            assert str(caught.value) == f'Get "{server.url}{PATH}": unexpected EOF'

    run(main())


def test_a_server_that_closes_before_the_head(run: Run) -> None:
    async def main() -> None:
        async with client_of(sending(b"")) as (client, _):
            with pytest.raises(LostError, match="EOF"):
                async with client.stream(PATH):
                    pytest.fail("there is nothing to read")

    run(main())


def test_nobody_listens(run: Run) -> None:
    async def main() -> None:
        async with serving(always_ok) as server:
            pass
        with pytest.raises(NotSentError, match="connection refused"):
            async with HttpClient(Connection(address_of(server.url))).stream(PATH):
                pytest.fail("there is nothing to read")

    run(main())


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        pytest.param(b"", "while awaiting headers", id="before the head"),
        pytest.param(HEAD, "while reading body", id="after the head"),
    ],
)
def test_silence_ends_a_stream(run: Run, sent: bytes, text: str) -> None:
    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(sent)
        await connection.ended()

    async def main() -> None:
        async with client_of(script) as (client, _):
            with pytest.raises(LostError, match=text):
                async with client.stream(PATH, idle_timeout_s=0.2) as stream:
                    await stream.read()

    run(main())


def test_data_now_and_then_keeps_a_stream_alive(run: Run) -> None:
    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(HEAD)
        for _ in range(12):
            connection.send(chunk(b"x"))
            await asyncio.sleep(0.1)
        connection.send(b"0\r\n\r\n")

    async def main() -> None:
        async with client_of(script) as (client, _), client.stream(PATH, idle_timeout_s=1.0) as stream:
            assert await stream.read() == b"x" * 12

    run(main())


def test_a_slow_reader_slows_the_server_and_loses_nothing(run: Run) -> None:
    progress = {"sent": 0}

    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(HEAD)
        piece = chunk(b"x" * 1024 * 1024)
        for _ in range(MANY // (1024 * 1024)):
            connection.send(piece)
            await connection.writer.drain()
            progress["sent"] += 1
        connection.send(b"0\r\n\r\n")

    async def main() -> None:
        # Idle for longer than the timeout, but not because of the server.
        async with client_of(script) as (client, _), client.stream(PATH, idle_timeout_s=0.3) as stream:
            await asyncio.sleep(0.5)
            assert progress["sent"] < 20
            assert len(await stream.read()) == MANY

    run(main())


def test_closing_the_client_breaks_its_streams(run: Run) -> None:
    async def script(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(HEAD)
        await connection.ended()

    async def main() -> None:
        async with client_of(script) as (client, _), client.stream(PATH) as stream:
            reading = asyncio.ensure_future(stream.read())
            await asyncio.sleep(0.01)
            await client.close()
            with pytest.raises(LostError):
                await reading

    run(main())
