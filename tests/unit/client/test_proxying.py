"""Servers behind proxies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.support.authorities import Authority
from tests.support.scripted_server import Script, ScriptedServer, ServedConnection, always_ok, reply, serving

from bayplan.client.connection import PROXY_SCHEMES, Connection, TlsSettings, address_of
from bayplan.client.contract import NotSentError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient

Run = Callable[[Coroutine[Any, Any, None]], None]
AUTHORITY = Authority()
LOCAL = AUTHORITY.sign("127.0.0.1")
TRUSTING = TlsSettings(AUTHORITY.certificate)


@pytest.fixture(params=[asyncio.run, run_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    return LOCAL.server_context(tmp_path)


async def join(connection: ServedConnection, host: str, port: int) -> None:
    """Passes bytes on between the client and a server."""
    reader, writer = await asyncio.open_connection(host, port)
    await asyncio.gather(_copy(connection.reader, writer), _copy(reader, connection.writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def http_proxy(connection: ServedConnection) -> None:
    asked = await connection.request()
    assert asked is not None
    assert asked.method == "CONNECT"
    host, _, port = asked.target.partition(":")
    connection.send(b"HTTP/1.1 200 Connection established\r\nVia: tests\r\n\r\n")
    await join(connection, host, int(port))


def socks_proxy(*, password: bytes = b"") -> Script:
    async def script(connection: ServedConnection) -> None:
        reader = connection.reader
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        connection.send(bytes([5, 2 if password else 0]))
        assert (2 in methods) is bool(password)
        if password:
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            sent = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = (user, sent) == (b"me", password)
            connection.send(bytes([1, not is_right]))
            if not is_right:
                return
        _, _, _, kind, length = await reader.readexactly(5)
        assert kind == 3
        host = (await reader.readexactly(length)).decode()
        port = int.from_bytes(await reader.readexactly(2), "big")
        connection.send(bytes([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]))
        await join(connection, host, port)

    return script


def through(server: ScriptedServer, proxy: str) -> HttpClient:
    return HttpClient(Connection(address_of(server.url), tls=TRUSTING, proxy=address_of(proxy, PROXY_SCHEMES)))


def test_a_tunnel_through_a_proxy(run: Run, tls: ssl.SSLContext) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=tls) as server, serving(http_proxy) as proxy:
            client = through(server, f"http://me:secret@127.0.0.1:{proxy.port}")
            for _ in range(3):
                assert (await client.request("POST", "/x", b"{}")).ok
            await client.close()
            assert [asked.target for asked in proxy.asked] == [f"127.0.0.1:{server.port}"]
            assert proxy.asked[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
            assert "proxy-authorization" not in server.asked[0].headers
            assert server.connections == 1

    run(main())


def test_a_plain_request_goes_to_the_proxy_with_its_whole_url(run: Run) -> None:
    async def main() -> None:
        async with serving(always_ok) as proxy:
            address = address_of("http://api.example.com:8080/prefix")
            client = HttpClient(Connection(address, proxy=address_of(f"http://me:secret@127.0.0.1:{proxy.port}")))
            assert (await client.request("GET", "/x")).ok
            await client.close()
            assert proxy.asked[0].target == "http://api.example.com:8080/prefix/x"
            assert proxy.asked[0].headers["host"] == "api.example.com:8080"
            assert proxy.asked[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"

    run(main())


def test_a_proxy_that_refuses(run: Run, tls: ssl.SSLContext) -> None:
    async def refusing(connection: ServedConnection) -> None:
        await connection.request()
        connection.send(reply(b"", "407 Proxy Authentication Required"))
        await connection.ended()

    async def main() -> None:
        async with serving(always_ok, tls=tls) as server, serving(refusing) as proxy:
            with pytest.raises(NotSentError) as caught:
                await through(server, proxy.url).request("POST", "/x")
            assert str(caught.value) == f'Post "{server.url}/x": Proxy Authentication Required'

    run(main())


def test_a_proxy_that_hangs_up(run: Run, tls: ssl.SSLContext) -> None:
    async def hanging_up(connection: ServedConnection) -> None:
        await connection.request()

    async def main() -> None:
        async with serving(always_ok, tls=tls) as server, serving(hanging_up) as proxy:
            with pytest.raises(NotSentError, match="proxyconnect tcp: unexpected EOF"):
                await through(server, proxy.url).request("POST", "/x")

    run(main())


def test_a_proxy_that_is_not_there(run: Run, tls: ssl.SSLContext) -> None:
    async def main() -> None:
        async with serving(http_proxy) as proxy:
            pass
        async with serving(always_ok, tls=tls) as server:
            with pytest.raises(NotSentError, match=r"proxyconnect tcp: dial tcp 127\.0\.0\.1:.*: connection refused"):
                await through(server, proxy.url).request("POST", "/x")

    run(main())


def test_tls_inside_tls(run: Run, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A proxy that is reached over TLS is trusted by the system's authorities."""
    trusted = tmp_path / "authorities.pem"
    trusted.write_bytes(AUTHORITY.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))

    async def main() -> None:
        async with serving(always_ok, tls=tls) as server, serving(http_proxy, tls=tls) as proxy:
            client = through(server, proxy.url)
            for _ in range(3):
                assert (await client.request("POST", "/x", b"{}")).ok
            assert server.connections == 1
            await client.close()

    run(main())


def test_a_plain_server_behind_a_proxy_with_tls(
    run: Run, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trusted = tmp_path / "authorities.pem"
    trusted.write_bytes(AUTHORITY.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))

    async def main() -> None:
        async with serving(always_ok, tls=tls) as proxy:
            client = HttpClient(Connection(address_of("http://api.example.com"), proxy=address_of(proxy.url)))
            assert (await client.request("GET", "/x")).ok
            await client.close()
            assert proxy.asked[0].target == "http://api.example.com/x"

    run(main())


def test_a_socks_proxy(run: Run, tls: ssl.SSLContext) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=tls) as server, serving(socks_proxy()) as proxy:
            client = through(server, f"socks5://127.0.0.1:{proxy.port}")
            assert (await client.request("GET", "/x")).ok
            await client.close()

    run(main())


@pytest.mark.parametrize("password", ["secret", "wrong"])
def test_a_socks_proxy_with_a_password(run: Run, tls: ssl.SSLContext, password: str) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=tls) as server, serving(socks_proxy(password=b"secret")) as proxy:
            client = through(server, f"socks5://me:{password}@127.0.0.1:{proxy.port}")
            if password == "secret":
                assert (await client.request("GET", "/x")).ok
            else:
                with pytest.raises(NotSentError, match="username/password authentication failed"):
                    await client.request("GET", "/x")
            await client.close()

    run(main())


def test_a_plain_server_behind_a_socks_proxy(run: Run) -> None:
    async def main() -> None:
        async with serving(always_ok) as server, serving(socks_proxy()) as proxy:
            client = through(server, f"socks5://127.0.0.1:{proxy.port}")
            assert (await client.request("GET", "/x")).ok
            await client.close()
            assert server.asked[0].target == "/x"

    run(main())
