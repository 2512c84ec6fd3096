"""Stories of processes that want one Lease, played over HTTP: each with its own watches, decisions and requests.

What the requests are and when they are sent is compared, process by process. How long a process that waits pauses is
drawn at random; here it is drawn as it was recorded. The Lease is there when a story begins, as in the recording.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.stories.over_http import AFTER_S, HttpPlay, Recorder
from tests.stories.recording import MILLISECOND, Line, Story
from tests.stories.requests import Fault
from tests.stories.starting import IDENTITY, ElectionClock

from bayplan.client.contract import ApiClient, Response
from bayplan.client.http import HttpClient
from bayplan.client.leading import LeaderClient
from bayplan.client.leases import LeaderElector, LeaseLostError
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.worlds.bootstrap import create
from bayplan.worlds.live import LiveWorld

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
RETRY_MS, JITTER_FACTOR = 2_000.0, 1.2


class Signed(LeaderClient):
    """Says at the end of each User-Agent who asks."""

    def __init__(self, client: ApiClient, who: str) -> None:
        super().__init__(client, lambda: True)
        self._who = who

    async def request(self, *given: Any, agent: str = "", **more: Any) -> Response:
        return await super().request(*given, agent=f"{agent}/{self._who}", **more)


class Process:
    """One scheduler that stands for election once it knows the cluster."""

    def __init__(self, play: HttpPlay, client: HttpClient, who: str, draws: Iterator[float]) -> None:
        configuration = load_configuration(None, release=DEFAULT_RELEASE)
        signed = Signed(client, who)
        self.elector = elector = LeaderElector(
            signed,
            configuration.leader_election,
            f"{IDENTITY[:-1]}{'AB'.index(who)}",
            "default-scheduler",
            on_started=self._wake,
            clock=ElectionClock(play),
            jitter=partial(next, draws, 0.0),
        )
        self._world = LiveWorld(
            build_scheduler(configuration, started_at=play.now()),
            client,
            kinds_to_watch(configuration),
            clock=play.now,
            may_decide=elector.is_leading,
        )
        self._writer = play.writer(LeaderClient(signed, elector.is_leading), self._world, configuration)
        self._working = asyncio.ensure_future(self._world.run(self._writer))
        self._electing: asyncio.Future[None] | None = None

    def _wake(self) -> None:
        self._world.wake()

    async def stand(self) -> None:
        await self._world.opened()
        self._electing = asyncio.ensure_future(self.elector.run())

    async def terminate(self) -> None:
        """As `bayplan run` does on SIGTERM."""
        await self._end(self._working)
        await self._writer.drain(1.0)
        self.elector.stop()
        if self._electing is not None:
            await self._electing

    async def kill(self) -> None:
        await self._end(self._working, *([self._electing] if self._electing is not None else []))

    @staticmethod
    async def _end(*tasks: asyncio.Future[None]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Electing(HttpPlay):
    """What begins with a Lease that was held as often as in the recording."""

    def __init__(self, story: Story, folder: Path, recorded: list[Line]) -> None:
        self._recorded = recorded
        super().__init__(story, folder)

    def _load(self) -> None:
        super()._load()
        first = next(one["data"]["body"] for one in self._recorded if _is_write_of_lease(one))
        spec = {**first["spec"], "holderIdentity": "", "leaseTransitions": first["spec"]["leaseTransitions"] - 1}
        meta = {"namespace": "kube-system", "name": "kube-scheduler"}
        document = {"apiVersion": first["apiVersion"], "kind": "Lease", "metadata": meta, "spec": spec}
        create(self._registry, document, self.start)


class TwoSchedulers(Electing):
    """A leads and gives up, B leads and is killed, A leads again."""

    async def _play(self) -> None:
        one, two, three = self._times_of_standing()
        ends, is_killed = self._time_of("SIGTERM to A"), self._time_of("SIGKILL to B")
        gives_back = [line["t_ms"] for line in self._recorded if line["what"] == "request"][-2]
        async with self._served(), AsyncExitStack() as stack:
            await self._act_until(one)
            first = await self._standing(stack, "A", one)
            await self._act_until(two, one)
            second = await self._standing(stack, "B", two)
            await self._act_until(ends, two)
            await first.terminate()
            await self._act_until(three, ends)
            third = await self._standing(stack, "A", three)
            await self._act_until(is_killed, three)
            await second.kill()
            await self._act_until(gives_back, is_killed)
            await third.terminate()
            await asyncio.sleep(AFTER_S)

    def perform(self, action: Line, now: int) -> None:
        if not action["do"].startswith("SIG"):
            super().perform(action, now)

    async def _standing(self, stack: AsyncExitStack, who: str, at_ms: float) -> Process:
        client = await stack.enter_async_context(self._connected())
        process = Process(self, client, who, self._draws(who, at_ms))
        await process.stand()
        return process

    def _times_of_standing(self) -> list[float]:
        """When each process first asked for the Lease: after it had asked for everything else."""
        times, standing = [], set[str]()
        for line in self._recorded:
            if line["what"] == "request" and line["data"]["path"] == "/apis/events.k8s.io/v1":
                standing.add(line["data"]["who"])  # which is what a new process asks first
            elif line["what"] == "request" and line["data"]["path"] == LEASE and line["data"]["who"] in standing:
                standing.remove(line["data"]["who"])
                times.append(line["t_ms"])
        return times

    def _draws(self, who: str, since_ms: float) -> Iterator[float]:
        """What was drawn for the pauses of a process that waits."""
        answered_at = None
        for line in self._recorded:
            if line["t_ms"] < since_ms or line["data"].get("who") != who or line["data"].get("path") != LEASE:
                continue
            if line["what"] == "response":
                answered_at = line["t_ms"]
            elif line["data"].get("method") == "GET" and answered_at is not None:
                yield ((line["t_ms"] - answered_at) / RETRY_MS - 1) / JITTER_FACTOR
            elif line["data"].get("method") == "PUT":
                return

    def _time_of(self, word: str) -> float:
        return next(at for at, action in self.story.actions if action["do"].startswith(word))


class LeaseTrouble(Recorder):
    """Refuses what was refused, once the story has begun."""

    troubles_reads = True
    has_begun = False

    def fault_of(self, key: str) -> Fault:
        return super().fault_of(key) if self.has_begun else Fault()


class RefusedLease(Electing):
    """A leader whose renewals are refused, until it gives up."""

    recorder_class = LeaseTrouble
    begins_before = 500 * MILLISECOND

    async def _play(self) -> None:
        second_renewal = next(one["t_ms"] for one in self._recorded if one["what"] == "request")
        async with self._served(), self._connected() as client:
            assert isinstance(self.recorder, LeaseTrouble)
            await self._until(self.at(second_renewal - RETRY_MS - 30))
            election = load_configuration(None, release=DEFAULT_RELEASE).leader_election
            elector = LeaderElector(client, election, IDENTITY, "default-scheduler", clock=ElectionClock(self))
            running = asyncio.ensure_future(elector.run())
            await self._until(self.start)
            self.recorder.has_begun = True
            await self._until(self.at(self.story.ends_ms))
            with pytest.raises(LeaseLostError):
                await asyncio.wait_for(running, AFTER_S)


def _is_write_of_lease(line: Line) -> bool:
    return line["what"] == "request" and (line["data"]["method"], line["data"]["path"]) == ("PUT", LEASE)
