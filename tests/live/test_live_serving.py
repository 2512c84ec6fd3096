"""The scripted server itself, seen from a plain socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.support.live_server import Answer, Cut, HalfClose, Received, Reply, ScriptedServer, Stall, Watch

GET = b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}'


async def what_arrives(server: ScriptedServer, sent: bytes = GET) -> bytes:
    """All bytes until the server ends the connection or is silent for a while; `!` at the end for a reset."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    arrived = b""
    try:
        async with asyncio.timeout(0.5):
            while chunk := await reader.read(4096):
                arrived += chunk
            arrived += b"."
    except ConnectionResetError:
        arrived += b"!"
    except TimeoutError:
        pass
    writer.close()
    return arrived


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (Reply(body=b"hello"), b"\r\n\r\nhello"),
        (Reply(body=b"hello", closes=True), b"\r\n\r\nhello."),
        (Cut(Reply(body=b"hello"), after=-2), b"\r\n\r\nhel!"),
        (HalfClose(Reply(body=b"hello"), after=-2), b"\r\n\r\nhel."),
        (Stall(Reply(body=b"hello"), after=-2), b"\r\n\r\nhel"),
    ],
)
def test_answers_end_as_they_say(answer: Answer, end: bytes) -> None:
    async def run() -> bytes:
        async with ScriptedServer([answer]) as server:
            return await what_arrives(server)

    arrived = asyncio.run(run())
    assert arrived.startswith(b"HTTP/1.1 200 OK\r\n")
    assert arrived.endswith(end)


@pytest.mark.parametrize(("answer", "arrived"), [(Cut(), b"!"), (HalfClose(), b"."), (Stall(), b"")])
def test_nothing_is_said_at_all(answer: Answer, arrived: bytes) -> None:
    async def run() -> bytes:
        async with ScriptedServer([answer]) as server:
            return await what_arrives(server)

    assert asyncio.run(run()) == arrived


def test_a_function_sees_requests_of_one_connection_in_order() -> None:
    async def run() -> tuple[bytes, list[Received]]:
        async with ScriptedServer(lambda request: Reply(body=request.path.encode())) as server:
            return await what_arrives(server, GET + POST), server.received

    arrived, (get, post) = asyncio.run(run())
    assert arrived.count(b"HTTP/1.1 200 OK") == 2
    assert arrived.endswith(b"/x")
    assert (get.method, get.path, get.headers["accept"]) == ("GET", "/api/v1/pods?watch=1", "application/json")
    assert (post.document, post.connection) == ({"a": 1}, 0)


def test_a_list_that_is_over_is_answered_with_a_500() -> None:
    async def run() -> bytes:
        async with ScriptedServer([]) as server:
            return await what_arrives(server)

    assert b"no answer is left for /api/v1/pods" in asyncio.run(run())


def test_a_watch_says_what_the_test_says() -> None:
    async def run() -> bytes:
        watch = Watch({"type": "ADDED"})
        async with ScriptedServer([watch, Reply()]) as server:
            reading = asyncio.ensure_future(what_arrives(server, GET + POST))
            await watch.opened.wait()
            watch.send_line({"type": "DELETED"})
            watch.end()
            assert [request.method for request in await server.until_received(2)] == ["GET", "POST"]
            return await reading

    arrived = asyncio.run(run())
    assert b'12\r\n{"type": "ADDED"}\n\r\n14\r\n{"type": "DELETED"}\n\r\n0\r\n\r\nHTTP/1.1 200' in arrived


@pytest.mark.parametrize(("ending", "mark"), [(Watch.cut, b"!"), (Watch.half_close, b".")])
def test_a_watch_breaks_off(ending: Callable[[Watch], None], mark: bytes) -> None:
    async def run() -> bytes:
        watch = Watch()
        async with ScriptedServer([watch]) as server:
            reading = asyncio.ensure_future(what_arrives(server))
            await watch.opened.wait()
            await asyncio.sleep(0.01)
            ending(watch)
            return await reading

    arrived = asyncio.run(run())
    assert arrived.endswith(b"\r\n\r\n" + mark)
