"""Clients that do not behave, over real sockets: they are answered or cut off, and others do not notice."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.api_server import CONFIG_MAPS, Api, config_map

from bayplan.apiserver.http import application, connections, watching
from bayplan.apiserver.http.server import Server, listening_socket

pytestmark = pytest.mark.slow

WELL_BEHAVED = b"GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n"
SECONDS_MAX = 20.0


def _serving(play: Callable[[int, Api], Awaitable[None]]) -> None:
    """Plays with a server on a port."""

    async def main() -> None:
        api, listening = Api(), listening_socket("127.0.0.1", 0)
        server = Server(api.application, listening)
        serving = asyncio.ensure_future(server.serve())
        await server.started()
        try:
            async with asyncio.timeout(SECONDS_MAX):
                await play(listening.getsockname()[1], api)
                assert (await _asked(listening.getsockname()[1], WELL_BEHAVED)).endswith(b"ok")
        finally:
            server.stop()
            await serving

    asyncio.run(main())


async def _asked(port: int, *sent: bytes) -> bytes:
    """What comes back until the server has nothing more to say to this connection, or the answer is complete."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in sent:
        writer.write(piece)
        await writer.drain()
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
        return head + await reader.readexactly(length)
    except asyncio.IncompleteReadError as cut_off:
        return cut_off.partial
    finally:
        writer.close()


def _request(method: str, path: str, body: bytes = b"", *, token: str = "secret", **headers: str) -> bytes:
    given = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{name}: {value}" for name, value in given.items() if value]
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    return (head + "\r\n".join(lines) + "\r\n\r\n").encode() + body


def _answer(received: bytes) -> tuple[int, Any]:
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head[9:12]), json.loads(body) if body[:1] == b"{" else body


BIG = b"x" * 4 * 1024 * 1024
CHUNK = b"%x\r\n%b\r\n" % (len(BIG) // 2, BIG[: len(BIG) // 2])


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        ([_request("GET", CONFIG_MAPS, token="wrong")], 401, "Unauthorized"),
        ([_request("POST", CONFIG_MAPS, content_length="20971520")], 413, "RequestEntityTooLarge"),
        ([_request("POST", CONFIG_MAPS, BIG)], 413, "RequestEntityTooLarge"),
        (
            [
                _request("POST", CONFIG_MAPS, content_length="", transfer_encoding="chunked"),
                *[CHUNK] * 10,
                b"0\r\n\r\n",
            ],
            413,
            "RequestEntityTooLarge",
        ),
        ([_request("POST", CONFIG_MAPS, b"{")], 400, "BadRequest"),
        ([_request("GET", f"{CONFIG_MAPS}/..%2f..%2fsecrets")], 404, "NotFound"),
        ([_request("GET", f"{CONFIG_MAPS}/m?resourceVersion=%ff")], 400, "BadRequest"),
    ],
)
def test_what_is_refused_is_refused_with_a_status(sent: list[bytes], status: int, reason: str) -> None:
    async def play(port: int, api: Api) -> None:
        before = api.version
        found, answer = _answer(await _asked(port, *sent))
        assert (found, answer["kind"], answer["code"], answer["reason"]) == (status, "Status", status, reason)
        assert api.version == before

    _serving(play)


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET \xff\xfe HTTP/1.1\r\n\r\n", b"GET / HTTP/9\r\n\r\n"])
def test_what_is_no_http_is_a_bad_request(sent: bytes) -> None:
    async def play(port: int, _api: Api) -> None:
        assert _answer(await _asked(port, sent))[0] == 400

    _serving(play)


def test_a_head_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)

    async def play(port: int, _api: Api) -> None:
        assert await _asked(port, b"GET / HTTP/1.1\r\nHost: x\r\n") == b""
        assert await _asked(port) == b""

    _serving(play)


def test_a_head_that_is_too_long_is_refused() -> None:
    async def play(port: int, _api: Api) -> None:
        endless = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %b\r\n" % (number, b"y" * 50_000) for number in range(30))
        assert _answer(await _asked(port, endless))[0] == 431

    _serving(play)


def test_a_body_that_never_comes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "BODY_SECONDS", 0.2)

    async def play(port: int, _api: Api) -> None:
        status, answer = _answer(await _asked(port, _request("POST", CONFIG_MAPS, content_length="10") + b'{"a"'))
        assert (status, answer["message"]) == (400, "the body of the request did not come within 0.2 seconds")

    _serving(play)


@pytest.mark.parametrize(("limit", "most"), [("BEHIND_MAX", 20), ("BEHIND_BYTES_MAX", 2_000_000)])
def test_a_watcher_that_never_reads_is_cut_off_and_others_see_everything(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, limit, most)
    writes = 300

    async def play(port: int, api: Api) -> None:
        watch = _request("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={api.version}")
        _, asleep = await asyncio.open_connection("127.0.0.1", port)
        awake, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
        asleep.transport.pause_reading()  # type: ignore[attr-defined]
        asleep.write(watch)
        writer.write(watch)
        await awake.readuntil(b"\r\n\r\n")
        for number in range(writes):
            api.post(CONFIG_MAPS, config_map(f"m{number}", text="x" * 100_000))
            for _ in range(4):
                await asyncio.sleep(0.001)
        seen = b""
        while seen.count(b'{"type":"ADDED"') < writes:
            seen += await awake.read(2**24)
        assert len(api.application._watches) == 1
        writer.close()
        asleep.transport.abort()

    _serving(play)


def test_an_upgrade_that_nobody_supports_is_answered_as_a_request() -> None:
    async def play(port: int, _api: Api) -> None:
        upgrade = _request("GET", "/healthz", connection="Upgrade", upgrade="websocket")
        assert _answer(await _asked(port, upgrade)) == (200, b"ok")

    _serving(play)


def test_many_idle_connections_hold_up_nobody() -> None:
    async def play(port: int, _api: Api) -> None:
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        assert _answer(await _asked(port, WELL_BEHAVED)) == (200, b"ok")
        for _, writer in opened:
            writer.close()

    _serving(play)


def test_a_connection_that_is_closed_leaves_nothing_for_the_garbage_collector() -> None:
    watch = _request("GET", f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1")
    requests = [WELL_BEHAVED, _request("GET", CONFIG_MAPS), _request("GET", "/nothing/here"), watch]

    async def play(port: int, _api: Api) -> None:
        await _asked(port, WELL_BEHAVED)
        await asyncio.sleep(0.1)
        gc.collect()
        for request in requests * 5:
            await _asked(port, request)
        await asyncio.sleep(0.3)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        garbage = [found for found in gc.garbage if type(found).__name__ == "_SelectorSocketTransport"]
        # Those of the test's own client refer to themselves, too.
        assert len(garbage) <= 5 * len(requests)

    gc.disable()
    try:
        _serving(play)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
