"""Connections over TLS and to hosts by name, and what is said when there is none."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import Any

import pytest
from tests.support.authorities import Authority, Signed
from tests.support.scripted_server import ServedConnection, always_ok, reply, serving

from bayplan.client.connection import (
    ClientCertificate,
    Connection,
    Credential,
    FixedCredentials,
    TlsSettings,
    address_of,
)
from bayplan.client.contract import LostError, NotSentError, TransportError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient

Run = Callable[[Coroutine[Any, Any, None]], None]
AUTHORITY, OTHER_AUTHORITY = Authority("one"), Authority("two")
TRUSTED, UNRELATED = AUTHORITY.certificate, OTHER_AUTHORITY.certificate
LOCAL = AUTHORITY.sign("127.0.0.1")
ELSEWHERE = AUTHORITY.sign("elsewhere.example.com")
EXPIRED = AUTHORITY.sign("127.0.0.1", at=datetime(2020, 1, 1, tzinfo=UTC))
OURS = OTHER_AUTHORITY.sign("client")
FAILED = "tls: failed to verify certificate: x509: "


@pytest.fixture(params=[asyncio.run, run_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


async def ask(connection: Connection) -> int:
    client = HttpClient(connection)
    try:
        return (await client.request("GET", "/version")).status
    finally:
        await client.close()


async def ask_twice_at_once(connection: Connection) -> None:
    client = HttpClient(connection)
    await asyncio.gather(client.request("GET", "/version"), client.request("GET", "/version"))
    await client.close()


@pytest.mark.parametrize(
    ("settings", "certificate"),
    [
        pytest.param(TlsSettings(TRUSTED), LOCAL, id="its authority is trusted"),
        pytest.param(TlsSettings(is_insecure=True), EXPIRED, id="anything goes"),
        pytest.param(TlsSettings(TRUSTED, server_name="elsewhere.example.com"), ELSEWHERE, id="under another name"),
        pytest.param(TlsSettings(UNRELATED + TRUSTED), LOCAL, id="one of several authorities"),
    ],
)
def test_a_certificate_that_is_trusted(run: Run, tmp_path: Path, settings: TlsSettings, certificate: Signed) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=certificate.server_context(tmp_path)) as server:
            assert await ask(Connection(address_of(server.url), tls=settings)) == 200

    run(main())


def test_a_client_that_is_closed_leaves_nothing_to_an_event_loop_that_ends(run: Run, tmp_path: Path) -> None:
    """The server has a loop of its own, so that nothing goes on in the client's while it ends."""
    addresses: Queue[str] = Queue()

    async def serve() -> None:
        async with serving(always_ok, tls=LOCAL.server_context(tmp_path)) as server:
            addresses.put(server.url)
            await asyncio.to_thread(ended.wait)

    ended = Event()
    thread = Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        connection = Connection(address_of(addresses.get(timeout=5)), tls=TlsSettings(TRUSTED))
        with warnings.catch_warnings(record=True, action="always", category=ResourceWarning) as found:
            run(ask_twice_at_once(connection))
            gc.collect()
        assert not [str(each.message) for each in found if "unclosed" in str(each.message)]
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    ("settings", "certificate", "text"),
    [
        pytest.param(TlsSettings(UNRELATED), LOCAL, f"{FAILED}certificate signed by unknown authority", id="unknown"),
        pytest.param(
            TlsSettings(TRUSTED),
            ELSEWHERE,
            f"{FAILED}certificate is not valid for 127.0.0.1",
            id="for another host",
        ),
        pytest.param(
            TlsSettings(TRUSTED, server_name="x.example.com"),
            LOCAL,
            f"{FAILED}certificate is not valid for x.example.com",
            id="not for the name that is expected",
        ),
        pytest.param(
            TlsSettings(TRUSTED),
            EXPIRED,
            f"{FAILED}certificate has expired or is not yet valid",
            id="expired",
        ),
    ],
)
def test_a_certificate_that_is_not_trusted(
    run: Run, tmp_path: Path, settings: TlsSettings, certificate: Signed, text: str
) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=certificate.server_context(tmp_path)) as server:
            with pytest.raises(NotSentError) as caught:
                await ask(Connection(address_of(server.url), tls=settings))
            assert str(caught.value) == f'Get "{server.url}/version": {text}'

    run(main())


def test_a_client_shows_its_certificate(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=LOCAL.server_context(tmp_path, clients=UNRELATED)) as server:
            own = FixedCredentials(Credential(certificate=ClientCertificate(OURS.certificate, OURS.key)))
            assert await ask(Connection(address_of(server.url), own, TlsSettings(TRUSTED))) == 200
            with pytest.raises(TransportError):
                await ask(Connection(address_of(server.url), tls=TlsSettings(TRUSTED)))

    run(main())


def test_a_server_without_tls(run: Run) -> None:
    async def greet(connection: ServedConnection) -> None:
        connection.send(reply(b"no", "400 Bad Request"))
        await connection.ended()

    async def main() -> None:
        async with serving(greet) as server:
            url = server.url.replace("http:", "https:")
            with pytest.raises(NotSentError, match="http: server gave HTTP response to HTTPS client"):
                await ask(Connection(address_of(url), tls=TlsSettings(TRUSTED)))

    run(main())


def test_a_server_with_tls_that_is_asked_without(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=LOCAL.server_context(tmp_path)) as server:
            with pytest.raises(LostError):
                await ask(Connection(address_of(server.url.replace("https:", "http:"))))

    run(main())


def test_a_name_that_nobody_knows(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(NotSentError, match=r"dial tcp: lookup nowhere\.invalid: no such host"):
            await ask(Connection(address_of("http://nowhere.invalid:1")))

    run(main())


def test_a_host_by_its_name(run: Run) -> None:
    async def main() -> None:
        async with serving(always_ok) as server:
            assert await ask(Connection(address_of(f"http://localhost:{server.port}"))) == 200
            assert server.asked[0].headers["host"] == f"localhost:{server.port}"

    run(main())
