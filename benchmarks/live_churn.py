"""Pods come and go in a live cluster for as long as you like: do `bayplan up` and `run` grow, leak or slow down?

    python benchmarks/live_churn.py [--embedded] [--seconds 3600] [--nodes 500] [--rate 50] [--alive 60] [--out FILE]

Creates pods at a steady rate, or slower if the machine is too busy, and deletes each after it has lived for a while.
No two are alike: each has labels and requests of its own, one in five a spread constraint, one in seven
anti-affinity, one in ten a Job, and one in a hundred fits nowhere. The cluster is `bayplan up --state` in another
process; the scheduler is `bayplan run` in a third, or with `--embedded` the one inside `up`. Each minute a line of
JSON says how long pods waited, and what each process takes: memory, open files, processor time, pauses of its garbage
collector; for `up` also its state file. The last line compares the first and the last third. `churn_plot.py` draws
the lines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from live_load import CONFIGURATION, PODS, Load, cpu_seconds, megabytes, node, pod

from bayplan.client.connecting import connect
from bayplan.client.contract import LostError
from bayplan.client.event_loop import run_event_loop
from bayplan.client.http import HttpClient

JOBS = "/apis/batch/v1/namespaces/default/jobs"
MISFIT_EVERY, SPREAD_EVERY, APART_EVERY, JOB_EVERY = 100, 5, 7, 10
WAITING_MAX = 250
DELETE_NOW = json.dumps({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}).encode()
WATCHED = Path(__file__).parent / "watched_process.py"
HOSTNAME = "kubernetes.io/hostname"


def distinct_pod(number: int) -> dict[str, Any]:
    """A pod that shares nothing with any other."""
    name = f"job-{number:07}"
    selector = {"matchLabels": {"job-name": name}}
    spec: dict[str, Any] = {}
    if number % SPREAD_EVERY == 0:
        constraint = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
        spec["topologySpreadConstraints"] = [{**constraint, "labelSelector": selector}]
    if number % APART_EVERY == 0:
        term = {"topologyKey": HOSTNAME, "labelSelector": selector}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = pod(name, "64" if number % MISFIT_EVERY == 0 else f"{50 + number % 100}m", **spec)
    made["metadata"]["labels"] = {"job-name": name, "batch.kubernetes.io/controller-uid": f"uid-{number}"}
    made["spec"]["containers"][0]["resources"]["requests"]["memory"] = f"{64 * 1024 + number % 30_000}Ki"
    return made


def job(number: int) -> dict[str, Any]:
    """A Job of one such pod."""
    template = distinct_pod(number)
    name = template["metadata"].pop("name")
    template["metadata"]["labels"] = {"app": name}
    template["spec"]["restartPolicy"] = "Never"
    spec = {"template": {"metadata": template["metadata"], "spec": template["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


class Churn:
    """Pods that come, are bound and go, and what was seen of them."""

    def __init__(self, client: HttpClient, rate: float, alive_s: float) -> None:
        self._client = client
        self._rate, self._alive_s = rate, alive_s
        self._leaving: deque[tuple[float, str, str]] = deque()
        self._under_way: set[asyncio.Task[Any]] = set()
        self.created_at: dict[str, float] = {}  # of pods that have no node yet, by the name of the Job
        self.waited_s: list[float] = []
        self.created = 0

    async def create(self) -> None:
        """Until canceled: never faster than the rate, and not while too many wait, as on a machine with other work."""
        due = time.monotonic()
        for number in range(1, 1 << 60):
            due = max(due + 1 / self._rate, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
            while len(self.created_at) >= WAITING_MAX:
                await asyncio.sleep(0.05)
            self._begin(self._post(number))
            self.created = number

    async def _post(self, number: int) -> None:
        path, document = (JOBS, job(number)) if number % JOB_EVERY == 0 else (PODS, distinct_pod(number))
        name = document["metadata"]["name"]
        if number % MISFIT_EVERY:
            self.created_at[name] = time.monotonic()
        response = await self._client.request("POST", path, json.dumps(document).encode())
        if not response.ok:
            raise SystemExit(f"POST {path}: {response.status} {response.body[:300]!r}")
        self._leaving.append((time.monotonic() + self._alive_s, path, name))

    async def delete(self) -> None:
        """Until canceled: what has lived long enough."""
        while True:
            await asyncio.sleep(0.01)
            while self._leaving and self._leaving[0][0] <= time.monotonic():
                _, path, name = self._leaving.popleft()
                self.created_at.pop(name, None)
                how = "?propagationPolicy=Background" if path == JOBS else ""
                self._begin(self._client.request("DELETE", f"{path}/{name}{how}", DELETE_NOW))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def settle(self) -> None:
        """Waits for what is under way."""
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def watch(self, version: str) -> None:
        """Until canceled: when pods get their nodes."""
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
        labels = document["metadata"].get("labels", {})
        name = labels.get("job-name", "")
        if document["spec"].get("nodeName") and name in self.created_at:
            self.waited_s.append(time.monotonic() - self.created_at.pop(name))
        return str(document["metadata"]["resourceVersion"])


@dataclass
class Subject:
    """A process under observation."""

    name: str
    process: asyncio.subprocess.Process
    collections: Path
    state: Path | None = None

    def __post_init__(self) -> None:
        self._cpu_s = cpu_seconds(self.process.pid)
        self._looked_at = time.monotonic()
        self._read = 0

    def look(self) -> dict[str, Any]:
        pid, now, cpu_s = self.process.pid, time.monotonic(), cpu_seconds(self.process.pid)
        figures = {
            "memory_mb": megabytes(pid, "VmRSS"),
            "open_files": len([*Path(f"/proc/{pid}/fd").iterdir()]),
            "cpu_percent": round(100 * (cpu_s - self._cpu_s) / (now - self._looked_at), 1),
            **self._pauses(),
        }
        self._cpu_s, self._looked_at = cpu_s, now
        if self.state is not None:
            figures["state_mb"] = round(sum(_size(Path(f"{self.state}{end}")) for end in ("", "-wal")) / 1e6, 1)
        return figures

    def _pauses(self) -> dict[str, Any]:
        """Of the collections since the last look."""
        with self.collections.open() as file:
            file.seek(self._read)
            rows = [[int(number) for number in line.split()] for line in file]
            self._read = file.tell()
        longest = {"wall": max((row[1] for row in rows), default=0), "cpu": max((row[2] for row in rows), default=0)}
        return {"collections": len(rows), **{f"gc_max_{how}_ms": round(ns / 1e6, 2) for how, ns in longest.items()}}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class Reporter:
    """Looks at the processes every minute."""

    def __init__(self, subjects: list[Subject], churn: Churn, out: Path | None) -> None:
        self._subjects, self._churn, self._out = subjects, churn, out
        self._began = time.monotonic()
        self.lines: list[dict[str, Any]] = []
        if out is not None:
            out.write_text("")

    def look(self) -> None:
        waited, self._churn.waited_s = sorted(self._churn.waited_s), []
        percentiles = quantiles(waited, n=100) if len(waited) > 1 else [0.0] * 99
        line = {
            "second": round(time.monotonic() - self._began),
            "created": self._churn.created,
            "bound": len(waited),
            "waiting": len(self._churn.created_at),
            "p50_ms": round(1000 * percentiles[49], 1),
            "p90_ms": round(1000 * percentiles[89], 1),
            "p99_ms": round(1000 * percentiles[98], 1),
            "max_ms": round(1000 * (waited[-1] if waited else 0.0), 1),
            "load": os.getloadavg()[0],
            **{subject.name: subject.look() for subject in self._subjects},
        }
        self.lines.append(line)
        print(json.dumps(line), flush=True)
        if self._out is not None:
            with self._out.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def compare(self) -> dict[str, Any]:
        """The mean of the last third against that of the first, for what must not grow."""
        third = max(1, len(self.lines) // 3)
        first, last = self.lines[:third], self.lines[-third:]
        compared = {name: _means(first, last, lambda line, name=name: line[name]) for name in ("p50_ms", "p99_ms")}
        for subject in self._subjects:
            for name in ("memory_mb", "open_files", "cpu_percent", "gc_max_cpu_ms", "state_mb"):
                if name in first[0][subject.name]:
                    read = lambda line, of=subject.name, name=name: line[of][name]  # noqa: E731
                    compared[f"{subject.name} {name}"] = _means(first, last, read)
        return compared


def _means(first: list[Any], last: list[Any], read: Any) -> dict[str, float]:
    return {"first": round(mean(map(read, first)), 1), "last": round(mean(map(read, last)), 1)}


async def churn_for(arguments: argparse.Namespace, client: HttpClient, subjects: list[Subject]) -> None:
    churn = Churn(client, arguments.rate, arguments.alive)
    version = await Load(client).version()
    work = [asyncio.ensure_future(each) for each in (churn.watch(version), churn.create(), churn.delete())]
    # Pods are alive for a while before the first goes; growth until then says nothing.
    await asyncio.sleep(arguments.alive)
    churn.waited_s.clear()
    reporter = Reporter(subjects, churn, arguments.out)
    for subject in subjects:
        subject.look()
    ends_at = time.monotonic() + arguments.seconds
    while time.monotonic() < ends_at:
        await asyncio.sleep(min(arguments.every, max(0.1, ends_at - time.monotonic())))
        for subject in subjects:
            if subject.process.returncode is not None:
                raise SystemExit(f"{subject.name} ended with {subject.process.returncode}")
        reporter.look()
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    await churn.settle()
    print(json.dumps({"compared": reporter.compare()}))


@asynccontextmanager
async def started(folder: Path, name: str, *options: str, **about: Any) -> AsyncIterator[Subject]:
    """A command in a process of its own, which ends with the block."""
    collections = folder / f"{name}.collections"
    collections.touch()
    command = (sys.executable, str(WATCHED), str(collections), name, *options)
    with (folder / f"{name}.log").open("wb") as log:
        # In a session of its own, which Linux gives a share of the processors of its own.
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, start_new_session=True)
    try:
        yield Subject(name, process, collections, **about)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _until_up(log: Path) -> None:
    while "Cluster ready" not in log.read_text():
        await asyncio.sleep(0.1)


async def run(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kubeconfig, state = str(folder / "kubeconfig"), folder / "state.db"
        flags = ["--nodes", "0", "--listen", "127.0.0.1:0", "--speed", "100x", "--write-kubeconfig", kubeconfig]
        flags += ["--state", str(state), *([] if arguments.embedded else ["--no-scheduler"])]
        async with started(folder, "up", *flags, state=state) as server:
            await _until_up(folder / "up.log")
            client = connect(kubeconfig)
            try:
                await Load(client).create("/api/v1/nodes", map(node, range(arguments.nodes)))
                if arguments.embedded:
                    await churn_for(arguments, client, [server])
                    return
                config = folder / "config.yaml"
                config.write_text(CONFIGURATION.replace("KUBECONFIG", kubeconfig))
                options = ("--kubeconfig", kubeconfig, "--config", str(config), "--secure-port", "0")
                async with started(folder, "run", *options) as scheduler:
                    await churn_for(arguments, client, [server, scheduler])
            finally:
                await client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedded", action="store_true", help="use the scheduler inside `bayplan up`")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--rate", type=float, default=50.0, help="pods a second")
    parser.add_argument("--alive", type=float, default=60.0, help="how many seconds a pod lives")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two lines")
    parser.add_argument("--out", type=Path, help="where to write the lines")
    run_event_loop(run(parser.parse_args()))


if __name__ == "__main__":
    main()
