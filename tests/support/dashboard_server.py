"""A cluster with a dashboard, served by another thread on a free port, for pages in a real browser."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

from bayplan.config.loading import Configuration
from bayplan.web.dashboard import Dashboard
from bayplan.worlds.hosting import HostedCluster, Hosting
from bayplan.worlds.starting_nodes import plain_nodes

TOKEN = "t0ken"


@dataclass
class Running:
    """A cluster that another thread serves."""

    hosted: HostedCluster
    dashboard: Dashboard
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return self.hosted.url

    def create(self, path: str, document: dict[str, Any]) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        with urlopen(Request(f"{self.url}{path}", json.dumps(document).encode(), headers)) as answer:
            assert answer.status == 201


def _running(configuration: Configuration) -> Running:
    """Two nodes of 4 cpu on a free port."""
    dashboards: list[Dashboard] = []

    def front(hosted: HostedCluster) -> Dashboard:
        dashboards.append(Dashboard.of(hosted))
        return dashboards[0]

    hosted = HostedCluster(
        Hosting(token=TOKEN, configuration=configuration),
        plain_nodes(2, time.time_ns(), release=configuration.release),
        front=front,
    )
    return Running(hosted, dashboards[0], asyncio.get_running_loop())


@contextmanager
def dashboard_server(configuration: Configuration) -> Iterator[Running]:
    """Until the block ends."""
    made: list[Running] = []
    ready = threading.Event()

    async def serve() -> None:
        made.append(_running(configuration))
        serving = asyncio.ensure_future(made[0].hosted.run())
        await made[0].hosted.started()
        ready.set()
        await serving

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(30)
    yield made[0]
    loop.call_soon_threadsafe(made[0].hosted.stop)
    thread.join(30)
    loop.close()
