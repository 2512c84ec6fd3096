"""Plays a story on a served cluster: the scheduler of `bayplan run` and an API server, with HTTP between them.

Both live on one event loop, whose time passes only when neither has anything to do, so that minutes take no longer than
what happens in them. Every request takes a few milliseconds; where the recording holds one up, refuses it or loses its
answer, the same happens here. What happened is written down as the recording has it, line by line.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from tests.stories.objects import made
from tests.stories.player import EPOCH, KUBELET, LATENCIES, QUARANTINE, REQUEST, SECOND, STARTED_BEFORE, Play
from tests.stories.recording import MILLISECOND, Line, Story, story_of
from tests.stories.requests import Fault, request_key
from tests.stories.special import LEADER_AT_MS, Foreign, Restart
from tests.support.virtual_time import VirtualLoop

from bayplan.apiserver.housekeeping.standard import Housekeeping
from bayplan.apiserver.http.application import Application
from bayplan.apiserver.http.connections import ABORT
from bayplan.apiserver.http.server import Server, listening_socket
from bayplan.apiserver.projected_store import ProjectedStore
from bayplan.apiserver.registry.catalogue import Catalogue
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.apiserver.storage.storage import Storage
from bayplan.client.connecting import connect
from bayplan.client.contract import ApiClient
from bayplan.client.http import HttpClient
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Limits, Writer
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.budgets.disruption_controller import DisruptionController
from bayplan.controllers.nodes.node_lifecycle import NodeLifecycleController
from bayplan.controllers.standard import standard_controllers
from bayplan.worlds.bootstrap import bootstrap, create
from bayplan.worlds.clock import Clock
from bayplan.worlds.delays import Draws
from bayplan.worlds.embedded import EmbeddedWorld, NoScheduler
from bayplan.worlds.kubeconfig import kubeconfig
from bayplan.worlds.live import LiveWorld

TOKEN = "token"
TOKEN_IN_PATH = re.compile(r"^/token=[^/]+")
HOST = "127.0.0.1"
#: From the moment a request is sent until it takes effect, and from then until it is answered.
THERE_S, BACK_S = 0.006, 0.002
AFTER_S = 0.1  # how long it goes on after the last line

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]


class Recorder:
    """Stands before the API: takes its time, lets things go wrong, and writes down what it is asked."""

    troubles_reads: ClassVar[bool] = False

    def __init__(self, application: Application, story: Story, note: Callable[[str, Line], None]) -> None:
        self._application = application
        self._faults: dict[str, deque[Fault]] = {key: deque(faults) for key, faults in story.faults.items()}
        self._note = note

    def close(self) -> None:
        self._application.close()

    @staticmethod
    def path_of(scope: Scope) -> str:
        return TOKEN_IN_PATH.sub("", scope["path"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], self.path_of(scope)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        data: Line = {"method": method, "path": path, "query": scope["query_string"].decode(), "headers": headers}
        if method == "GET" and not self.troubles_reads:
            self._note("request", data)
            await self._application(scope, receive, send)
            return
        raw = await body_of(receive)
        body = json.loads(raw) if raw else None
        if method == "PATCH":
            data["contentType"] = headers["content-type"]
        self._note("request", {**data, "body": body})
        fault = self.fault_of(request_key(method, path, body))
        await asyncio.sleep(THERE_S)
        await self._answer(fault, scope, _replayed(raw), send)

    def fault_of(self, key: str) -> Fault:
        """What becomes of the next request of this kind."""
        faults = self._faults.get(key)
        return faults.popleft() if faults else Fault()

    async def _answer(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        spoken: Send = _late(send) if not (fault.status or fault.cut) else _silence
        if not (fault.status or fault.cut):
            await asyncio.sleep(fault.delay_ms / 1000)  # the recorder held the request up, not its answer
        if fault.forwarded:
            await self._application(scope, receive, spoken)
        if fault.status or fault.cut:
            await asyncio.sleep(fault.delay_ms / 1000)
        if fault.cut:
            scope["extensions"][ABORT]()
            await asyncio.sleep(0.001)  # until the server has noticed, and does not answer on its own
        elif fault.status:
            await self.say(fault.status, fault.body, fault.headers, send)

    async def say(self, status: int, body: Line | None, headers: Mapping[str, str], send: Send) -> None:
        """An answer that the server knows nothing of."""
        head = [(b"content-type", b"application/json")]
        head += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _late(send: Send) -> Send:
    async def late(message: Scope) -> None:
        if message["type"] == "http.response.start":
            await asyncio.sleep(BACK_S)
        await send(message)

    return late


async def _silence(_: Scope) -> None:
    pass


def _replayed(body: bytes) -> Receive:
    async def receive() -> Scope:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def body_of(receive: Receive) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


class HttpPlay(Play):
    """One story on one served cluster."""

    recorder_class: ClassVar[type[Recorder]] = Recorder
    begins_before: ClassVar[int] = STARTED_BEFORE

    def __init__(self, story: Story, folder: Path) -> None:
        self.story = story
        self.start = EPOCH + round(story.wall_ms_of_second * MILLISECOND)
        self._folder = folder
        self._lines: list[Line] = []
        registry = Registry(Storage(), Catalogue())
        self._registry = registry
        self.store = ProjectedStore(registry, "kubectl")
        self._listening = listening_socket(HOST, 0)
        self._port: int = self._listening.getsockname()[1]
        bootstrap(registry, HOST, self._port, self.start - SECOND)
        self._load()
        self.note("story", {"wall_ms_of_second": story.wall_ms_of_second})
        registry.storage.follow(self._note_change)

    def account(self) -> Story:
        """Play the story to its end; what happened."""
        return story_of(self.story.name, self.lines())

    def lines(self) -> list[Line]:
        """The same, line by line."""
        self.loop = VirtualLoop(self.start - self.begins_before)
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(self._play())
        lines: list[Line] = json.loads(self.without_addresses(json.dumps(self._lines)))
        return lines

    def without_addresses(self, text: str) -> str:
        return re.sub(rf"([^/\"]*@)?{HOST}:{self._port}(/token={TOKEN})?", "APISERVER", text)

    async def _play(self) -> None:
        async with self._served(), self._scheduling():
            await self._act_until(self.story.ends_ms)
            await asyncio.sleep(AFTER_S)

    async def _act_until(self, ends_ms: float, begins_ms: float = 0.0) -> None:
        """Do what was done from the one time to the other."""
        plan = [
            *((at, self.perform, line) for at, line in self.story.actions),
            *((at, self._follow_volume, line) for at, line in self.story.volumes),
        ]
        for at_ms, do, line in sorted(plan, key=lambda one: one[0]):
            if begins_ms <= at_ms < ends_ms:
                await self._until(self.at(at_ms) + REQUEST)
                do(line, self.now())
        await self._until(self.at(ends_ms))

    def perform(self, action: Line, now: int) -> None:
        if action["do"] == "create pv":
            for volume in made(self.story.name, action):
                document = {"apiVersion": "v1", **msgspec.to_builtins(volume)}
                document["spec"]["local"] = {"path": "/x"}  # of which the struct knows nothing
                create(self._registry, document, now)
        elif not action["do"].startswith("inject"):  # which shows in what became of requests
            super().perform(action, now)

    def now(self) -> int:
        return self.loop.time_ns()

    async def _until(self, time: int) -> None:
        await asyncio.sleep(max(time - self.now(), 0) / SECOND)

    # ------------------------------------------------------------------ the cluster

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        application = Application(self._registry, TOKEN, self.now, f"{HOST}:{self._port}", release=DEFAULT_RELEASE)
        self.recorder = self.recorder_class(application, self.story, self.note)
        server = Server(self.recorder, self._listening)
        controllers = replace(
            standard_controllers(KUBELET, DEFAULT_GATES),
            budgets=DisruptionController(lag_ns=5 * MILLISECOND),
            volumes=(),
            lifecycle=NodeLifecycleController(quarantine_ns=QUARANTINE, taints_cordoned=False),
            collectors=(),
        )
        world = EmbeddedWorld(
            self._registry,
            NoScheduler(),
            lambda: [*controllers],
            Draws(0, replace(LATENCIES, watch_ns=0)),
            Clock(self.now),
            housekeeping=Housekeeping(self._registry),
        )
        living = asyncio.ensure_future(world.run())
        serving = asyncio.ensure_future(server.serve())
        await server.started()
        try:
            yield
        finally:
            living.cancel()
            server.stop()
            await asyncio.gather(living, serving, return_exceptions=True)

    @asynccontextmanager
    async def _scheduling(self) -> AsyncIterator[None]:
        async with self._connected() as client:
            world, writer = self.parts(client)
            running = asyncio.ensure_future(world.run(writer))
            try:
                yield
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await writer.drain(1.0)

    def parts(self, client: HttpClient) -> tuple[LiveWorld, Writer]:
        """What `bayplan run` puts together."""
        configuration = load_configuration(None, release=DEFAULT_RELEASE)
        scheduler = build_scheduler(configuration, started_at=self.now())
        world = LiveWorld(scheduler, client, kinds_to_watch(configuration), clock=self.now)
        return world, self.writer(client, world, configuration)

    def writer(self, client: ApiClient, world: LiveWorld, configuration: Configuration, **more: Any) -> Writer:
        connection = configuration.client_connection
        limits = Limits(connection.qps, connection.burst)
        return Writer(client, world.find, world.answer, limits=limits, clock=self.now, host="HOST", **more)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[HttpClient]:
        file = self._folder / "kubeconfig"
        file.write_text(kubeconfig(f"http://{HOST}:{self._port}", TOKEN), encoding="utf-8")
        client = connect(str(file))
        try:
            yield client
        finally:
            await client.close()

    # ------------------------------------------------------------------ writing down

    def note(self, what: str, data: Line) -> None:
        at = (self.now() - self.start) / MILLISECOND if self._lines else 0.0
        self._lines.append({"what": what, "t_ms": at, "data": data})

    def _note_change(self, change: DocumentChange) -> None:
        document = change.new.document
        if change.resource == "pods":
            self.note("pod", _pod_line(change.type, document))
        elif change.resource == "events" and document.get("reportingComponent") == "default-scheduler":
            self.note("event", _event_line(document))


def _pod_line(kind: str, document: Line) -> Line:
    meta, spec, status = document["metadata"], document["spec"], document.get("status", {})
    line = {
        "type": kind,
        "pod": f"{meta['namespace']}/{meta['name']}",
        "uid": meta["uid"],
        "phase": status.get("phase", ""),
        "nodeName": spec.get("nodeName", ""),
        "nominatedNodeName": status.get("nominatedNodeName", ""),
        "conditions": status.get("conditions", []),
    }
    return {**line, "deletionTimestamp": ""} if "deletionTimestamp" in meta else line


def _event_line(document: Line) -> Line:
    """As events.k8s.io shows it."""
    return {
        "eventType": document["type"],
        "reason": document["reason"],
        "note": document["message"],
        "regarding": document["involvedObject"],
        "series": document.get("series"),
    }


class ForeignOverHttp(HttpPlay, Foreign):
    """Somebody else nominates one pod and binds another."""


class RestartOverHttp(HttpPlay, Restart):
    """The process is replaced by a new one that knows only what is stored."""

    async def _play(self) -> None:
        stopped_ms = next(at for at, action in self.story.actions if action["do"].startswith("SIGTERM"))
        async with self._served():
            async with self._scheduling():
                await self._act_until(stopped_ms)
            await self._act_until(LEADER_AT_MS, stopped_ms)
            async with self._scheduling():
                await self._act_until(self.story.ends_ms, LEADER_AT_MS)
                await asyncio.sleep(AFTER_S)
