"""Connections that wait for their next use."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.scripted_server import ServedConnection, always_ok, reply, serving

from bayplan.client.connection import Connection, address_of
from bayplan.client.dialing import Dialer, DialFailed
from bayplan.client.pool import ConnectionPool


def test_idle_connections_are_closed_after_a_while() -> None:
    closed = asyncio.Event()

    async def script(connection: ServedConnection) -> None:
        await always_ok(connection)
        closed.set()

    async def main() -> None:
        async with serving(script) as server:
            pool = ConnectionPool(Dialer(Connection(address_of(server.url))).dial, limit=2, idle_s=0.02)
            pool.give(await pool.wait())
            assert pool.take() is not None
            pool.give(await pool.wait())
            await asyncio.wait_for(closed.wait(), 5)
            await asyncio.sleep(0.01)
            assert pool.take() is None
            await pool.close()

    asyncio.run(main())


def test_an_idle_connection_that_the_server_speaks_on_is_not_used() -> None:
    spoken = asyncio.Event()

    async def script(connection: ServedConnection) -> None:
        connection.send(reply(b"nobody asked"))
        await connection.writer.drain()
        spoken.set()
        await connection.ended()

    async def main() -> None:
        async with serving(script) as server:
            pool = ConnectionPool(Dialer(Connection(address_of(server.url))).dial, limit=2)
            pool.give(await pool.wait())
            await spoken.wait()
            assert pool.take() is None
            await pool.close()

    asyncio.run(main())


def test_a_failure_to_connect_leaves_room_for_the_next() -> None:
    async def main() -> None:
        async with serving(always_ok) as server:
            pass
        pool = ConnectionPool(Dialer(Connection(address_of(server.url))).dial, limit=1)
        for _ in range(3):
            with pytest.raises(DialFailed):
                await asyncio.wait_for(pool.wait(), 5)

    asyncio.run(main())


def test_a_closed_pool_fails_those_in_line() -> None:
    async def main() -> None:
        async with serving(always_ok) as server:
            pool = ConnectionPool(Dialer(Connection(address_of(server.url))).dial, limit=1)
            await pool.wait()
            waiting = asyncio.ensure_future(pool.wait())
            await asyncio.sleep(0)
            await pool.close()
            with pytest.raises(DialFailed, match="closed"):
                await waiting

    asyncio.run(main())


def test_who_leaves_the_line_as_a_connection_comes_free_passes_it_on() -> None:
    async def main() -> None:
        async with serving(always_ok) as server:
            pool = ConnectionPool(Dialer(Connection(address_of(server.url))).dial, limit=1)
            wire = await pool.wait()
            waiting = asyncio.ensure_future(pool.wait())
            await asyncio.sleep(0)
            pool.give(wire)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert pool.take() is wire
            await pool.close()

    asyncio.run(main())
