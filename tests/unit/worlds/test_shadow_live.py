"""A shadow over HTTP beside the scheduler of a cluster in this process: it agrees, explains, and writes nothing."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.simulation.test_shadow import MOST_ALLOCATED

from bayplan.cli.main import run
from bayplan.client.connecting import connect
from bayplan.client.contract import Response, Stream
from bayplan.client.http import HttpClient
from bayplan.client.watched_kinds import kinds_to_watch
from bayplan.config.loading import Configuration, load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.testing import cluster
from bayplan.testing.live_cluster import LiveCluster
from bayplan.worlds.live import LiveWorld, SystemClock
from bayplan.worlds.shadow import Shadow
from bayplan.worlds.shadow_findings import AGREED, Findings

pytestmark = pytest.mark.slow

WAITS_S = 120.0


@dataclass
class _Reading:
    """A client that notes what is asked."""

    inner: HttpClient
    methods: set[str] = field(default_factory=set)

    async def request(self, method: str, path: str, body: bytes = b"", **options: Any) -> Response:
        self.methods.add(method)
        return await self.inner.request(method, path, body, **options)

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        self.methods.add("GET")
        return self.inner.stream(path, idle_timeout_s=idle_timeout_s)

    async def close(self) -> None:
        await self.inner.close()


class ShadowThread:
    """A shadow with an event loop of its own."""

    def __init__(self, kubeconfig: Path, configuration: Configuration) -> None:
        self.methods: set[str] = set()
        self.found = Findings()
        self._world: LiveWorld | None = None
        self._kubeconfig, self._configuration = kubeconfig, configuration
        self._synced, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def start(self) -> None:
        self._thread.start()
        assert self._synced.wait(WAITS_S)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def has_seen(self, running: LiveCluster) -> bool:
        """Whether all pods are known as they are."""
        known = {} if self._world is None else self._world.objects("Pod")
        return {key: pod.metadata.resource_version for key, pod in list(known.items())} == {
            f"default/{pod['metadata']['name']}": pod["metadata"]["resourceVersion"] for pod in running.list("pods")
        }

    async def _run(self) -> None:
        clock, configuration = SystemClock(), self._configuration
        shadow = Shadow(build_profiles(configuration), configuration.gates, started_at=clock())
        client = _Reading(connect(str(self._kubeconfig)))
        world = LiveWorld(
            build_scheduler(configuration, started_at=clock(), on_choice=shadow.chosen),
            client,
            kinds_to_watch(configuration),
            clock=clock,
            observers=[shadow],
            incoming=shadow.incoming,
        )
        self._world = world
        shadow.answer_to(world.answer)
        work = asyncio.create_task(world.run(shadow))
        while not self._stopping.is_set():
            await asyncio.sleep(0.02)
            if world.is_synced:
                self._synced.set()
            for event in shadow.overdue(clock()):
                world.answer(event)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await client.close()
        self.methods, self.found = client.methods, shadow.finish(clock())


@contextmanager
def shadowed(config: dict[str, Any] | None = None) -> Iterator[tuple[LiveCluster, ShadowThread]]:
    """A cluster, and a shadow with that configuration beside its scheduler."""
    with cluster(nodes=8, speed="1x") as running:
        for name, value in (("low", 10), ("high", 1000)):
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            running.apply({**kind, "metadata": {"name": name}, "value": value})
        beside = ShadowThread(running.kubeconfig, load_configuration(config, release=DEFAULT_RELEASE))
        try:
            beside.start()
            yield running, beside
        finally:
            beside.stop()


def create_pods(running: LiveCluster, draw: random.Random, count: int, priorities: tuple[str, ...]) -> None:
    first = len(running.list("pods"))
    for number in range(first, first + count):
        requests = {"cpu": draw.choice(["500m", "1", "2"]), "memory": draw.choice(["128Mi", "1Gi", "2Gi"])}
        spec = {
            "priorityClassName": draw.choice(priorities),
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
        }
        running.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec})
        if draw.random() < 0.1:
            time.sleep(0.05)


def is_idle(running: LiveCluster) -> bool:
    """Whether every pod has a node or was refused, and nobody is leaving."""
    pods = running.list("pods")
    return all(
        not pod["metadata"].get("deletionTimestamp")
        and not pod["status"].get("nominatedNodeName")
        and (pod["spec"].get("nodeName") or pod["status"].get("conditions"))
        for pod in pods
    )


def test_it_agrees_and_writes_nothing() -> None:
    draw = random.Random(1)
    with shadowed() as (running, beside):
        create_pods(running, draw, 40, ("low",))
        create_pods(running, draw, 20, ("low", "high"))
        running.wait_until(is_idle, timeout=WAITS_S)
        running.wait_until(beside.has_seen, timeout=WAITS_S)
    found = beside.found
    assert found.placements.total() > 30
    assert sum(found.placements[kind] for kind in AGREED) >= 0.95 * found.placements.total()
    assert found.preemptions.total() > 3
    assert sum(found.preemptions[kind] for kind in AGREED) >= 0.8 * found.preemptions.total()
    assert beside.methods == {"GET"}


def test_another_profile_is_found_out_and_explained() -> None:
    draw = random.Random(2)
    with shadowed(MOST_ALLOCATED) as (running, beside):
        create_pods(running, draw, 25, ("low",))
        running.wait_until(is_idle, timeout=WAITS_S)
        running.wait_until(beside.has_seen, timeout=WAITS_S)
    assert len(beside.found.placement_differences) >= 5
    assert any("NodeResourcesFit" in difference.why for difference in beside.found.placement_differences)


def test_the_command(tmp_path: Path) -> None:
    """It ends at a signal with a summary, a report and a journal that replays, and there is no Lease of it."""
    report, journal = tmp_path / "report.json", tmp_path / "journal"
    with cluster(nodes=2) as running:
        arguments = ["run", "--shadow", "--shadow-report", str(report), "--kubeconfig", str(running.kubeconfig)]
        arguments += ["--journal", str(journal)]
        command = [sys.executable, "-c", "from bayplan.cli.main import main; main()", *arguments, "--secure-port=0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            assert "Running in shadow mode; nothing is written" in process.stderr.readline()
            time.sleep(3)
            create_pods(running, random.Random(3), 3, ("",))
            running.wait_until(is_idle, timeout=WAITS_S)
            time.sleep(1)
        finally:
            process.terminate()
        out, _ = process.communicate(timeout=WAITS_S)
        assert process.returncode == 0
        assert running.list("leases.coordination.k8s.io", "kube-system") == []
    assert out.startswith("bayplan agrees with 3 of 3 placements (100.0%).")
    assert json.loads(report.read_text())["placements"]["same"] == 3
    assert run(["replay", str(journal)]) == 0
