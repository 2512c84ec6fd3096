"""Only the leader writes."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.elections import LEASE, LeaseServer, Link
from tests.support.virtual_time import run_virtually

from bayplan.client.contract import NotSentError
from bayplan.client.leading import LeaderClient


def test_writes_are_sent_by_the_leader_only_and_reads_by_anybody() -> None:
    async def main() -> None:
        server = LeaseServer()
        leads = False
        client = LeaderClient(Link(server), lambda: leads)
        assert (await client.request("GET", LEASE)).status == 404
        with pytest.raises(NotSentError, match="this process is not the leader"):
            await client.request("DELETE", LEASE)
        leads = True
        assert (await client.request("DELETE", LEASE)).status == 404
        assert [asked.method for asked in server.asked] == ["GET", "DELETE"]
        await asyncio.sleep(0)

    run_virtually(main())
