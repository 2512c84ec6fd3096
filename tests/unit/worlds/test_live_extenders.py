"""Extenders of a live scheduler: asked with whole objects, given bindings to make, and never in anybody else's way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest
from tests.support.extenders import Reply, Request, serving

from bayplan.client.connecting import connect
from bayplan.client.extender_documents import KeptDocuments
from bayplan.client.extenders import bind_by_extender, connect_extenders
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.client.writes import Limits, Writer
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.testing import LiveCluster, cluster
from bayplan.worlds.extender_journal import JournaledExtender
from bayplan.worlds.journal import Player, read_head, scheduler_for
from bayplan.worlds.live import LiveWorld, SystemClock
from bayplan.worlds.live_journal import LiveJournal

Plain = dict[str, Any]
#: A thread that does nothing but wait looks around this often.
BEAT_S = 0.005


class Running:
    """A scheduler on an event loop of its own."""

    def __init__(self, api: LiveCluster, extender: Plain, journal: Path | None = None) -> None:
        self._api, self._journal = api, journal
        self._file = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [extender],
        }
        self._configuration = load_configuration(self._file, release=DEFAULT_RELEASE)
        self._stop = Event()
        self.longest_pause_s = 0.0
        self._thread = Thread(target=lambda: asyncio.run(self._run(self._configuration)), daemon=True)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    async def _run(self, configuration: Configuration) -> None:
        client, clock = connect(str(self._api.kubeconfig), environ={}), SystemClock()
        documents, started_at = KeptDocuments(configuration.extenders), clock()
        journals, note = self._journals(started_at, clock)
        extenders = connect_extenders(configuration.extenders, documents, partial(JournaledExtender, note=note))
        world = LiveWorld(
            build_scheduler(configuration, started_at=started_at, extenders=extenders),
            client,
            kinds_to_watch(configuration),
            clock=clock,
            observers=journals,
            decides_in_thread=True,
            documents=documents,
        )
        binder = partial(bind_by_extender, extenders)
        writer = Writer(client, world.find, world.answer, limits=Limits(qps=0), bind_by_extender=binder)
        work = asyncio.create_task(world.run(writer))
        await self._beat()
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await writer.drain(1)
        await client.close()
        for extender in extenders:
            extender.close()
        for journal in journals:
            journal.close()

    def _journals(self, started_at: int, clock: Any) -> tuple[list[LiveJournal], Any]:
        if self._journal is None:
            return [], lambda _: None
        head = {"startedAt": started_at, "config": self._file, "extenders": True}
        made = LiveJournal(str(self._journal), head, file_bytes=10**9, files_max=1, on_trouble=pytest.fail)
        return [made], lambda answer: made.extender_answered(answer, clock())

    async def _beat(self) -> None:
        """Until it is to stop; notes how long the loop was not to be had."""
        loop = asyncio.get_running_loop()
        while not self._stop.is_set():
            before = loop.time()
            await asyncio.sleep(BEAT_S)
            self.longest_pause_s = max(self.longest_pause_s, loop.time() - before - BEAT_S)


@pytest.fixture
def api() -> Iterator[LiveCluster]:
    with cluster(nodes=2, scheduler=False) as running:
        yield running


def pod(name: str) -> Plain:
    container = {"name": "c", "image": "registry.example/pause:1"}
    meta = {"name": name, "annotations": {"example.com/wish": "b"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def node_of(api: LiveCluster, name: str) -> str:
    return str(api.get("pod", name)["spec"].get("nodeName", ""))


def said_of(api: LiveCluster, name: str) -> str:
    conditions = api.get("pod", name)["status"].get("conditions", [])
    return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")


def test_a_hanging_extender_delays_only_until_its_timeout(api: LiveCluster) -> None:
    """The pod behind waits for as long as the extender may take, and the event loop not at all."""
    hangs = Event()
    hangs.set()

    def answer(request: Request) -> Reply:
        if request.plain["Pod"]["metadata"]["name"] == "stuck" and hangs.is_set():
            return None
        return 200, {"NodeNames": request.plain["NodeNames"]}

    with serving({"/ext/filter": answer}) as server:
        extender = {
            "urlPrefix": server.url,
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "httpTimeout": "2s",
        }
        with Running(api, extender) as running:
            api.apply(pod("first"))
            api.wait_until(lambda k: node_of(k, "first"))
            running.longest_pause_s = 0.0
            api.apply(pod("stuck"))
            api.wait_until(lambda _: len(server.requests) == 2)
            api.apply(pod("behind"))
            api.wait_until(lambda k: node_of(k, "behind"), timeout=60)
            assert running.longest_pause_s < 1.5, "leases, watches and pages go on meanwhile"
            api.wait_until(lambda k: "context deadline exceeded" in said_of(k, "stuck"))
            assert not node_of(api, "stuck")
            hangs.clear()
            api.wait_until(lambda k: node_of(k, "stuck"))


@contextmanager
def asked_with_objects(api: LiveCluster, journal: Path) -> Iterator[Any]:
    """An extender that does everything, in whole objects; it binds through the API."""

    def bind(request: Request) -> Reply:
        wanted = request.plain
        target = {"apiVersion": "v1", "kind": "Node", "name": wanted["Node"]}
        meta = {"name": wanted["PodName"], "uid": wanted["PodUID"]}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        path = f"/api/v1/namespaces/{wanted['PodNamespace']}/pods/{wanted['PodName']}/binding"
        headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "application/json"}
        urlopen(HttpRequest(api.url + path, json.dumps(body).encode(), headers)).close()
        return 200, {"Error": ""}

    replies: Any = {
        "/ext/filter": lambda request: (200, {"Nodes": request.plain["Nodes"]}),
        "/ext/prioritize": lambda request: (200, [{"Host": names_in(request)[-1], "Score": 10}]),
        "/ext/bind": bind,
    }
    with serving(replies) as server:
        extender = {
            "urlPrefix": server.url,
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "bindVerb": "bind",
            "weight": 1,
        }
        with Running(api, extender, journal):
            yield server


def names_in(request: Request) -> list[str]:
    return [str(node["metadata"]["name"]) for node in request.plain["Nodes"]["items"]]


def test_whole_objects_are_sent_and_the_extender_binds(api: LiveCluster, tmp_path: Path) -> None:
    with asked_with_objects(api, tmp_path / "journal") as server:
        api.apply(pod("p"))
        api.wait_until(lambda k: node_of(k, "p"))
        api.wait_until(lambda k: any(one["reason"] == "Scheduled" for one in k.list("events.events.k8s.io")))
    verbs = [request.path.removeprefix("/ext/") for request in server.requests]
    assert verbs == ["filter", "prioritize", "bind"]
    filtering, scoring, binding = (request.plain for request in server.requests)
    stored, nodes = api.get("pod", "p"), {node["metadata"]["name"]: node for node in api.list("nodes")}
    assert filtering["Pod"]["spec"]["dnsPolicy"] == stored["spec"]["dnsPolicy"], "of no interest to a scheduler"
    assert filtering["Pod"]["metadata"]["annotations"] == {"example.com/wish": "b"}
    assert not filtering["Pod"].keys() & {"kind", "apiVersion"}
    assert {one["metadata"]["name"]: one["status"]["nodeInfo"] for one in filtering["Nodes"]["items"]} == {
        name: node["status"]["nodeInfo"] for name, node in nodes.items()
    }
    assert scoring["Nodes"] == filtering["Nodes"]
    assert binding["Node"] == node_of(api, "p") == names_in(server.requests[0])[-1]


def test_what_happened_is_replayed_without_the_extender(api: LiveCluster, tmp_path: Path) -> None:
    with asked_with_objects(api, tmp_path / "journal"):
        for number in range(5):
            api.apply(pod(f"p{number}"))
        api.wait_until(lambda k: all(node_of(k, f"p{number}") for number in range(5)))
    lines = iter((tmp_path / "journal").read_text().splitlines())
    scheduler = scheduler_for(read_head(lines))
    left = list(lines)
    assert sum('"extender":{' in line for line in left) == 10
    assert list(Player(scheduler).play(left)) == []
