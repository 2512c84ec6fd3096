"""Pods come and go in a live cluster for as long as you like: does `bayplan run` grow, leak or slow down?

    python benchmarks/live_churn.py [--seconds 3600] [--nodes 500] [--rate 50] [--alive 60] [--every 60]

So many pods a second are created, and deleted when they have lived for so many seconds. One in a hundred fits nowhere.
Each minute a line says what the scheduler's process takes (memory, open files, CPU) and how long pods waited from their
creation to the moment when a watch showed their node. Without `--kubeconfig` the cluster is `bayplan up --no-scheduler`
in another process. The last line compares the first and the last third of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import tempfile
import time
from collections import deque
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from live_load import CONFIGURATION, PODS, SCHEDULER, Load, cpu_seconds, megabytes, node, pod, up

from bayplan.client.connecting import connect
from bayplan.client.contract import LostError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient

MISFIT_EVERY = 100
DELETE_NOW = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}).encode()


class Churn:
    """Pods that come, are bound and go, and what was seen of them."""

    def __init__(self, client: HttpClient, rate: float, alive_s: float) -> None:
        self._client = client
        self._load = Load(client)
        self._rate, self._alive_s = rate, alive_s
        self._leaving: deque[tuple[float, str]] = deque()
        self._under_way: set[asyncio.Task[Any]] = set()
        self.created_at: dict[str, float] = {}  # of pods that have no node yet
        self.waited_s: list[float] = []

    async def create(self) -> None:
        """Until cancelled, and never faster than the rate."""
        began = time.monotonic()
        for number in range(1 << 60):
            await asyncio.sleep(began + number / self._rate - time.monotonic())
            fits = number % MISFIT_EVERY != 0
            name = f"{'web' if fits else 'huge'}-{number:07}"
            self._begin(self._post(name, "100m" if fits else "64", is_measured=fits))

    async def _post(self, name: str, cpu: str, *, is_measured: bool) -> None:
        if is_measured:
            self.created_at[name] = time.monotonic()
        await self._load.create(PODS, [pod(name, cpu)])
        self._leaving.append((time.monotonic() + self._alive_s, name))

    async def delete(self) -> None:
        """Until cancelled: who has lived long enough."""
        while True:
            await asyncio.sleep(0.01)
            while self._leaving and self._leaving[0][0] <= time.monotonic():
                name = self._leaving.popleft()[1]
                self.created_at.pop(name, None)
                self._begin(self._client.request("DELETE", f"{PODS}/{name}", DELETE_NOW))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def watch(self, version: str) -> None:
        """Until cancelled: when pods get their nodes."""
        while True:
            try:
                async with self._client.stream(f"{PODS}?watch=true&resourceVersion={version}") as stream:
                    rest = b""
                    async for chunk in stream:
                        *lines, rest = (rest + chunk).split(b"\n")
                        for line in filter(None, lines):
                            version = self._see(json.loads(line)["object"]) or version
            except LostError:
                pass

    def _see(self, document: dict[str, Any]) -> str:
        name = document["metadata"].get("name", "")
        if document["spec"].get("nodeName") and name in self.created_at:
            self.waited_s.append(time.monotonic() - self.created_at.pop(name))
        return str(document["metadata"]["resourceVersion"])


class Reporter:
    """Looks at a process every minute."""

    def __init__(self, pid: int, churn: Churn) -> None:
        self._pid, self._churn = pid, churn
        self._cpu_s = cpu_seconds(pid)
        self._began = self._looked_at = time.monotonic()
        self.lines: list[dict[str, Any]] = []

    def look(self) -> None:
        waited, self._churn.waited_s = sorted(self._churn.waited_s), []
        now, cpu_s = time.monotonic(), cpu_seconds(self._pid)
        percentiles = quantiles(waited, n=100) if len(waited) > 1 else [0.0] * 99
        line = {
            "second": round(now - self._began),
            "bound": len(waited),
            "waiting": len(self._churn.created_at),
            "memory_mb": megabytes(self._pid, "VmRSS"),
            "open_files": len([*Path(f"/proc/{self._pid}/fd").iterdir()]),
            "cpu_percent": round(100 * (cpu_s - self._cpu_s) / (now - self._looked_at), 1),
            "p50_ms": round(1000 * percentiles[49], 1),
            "p90_ms": round(1000 * percentiles[89], 1),
            "p99_ms": round(1000 * percentiles[98], 1),
            "max_ms": round(1000 * (waited[-1] if waited else 0.0), 1),
        }
        self._cpu_s, self._looked_at = cpu_s, now
        self.lines.append(line)
        print(json.dumps(line), flush=True)

    def compare(self) -> dict[str, Any]:
        """The mean of the last third against that of the first, for what must not grow."""
        third = max(1, len(self.lines) // 3)
        compared = {}
        for name in ("memory_mb", "open_files", "cpu_percent", "p50_ms", "p99_ms"):
            first, last = (mean(line[name] for line in part) for part in (self.lines[:third], self.lines[-third:]))
            compared[name] = {"first": round(first, 1), "last": round(last, 1)}
        return compared


async def churn_for(arguments: argparse.Namespace, client: HttpClient, command: list[str], log: Path) -> None:
    load = Load(client)
    await load.create("/api/v1/nodes", map(node, range(arguments.nodes)))
    churn = Churn(client, arguments.rate, arguments.alive)
    with log.open("wb") as out:
        scheduler = await asyncio.create_subprocess_exec(*command, stdout=out, stderr=out)
    work = [asyncio.ensure_future(each) for each in (churn.watch(await load.version()), churn.create(), churn.delete())]
    # Pods are alive for a while before the first goes; growth until then says nothing.
    await asyncio.sleep(arguments.alive)
    churn.waited_s.clear()
    reporter = Reporter(scheduler.pid, churn)
    ends_at = time.monotonic() + arguments.seconds
    while time.monotonic() < ends_at and scheduler.returncode is None:
        await asyncio.sleep(min(arguments.every, max(0.1, ends_at - time.monotonic())))
        if scheduler.returncode is None:
            reporter.look()
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    if scheduler.returncode is not None:
        raise SystemExit(f"the scheduler ended: {log.read_text()[-2000:]}")
    print(json.dumps({"compared": reporter.compare()}))
    scheduler.terminate()
    await scheduler.wait()


async def run(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server, kubeconfig = None, arguments.kubeconfig
        if kubeconfig is None:
            server, kubeconfig = await up(folder)
        config = folder / "config.yaml"
        config.write_text(CONFIGURATION.replace("KUBECONFIG", kubeconfig))
        command = shlex.split(arguments.scheduler.replace("KUBECONFIG", kubeconfig).replace("CONFIG", str(config)))
        client = connect(kubeconfig)
        try:
            await churn_for(arguments, client, command, folder / "log")
        finally:
            await client.close()
            if server is not None:
                server.terminate()
                await server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--rate", type=float, default=50.0, help="pods a second")
    parser.add_argument("--alive", type=float, default=60.0, help="how many seconds a pod lives")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two lines")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--scheduler", default=SCHEDULER)
    run_event_loop(run(parser.parse_args()))


if __name__ == "__main__":
    main()
