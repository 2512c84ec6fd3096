"""The story of a process from its start to its end: what it asks for, in which order, and under which name."""

from __future__ import annotations

import asyncio
import json
import lzma
import re
from pathlib import Path
from typing import NamedTuple

from tests.stories.over_http import HttpPlay
from tests.stories.recording import Line
from tests.stories.requests import masked, masked_query

from bayplan.client.leases import LeaderElector
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE

HOLDER = re.compile(r"HOST_[0-9a-f-]{36}")
IDENTITY = "HOST_00000000-0000-0000-0000-000000000000"


class Asked(NamedTuple):
    """A request as it can be compared."""

    at_ms: float
    what: str  # method, path, query and body
    agent: str  # the end of its User-Agent
    accepts: str
    content_type: str
    who: str  # of several schedulers

    @property
    def is_watch(self) -> bool:
        return "watch=true" in self.what

    @property
    def is_of_election(self) -> bool:
        return "kube-system" in self.what


def asked_in(lines: list[Line]) -> list[Asked]:
    return [_asked(line) for line in lines if line["what"] == "request"]


def _asked(line: Line) -> Asked:
    data = line["data"]
    headers = {name.lower(): value for name, value in data.get("headers", {}).items()}
    query = f"?{masked_query(data['query'])}" if data.get("query") else ""
    body = json.dumps(masked(data.get("body"), "", {}), sort_keys=True) if data.get("body") else ""
    agent = headers.get("user-agent", "").rpartition("/")[2]
    what = HOLDER.sub("HOST_UID", f"{data['method']} {data['path']}{query} {body}".strip())
    content = headers.get("content-type", "") if body else ""
    return Asked(line["t_ms"], what, agent, headers.get("accept", ""), content, data.get("who", agent))


def recorded_lines(path: Path, story: str) -> list[Line]:
    with lzma.open(path, "rt") as lines:
        return [line for line in map(json.loads, lines) if line["story"] == story]


class ElectionClock:
    """The running event loop's time."""

    def __init__(self, play: HttpPlay) -> None:
        self._play = play

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall_ns(self) -> int:
        return self._play.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class StartToEnd(HttpPlay):
    """The process starts, is elected, and ends when it is told to."""

    def perform(self, action: Line, now: int) -> None:
        if not action["do"].startswith(("start ", "SIGTERM")):
            super().perform(action, now)

    async def _play(self) -> None:
        starts, ends = (self._time_of(word) for word in ("start ", "SIGTERM"))
        async with self._served():
            await self._act_until(starts)
            async with self._scheduling(), self._connected() as client:
                election = load_configuration(None, release=DEFAULT_RELEASE).leader_election
                elector = LeaderElector(client, election, IDENTITY, "default-scheduler", clock=ElectionClock(self))
                await asyncio.sleep(0.4)  # until everything is listed
                running = asyncio.ensure_future(elector.run())
                await self._act_until(ends, starts)
                elector.stop()
                await running

    def _time_of(self, word: str) -> float:
        return next(at for at, action in self.story.actions if action["do"].startswith(word))
