"""How much `bayplan up` takes: writes a second while many watch, lists of thousands of pods, and memory.

    python benchmarks/api_load.py [--seconds 60] [--watches 20] [--idle 200] [--everything] [--state FILE] [--profile F]

Starts the server in a process of its own and writes to it over kept connections: creates a pod, binds it, patches its
status, and deletes an old one once there are enough. Every event must reach every watch. Since the machine may have
other work, the CPU time of the server for each write is the figure to compare; rates are what was left to it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOKEN = "load"
PODS = "/api/v1/namespaces/default/pods"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ALIVE = 10_000
CONNECTIONS = 16
IDLE_PATHS = ("/api/v1/configmaps", "/api/v1/secrets", "/apis/apps/v1/deployments", "/apis/batch/v1/jobs")
STATUS = {
    "phase": "Running",
    "podIP": "10.0.0.1",
    "startTime": "2026-01-01T00:00:00Z",
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    "containerStatuses": [
        {
            **{"name": "c", "ready": True, "restartCount": 0, "image": "nginx:1", "imageID": "x"},
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
    ],
}


def _pod(name: str) -> bytes:
    resources = {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}}
    container = {"name": "c", "image": "nginx:1", "ports": [{"containerPort": 80}], "resources": resources}
    metadata = {"name": name, "labels": {"app": "web", "tier": "front"}}
    spec = {"containers": [container], "schedulerName": "load"}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


def _binding(name: str) -> bytes:
    target = {"apiVersion": "v1", "kind": "Node", "name": "node-1"}
    return json.dumps({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}).encode()


class Connection:
    """One kept connection; requests one after another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def open(self) -> Connection:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**26)
        return self

    def send(
        self, method: str, path: str, body: bytes = b"", media: str = "application/json", accept: str = "*/*"
    ) -> None:
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {TOKEN}\r\nUser-Agent: load/1\r\n"
            f"Accept: {accept}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )

    async def ask(self, method: str, path: str, body: bytes = b"", **more: str) -> tuple[int, bytes]:
        self.send(method, path, body, **more)
        head = await self.reader.readuntil(b"\r\n\r\n")
        at = head.index(b"content-length: ") + len(b"content-length: ")
        return int(head[9:12]), await self.reader.readexactly(int(head[at : head.index(b"\r", at)]))


@dataclass
class Load:
    """What was done and seen."""

    port: int
    writes: int = 0
    deletions: int = 0
    faults: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    over: bool = False

    async def write(self, worker: int) -> None:
        """Creates, binds and reports on pods until it is over."""
        connection = await Connection(self.port).open()
        names: list[str] = []
        number = 0
        while not self.over:
            name = f"load-{worker}-{number}"
            number += 1
            names.append(name)
            await self._counted(connection, "POST", PODS, _pod(name))
            await self._counted(connection, "POST", f"{PODS}/{name}/binding", _binding(name))
            body = json.dumps({"status": STATUS}).encode()
            await self._counted(connection, "PATCH", f"{PODS}/{name}/status", body, media=STRATEGIC)
            if len(names) > ALIVE // CONNECTIONS:
                path = f"{PODS}/{names.pop(0)}?gracePeriodSeconds=0"
                status, answer = await connection.ask("DELETE", path)
                self.deletions += 1
                if status != 200:
                    self.faults.append(f"DELETE {path}: {status} {answer[:200]!r}")

    async def _counted(self, connection: Connection, method: str, path: str, body: bytes, **more: str) -> None:
        started = time.perf_counter()
        status, answer = await connection.ask(method, path, body, **more)
        self.latencies.append(time.perf_counter() - started)
        self.writes += 1
        if status not in (200, 201):
            self.faults.append(f"{method} {path}: {status} {answer[:200]!r}")

    async def watch(self, number: int, path: str) -> None:
        """Counts the events of one watch."""
        connection = await Connection(self.port).open()
        connection.send("GET", f"{path}?watch=true&resourceVersion=0")
        while piece := await connection.reader.read(2**20):
            self.seen[number] += piece.count(b"}\n")
        if not self.over:
            self.faults.append(f"watch {number} of {path} ended")


async def _server(arguments: argparse.Namespace, folder: str) -> tuple[asyncio.subprocess.Process, int]:
    command = [
        str(Path(sys.executable).with_name("bayplan")),
        "up",
        "--listen",
        "127.0.0.1:0",
        "--token",
        TOKEN,
        "--nodes",
        "1",
    ]
    if arguments.profile:
        command[:1] = [sys.executable, "-m", "cProfile", "-o", arguments.profile, command[0]]
    command += ["--write-kubeconfig", f"{folder}/kubeconfig"]
    if not arguments.everything:
        command += ["--no-scheduler", "--no-controllers"]
    if arguments.state:
        command += ["--state", arguments.state]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    return process, int(line.rstrip().rpartition(":")[2])


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _measure(arguments: argparse.Namespace, port: int, pid: int) -> dict[str, Any]:
    load = Load(port)
    load.seen = [0] * (arguments.watches + arguments.idle)
    tasks = [asyncio.ensure_future(load.watch(number, PODS)) for number in range(arguments.watches)]
    for number in range(arguments.idle):
        path = IDLE_PATHS[number % len(IDLE_PATHS)]
        tasks.append(asyncio.ensure_future(load.watch(arguments.watches + number, path)))
    await asyncio.sleep(0.5)
    cpu, started, memory = _cpu_seconds(pid), time.perf_counter(), []
    writers = [asyncio.ensure_future(load.write(worker)) for worker in range(CONNECTIONS)]
    while (elapsed := time.perf_counter() - started) < arguments.seconds:
        await asyncio.sleep(min(5.0, arguments.seconds - elapsed))
        memory.append((load.writes, round(_megabytes(pid))))
    load.over = True
    await asyncio.gather(*writers)
    elapsed, cpu = time.perf_counter() - started, _cpu_seconds(pid) - cpu
    await asyncio.sleep(1.0)
    lists = await _lists(port)
    for task in tasks:
        task.cancel()
    latencies = sorted(load.latencies)
    watched = load.seen[: arguments.watches]
    if len(set(watched)) > 1:
        load.faults.append(f"watches saw different numbers of events: {sorted(set(watched))}")
    return {
        "writes a second": round(load.writes / elapsed),
        "all requests a second": round((load.writes + load.deletions) / elapsed),
        "server CPU, microseconds a request": round(cpu / (load.writes + load.deletions) * 1e6),
        "server CPU, share of a core": round(cpu / elapsed, 2),
        "writes": load.writes,
        "events seen by each watch": watched[:1],
        "latency, milliseconds": {
            "median": round(latencies[len(latencies) // 2] * 1e3, 1),
            "99 %": round(latencies[len(latencies) * 99 // 100] * 1e3, 1),
        },
        "memory, MB after writes": memory,
        **lists,
        "faults": load.faults[:5],
    }


async def _lists(port: int) -> dict[str, Any]:
    """Seconds for lists of all pods, as JSON and as a table."""
    connection = await Connection(port).open()
    found: dict[str, Any] = {}
    for form, accept in (("JSON", "application/json"), ("JSON again", "application/json"), ("table", TABLE)):
        started = time.perf_counter()
        status, body = await connection.ask("GET", PODS, accept=accept)
        seconds = time.perf_counter() - started
        answer = json.loads(body)
        rows = answer.get("items") or answer.get("rows") or []
        found[f"list as {form}"] = f"{status}, {len(rows)} pods, {len(body) / 2**20:.1f} MB in {seconds:.2f} s"
    return found


async def _main(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        process, port = await _server(arguments, folder)
        try:
            result = await _measure(arguments, port, process.pid)
        finally:
            process.terminate()
            await process.wait()
    print(json.dumps(result, indent=2))
    return 1 if result["faults"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--watches", type=int, default=20)
    parser.add_argument("--idle", type=int, default=200)
    parser.add_argument("--everything", action="store_true", help="with scheduler and controllers")
    parser.add_argument("--state", default="", help="keep the state in this file")
    parser.add_argument("--profile", default="", help="write a cProfile of the server to this file")
    raise SystemExit(asyncio.run(_main(parser.parse_args())))
