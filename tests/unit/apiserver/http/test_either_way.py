"""One address with TLS and without."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.http import either_way
from bayplan.apiserver.http.either_way import EitherWayListener
from bayplan.apiserver.http.server import listening_socket
from bayplan.worlds.certificates import self_signed

Check = Callable[[int], Coroutine[Any, Any, None]]


class _Echo(asyncio.Protocol):
    """Sends back what it hears, and whether that came encrypted."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        is_encrypted = self._transport.get_extra_info("ssl_object") is not None
        self._transport.write(data + (b" encrypted" if is_encrypted else b" plain"))


def _run(folder: Path, check: Check) -> None:
    async def run() -> None:
        made = self_signed(["127.0.0.1"])
        (folder / "c").write_bytes(made.certificate)
        (folder / "k").write_bytes(made.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(folder / "c", folder / "k")
        with listening_socket("127.0.0.1", 0) as listening:
            listener = EitherWayListener(listening, _Echo, context)
            await asyncio.wait_for(check(listening.getsockname()[1]), 20)
            listener.close()

    asyncio.run(run())


async def _asked(port: int, context: ssl.SSLContext | None = None) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(b"GET")
    answer = await reader.read(100)
    writer.close()
    return answer


def test_the_first_byte_tells(tmp_path: Path) -> None:
    async def check(port: int) -> None:
        trusting = ssl.create_default_context(cafile=tmp_path / "c")
        answers = await asyncio.gather(_asked(port), _asked(port, trusting), _asked(port))
        assert [*answers] == [b"GET plain", b"GET encrypted", b"GET plain"]

    _run(tmp_path, check)


def test_clients_that_leave_or_go_wrong_harm_nobody(tmp_path: Path) -> None:
    async def check(port: int) -> None:
        socket.create_connection(("127.0.0.1", port)).close()
        with socket.create_connection(("127.0.0.1", port)) as broken:
            broken.sendall(b"\x16 is no handshake")
            assert await _asked(port) == b"GET plain"

    _run(tmp_path, check)


def test_a_client_that_says_nothing_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(either_way, "_SILENCE_SECONDS", 0.05)

    async def check(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()

    _run(tmp_path, check)


def test_silent_clients_are_dropped_at_the_end(tmp_path: Path) -> None:
    silent: list[socket.socket] = []

    async def check(port: int) -> None:
        silent.append(socket.create_connection(("127.0.0.1", port)))
        await asyncio.sleep(0.05)

    _run(tmp_path, check)
    with silent[0] as connection:
        assert connection.recv(1) == b""
