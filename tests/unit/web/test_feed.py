"""What a page hears: a snapshot, then what changed, once for all pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from tests.support.dashboard import Served, node, open_page, pod, served

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.testing import builders
from bayplan.web.feed import BEHIND_MAX, EVENTS_MAX


async def _next(messages: AsyncIterator[tuple[str, Any]]) -> tuple[str, Any]:
    async with asyncio.timeout(20):
        return await anext(messages)


def test_the_first_message_is_everything() -> None:
    cluster = served([node("node-1"), pod("web")])

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            event, data = await _next(messages)
            assert event == "snapshot"
            assert data["version"] == cluster.registry.storage.version
            assert data["tables"]["nodes"]["/node-1"] == {
                "name": "node-1",
                "zone": "zone-a",
                "cpu": 4000,
                "memory": 8 * 2**30,
                "pods": 110,
            }
            assert data["tables"]["pods"]["default/web"]["cpu"] == 500
            assert "/default" in data["tables"]["namespaces"]

    asyncio.run(look())


def test_changes_are_gathered_and_show_how_things_ended() -> None:
    cluster = served([node("node-1"), pod("going")])

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            await _next(messages)
            await asyncio.sleep(0)  # lets the feed begin to follow
            cluster.create(pod("coming"))
            cluster.change("Pod", "coming", {"status": {"phase": "Pending"}}, "status")
            cluster.create(pod("coming-and-going"))
            for name in ("going", "coming-and-going"):
                _delete(cluster, name)
            event, data = await _next(messages)
            assert event == "changes"
            assert data["tables"]["pods"]["default/coming"]["phase"] == "Pending"
            assert data["tables"]["pods"]["default/going"] is None
            assert data["tables"]["pods"]["default/coming-and-going"] is None

    asyncio.run(look())


def test_names_and_messages_are_data_whatever_they_say() -> None:
    cluster = served()
    nasty = "</script><img src=x onerror=alert(1)>\n\nevent: snapshot\ndata: {}"
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
            "reason": "Odd",
            "message": nasty,
            "type": "Normal",
        }
    )

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            _, data = await _next(messages)
            assert data["tables"]["events"]["default/e"]["message"] == nasty

    asyncio.run(look())


def test_two_pages_hear_the_same() -> None:
    cluster = served([node("node-1")])

    async def look() -> None:
        async with open_page(cluster.feed) as one, open_page(cluster.feed) as other:
            await _next(one)
            await _next(other)
            await asyncio.sleep(0)
            cluster.create(pod("web"))
            assert await _next(one) == await _next(other)

    asyncio.run(look())


def test_a_page_that_does_not_keep_up_gets_a_snapshot_instead() -> None:
    cluster = served([node("node-1")])

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            await _next(messages)
            for _ in range(BEHIND_MAX + 1):
                cluster.feed._send(b"event: changes\nid: 0\ndata: {}\n\n")
            event, data = await _next(messages)
            assert event == "snapshot"
            assert "/node-1" in data["tables"]["nodes"]

    asyncio.run(look())


def test_a_new_page_gets_the_newest_events_only() -> None:
    cluster = served()
    for number in range(EVENTS_MAX + 5):
        about = {"kind": "Pod", "name": "web", "namespace": "default"}
        metadata = {"name": f"e{number:04}"}
        cluster.create({"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about})

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            _, data = await _next(messages)
            assert len(data["tables"]["events"]) == EVENTS_MAX
            assert min(data["tables"]["events"]) == "default/e0005"

    asyncio.run(look())


def test_nothing_follows_the_storage_when_nobody_looks() -> None:
    cluster = served()

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            await _next(messages)
            await asyncio.sleep(0)
            assert cluster.registry.storage._followers_of_all
        assert cluster.feed._note not in cluster.registry.storage._followers_of_all

    asyncio.run(look())


def test_the_queue_moves_without_any_write() -> None:
    cluster = served()
    waiting = builders.pod("web").obj()
    queued = QueuedPod(waiting, Cache(gates=DEFAULT_GATES).info(waiting), 1, 0, state=PodState.ACTIVE)

    async def look() -> None:
        async with open_page(cluster.feed) as messages:
            await _next(messages)
            cluster.queued.append(queued)
            assert (await _next(messages))[1]["tables"] == {"queue": {"default/web": {"state": "active"}}}
            cluster.queued.clear()
            assert (await _next(messages))[1]["tables"] == {"queue": {"default/web": None}}

    asyncio.run(look())


def test_closing_ends_every_stream() -> None:
    cluster = served()

    async def look() -> list[tuple[str, Any]]:
        async with open_page(cluster.feed) as messages:
            first = await _next(messages)
            cluster.feed.close()
            async with asyncio.timeout(20):
                return [first, *[message async for message in messages]]

    assert len(asyncio.run(look())) == 1


def _delete(cluster: Served, name: str) -> None:
    resource = cluster.registry.catalogue.of_kind("v1", "Pod")
    assert resource is not None
    storage = cluster.registry.storage
    entry = storage.find("pods", "default", name)
    assert entry is not None
    storage.remove("pods", entry)
