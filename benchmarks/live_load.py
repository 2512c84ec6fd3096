"""How fast `bayplan run` binds the pods of a live cluster, and what that costs.

    python benchmarks/live_load.py basic   [--nodes 1000] [--pods 5000] [--kubeconfig F] [--scheduler "COMMAND"]
    python benchmarks/live_load.py preempt [--nodes 500] [--pods 500] …
    python benchmarks/live_load.py start   [--nodes 5000] [--pods 100000] …

Fills the cluster, starts the scheduler in a process of its own and watches what gets bound. `preempt`: each node is
full with four small pods, and each pod must evict three. `start`: all pods run, one more waits. Without a kubeconfig
the cluster is `bayplan up --no-scheduler` in another process. In a scheduler's command KUBECONFIG and CONFIG stand for
files. As the machine may have other work, the CPU time for each pod is the figure to compare.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bayplan.client.connecting import connect
from bayplan.client.contract import LostError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient

PODS = "/api/v1/namespaces/default/pods"
BAYPLAN = Path(sys.executable).parent / "bayplan"
SCHEDULER = f"{BAYPLAN} run --kubeconfig KUBECONFIG --config CONFIG --secure-port 0"
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: KUBECONFIG, qps: 5000, burst: 5000}
"""
AT_ONCE = 24
SIZES = {"basic": (1_000, 5_000), "preempt": (500, 500), "start": (5_000, 100_000)}


def node(number: int) -> dict[str, Any]:
    name = f"node-{number:05}"
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "100Mi"}}
    container = {"name": "main", "image": "pause", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name.partition("-")[0]}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Line(msgspec.Struct):
    type: str
    object: _Pod


_decode = msgspec.json.Decoder(_Line).decode


@dataclass
class Watcher:
    """Sees pods called `wanted-…` get their nodes."""

    wanted: int
    nodes: dict[str, str] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    twice: int = 0
    deleted: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, client: HttpClient, version: str) -> None:
        while True:
            path = f"{PODS}?watch=true&resourceVersion={version}&allowWatchBookmarks=true"
            try:
                async with client.stream(path) as stream:
                    rest = b""
                    async for chunk in stream:
                        *lines, rest = (rest + chunk).split(b"\n")
                        for line in filter(None, lines):
                            version = self._see(_decode(line)) or version
            except LostError:
                pass

    def _see(self, line: _Line) -> str:
        name, node_name = line.object.metadata.name, line.object.spec.node_name
        if line.type == "DELETED":
            self.deleted += 1
        elif node_name and name.startswith("wanted-"):
            known = self.nodes.setdefault(name, node_name)
            self.twice += known != node_name
            if len(self.nodes) > len(self.times):
                self.times.append(time.monotonic())
            if len(self.nodes) == self.wanted:
                self.done.set()
        return line.object.metadata.resource_version


class Load:
    """Fills a cluster."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def create(self, path: str, documents: Iterable[dict[str, Any]]) -> None:
        await self._each(lambda document: self._post(path, document), documents)

    async def _post(self, path: str, document: dict[str, Any]) -> None:
        response = await self._client.request("POST", path, json.dumps(document).encode())
        if not response.ok:
            raise SystemExit(f"POST {path}: {response.status} {response.body[:300]!r}")

    async def _each(self, do: Callable[[dict[str, Any]], Awaitable[None]], items: Iterable[dict[str, Any]]) -> None:
        left = iter(items)

        async def work() -> None:
            for item in left:
                await do(item)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    async def fill(self, workload: str, nodes: int, pods: int) -> int:
        """How many pods are to be bound."""
        await self.create("/api/v1/nodes", map(node, range(nodes)))
        if workload == "start":
            running = (pod(f"web-{i:06}", "10m", nodeName=f"node-{i % nodes:05}") for i in range(pods))
            await self.create(PODS, running)
            await self.create(PODS, [pod("wanted-0", "100m")])
            return 1
        if workload == "preempt":
            important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
            path = "/apis/scheduling.k8s.io/v1/priorityclasses"
            await self.create(path, [{**important, "metadata": {"name": "important"}}])
            low = (pod(f"low-{i:06}", "900m", nodeName=f"node-{i // 4:05}") for i in range(4 * nodes))
            await self.create(PODS, low)
            spec = {"priorityClassName": "important"}
            await self.create(PODS, (pod(f"wanted-{i:06}", "3", **spec) for i in range(pods)))
            return pods
        await self.create(PODS, (pod(f"wanted-{i:06}", "100m") for i in range(pods)))
        return pods

    async def version(self) -> str:
        body = (await self._client.request("GET", f"{PODS}?limit=1")).body
        return str(json.loads(body)["metadata"]["resourceVersion"])


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


async def measure(command: list[str], watcher: Watcher, limit_s: float, log: Path) -> dict[str, Any]:
    with log.open("wb") as out:
        started_at = time.monotonic()
        process = await asyncio.create_subprocess_exec(*command, stdout=out, stderr=out)
    cpu_at_first = None
    while not watcher.done.is_set() and process.returncode is None and time.monotonic() - started_at < limit_s:
        await asyncio.sleep(0.01)
        if cpu_at_first is None and watcher.times:
            cpu_at_first = cpu_seconds(process.pid)
    if process.returncode is not None:
        raise SystemExit(f"the scheduler ended: {log.read_text()[-2000:]}")
    cpu, peak = cpu_seconds(process.pid), megabytes(process.pid, "VmHWM")
    times = watcher.times or [started_at]
    span = times[-1] - times[0]
    await asyncio.sleep(5.0 if len(times) > 1 else 0.0)  # for the events of the last ones
    figures = {
        "bound": len(watcher.nodes),
        "of": watcher.wanted,
        "bound_twice": watcher.twice,
        "deleted": watcher.deleted,
        "first_bind_s": round(times[0] - started_at, 2),
        "last_bind_s": round(times[-1] - started_at, 2),
        "pods_per_s": round(len(times) / span) if span else None,
        "start_cpu_s": round(cpu_at_first or cpu, 2),
        "cpu_ms_per_pod": round(1000 * (cpu - (cpu_at_first or cpu)) / len(times), 3),
        "cpu_ms_per_pod_with_events": round(1000 * (cpu_seconds(process.pid) - (cpu_at_first or cpu)) / len(times), 3),
        "peak_mb": peak,
    }
    process.terminate()
    await process.wait()
    return figures


async def up(folder: Path) -> tuple[asyncio.subprocess.Process, str]:
    """A cluster of our own."""
    kubeconfig = folder / "kubeconfig"
    flags = ("--no-scheduler", "--nodes", "0", "--listen", "127.0.0.1:0", "--speed", "100x")
    process = await asyncio.create_subprocess_exec(
        str(BAYPLAN), "up", *flags, "--write-kubeconfig", str(kubeconfig), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    return process, str(kubeconfig)


async def run(arguments: argparse.Namespace) -> None:
    nodes, pods = SIZES[arguments.workload]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = None
        kubeconfig = arguments.kubeconfig
        if kubeconfig is None:
            server, kubeconfig = await up(folder)
        config = folder / "config.yaml"
        config.write_text(CONFIGURATION.replace("KUBECONFIG", kubeconfig))
        client = connect(kubeconfig)
        try:
            load = Load(client)
            began = time.monotonic()
            wanted = await load.fill(arguments.workload, arguments.nodes or nodes, arguments.pods or pods)
            print(f"filled in {time.monotonic() - began:.1f} s", file=sys.stderr)
            watcher = Watcher(wanted)
            following = asyncio.ensure_future(watcher.follow(client, await load.version()))
            text = arguments.scheduler.replace("KUBECONFIG", kubeconfig).replace("CONFIG", str(config))
            server_cpu = 0.0 if server is None else cpu_seconds(server.pid)
            figures = await measure(shlex.split(text), watcher, arguments.limit, folder / "log")
            following.cancel()
            if server is not None:
                spent = cpu_seconds(server.pid) - server_cpu
                figures["server_cpu_ms_per_pod_with_events"] = round(1000 * spent / wanted, 3)
                figures["server_peak_mb"] = megabytes(server.pid, "VmHWM")
            print(json.dumps({"workload": arguments.workload, **figures}))
            if arguments.log:
                Path(arguments.log).write_bytes((folder / "log").read_bytes())
        finally:
            await client.close()
            if server is not None:
                server.terminate()
                await server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=list(SIZES))
    parser.add_argument("--kubeconfig")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--scheduler", default=SCHEDULER)
    parser.add_argument("--log", help="where to keep what the scheduler says")
    run_event_loop(run(parser.parse_args()))


if __name__ == "__main__":
    main()
