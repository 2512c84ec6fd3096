"""`bayplan up --state FILE`, killed with kill -9 at random moments under load, again and again.

    python benchmarks/kill_nine.py [--rounds 100] [--seed 0]

Each round starts the server on the same file, checks what it finds, writes to it from several connections and kills it.
What was acknowledged must be there, with its uid and no older than acknowledged; what was deleted must be gone;
versions go on; a watcher that resumes from the last version it saw hears of every change exactly once; and pods that
were waiting are scheduled. Writes whose answer never came may have happened or not. Ends with 1 at the first fault.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from api_load import TOKEN, Connection

MAPS, PODS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods"
WRITERS = 4
NAMES_OF_EACH = 30
PATIENCE_S = 30.0
MERGE = "application/merge-patch+json"


class Fault(Exception):  # noqa: N818 - what the benchmark looks for
    """Something was lost, or came twice."""


@dataclass
class Known:
    """What clients know, across all lives of the server."""

    acknowledged: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """Objects as last acknowledged, None if deleted; those with a write under way are not here."""
    watched: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Objects as the watcher has seen them."""
    seen: int = 0
    """The last version that the watcher saw."""
    version: int = 0
    """The newest version that was acknowledged."""
    writes: int = 0
    events: int = 0


class Life:
    """One life of the server, from its start to its end."""

    def __init__(self, known: Known, folder: Path, rng: Random) -> None:
        self._known = known
        self._folder = folder
        self._rng = rng
        self._port = 0
        self._process: asyncio.subprocess.Process

    async def start(self) -> None:
        program = str(Path(sys.executable).with_name("bayplan"))
        options = ["--listen", "127.0.0.1:0", "--token", TOKEN, "--nodes", "2", "--speed", "100x"]
        files = ["--state", str(self._folder / "state"), "--write-kubeconfig", str(self._folder / "kubeconfig")]
        self._process = await asyncio.create_subprocess_exec(
            program, "up", *options, *files, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        if "http" not in line:
            raise Fault(f"the server does not start: {line!r}")
        self._port = int(line.rstrip().rpartition(":")[2])

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()

    async def check(self, number: int) -> None:
        """Compares what is there with what is known."""
        connection = await Connection(self._port).open()
        marker = f"marker-{number}"
        status, answer = await connection.ask("POST", MAPS, _map(marker, 0))
        if status != 201:
            raise Fault(f"{marker}: {status} {answer!r}")
        made = json.loads(answer)
        if int(made["metadata"]["resourceVersion"]) <= self._known.version:
            raise Fault(f"versions went back: {made['metadata']['resourceVersion']} after {self._known.version}")
        self._known.acknowledged[marker] = made
        stored = {
            item["metadata"]["name"]: item for item in json.loads((await connection.ask("GET", MAPS))[1])["items"]
        }
        for name, acknowledged in self._known.acknowledged.items():
            _compare(name, acknowledged, stored.get(name))
        await self._watch(lambda: marker in self._known.watched)
        watched = {name: item["metadata"]["resourceVersion"] for name, item in self._known.watched.items()}
        there = {name: item["metadata"]["resourceVersion"] for name, item in stored.items()}
        if watched != there:
            raise Fault(f"the watcher knows {set(watched.items()) ^ set(there.items())} differently")
        await self._check_pods(connection)
        # Whatever became of writes without an answer is known now.
        self._known.acknowledged = dict(stored)

    async def _check_pods(self, connection: Connection) -> None:
        """All pods are bound in the end; then they go."""
        for _ in range(int(PATIENCE_S * 10)):
            pods = json.loads((await connection.ask("GET", PODS))[1])["items"]
            waiting = [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
            if not waiting:
                break
            await asyncio.sleep(0.1)
        else:
            raise Fault(f"pods are not scheduled: {waiting}")
        for pod in pods:
            await connection.ask("DELETE", f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")

    async def load(self, seconds: float) -> None:
        """Writes and watches until the server is killed."""
        writers = [asyncio.ensure_future(self._write(writer)) for writer in range(WRITERS)]
        watcher = asyncio.ensure_future(self._watch(lambda: False))
        await asyncio.sleep(seconds)
        await self.kill()
        for task in (*writers, watcher):
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await task

    async def _write(self, writer: int) -> None:
        connection, known = await Connection(self._port).open(), self._known
        for count in range(1_000_000):
            name = f"m-{writer}-{self._rng.randrange(NAMES_OF_EACH)}"
            before = known.acknowledged.pop(name, None)  # unknown while the write is under way
            if before is None:
                status, answer = await connection.ask("POST", MAPS, _map(name, count))
            elif self._rng.random() < 0.3:
                status, answer = await connection.ask("DELETE", f"{MAPS}/{name}")
            else:
                body = json.dumps({"data": {"count": str(count)}}).encode()
                status, answer = await connection.ask("PATCH", f"{MAPS}/{name}", body, media=MERGE)
            if status not in (200, 201):
                raise Fault(f"{name}: {status} {answer!r}")
            made = json.loads(answer)
            known.acknowledged[name] = made if made["kind"] == "ConfigMap" else None
            if made["kind"] == "ConfigMap":
                known.version = max(known.version, int(made["metadata"]["resourceVersion"]))
            known.writes += 1
            if count % 100 == 0:
                await connection.ask("POST", PODS, _pod(f"p-{writer}-{count}"))

    async def _watch(self, is_enough: Callable[[], bool]) -> None:
        """Resumes from the last version seen; every event must fit what is known."""
        connection = await Connection(self._port).open()
        connection.send("GET", f"{MAPS}?watch=true&resourceVersion={self._known.seen}")
        await connection.reader.readuntil(b"\r\n\r\n")
        rest = b""
        while not is_enough():
            length = int(await connection.reader.readuntil(b"\r\n"), 16)
            rest += await connection.reader.readexactly(length)
            await connection.reader.readexactly(2)
            *lines, rest = rest.split(b"\n")
            for line in lines:
                self._take(json.loads(line))
        connection.writer.close()

    def _take(self, event: dict[str, Any]) -> None:
        known, item = self._known, event["object"]
        known.events += 1
        if event["type"] == "ERROR":
            raise Fault(f"the watch cannot resume from {known.seen}: {item}")
        name, version = item["metadata"]["name"], int(item["metadata"]["resourceVersion"])
        is_first = known.seen == 0
        if version <= known.seen and not is_first:
            raise Fault(f"{event['type']} {name} of version {version} came after {known.seen}")
        if (event["type"] == "ADDED") == (name in known.watched):
            raise Fault(f"{event['type']} {name}, of which {known.watched.get(name)} was known")
        if event["type"] == "DELETED":
            del known.watched[name]
        else:
            known.watched[name] = item
        known.seen = version


def _compare(name: str, acknowledged: dict[str, Any] | None, stored: dict[str, Any] | None) -> None:
    if acknowledged is None:
        if stored is not None:
            raise Fault(f"{name} was deleted, and is back")
        return
    if stored is None:
        raise Fault(f"{name} was acknowledged, and is lost")
    for what in ("uid", "resourceVersion", "creationTimestamp"):
        if acknowledged["metadata"][what] != stored["metadata"][what]:
            raise Fault(f"{name}: {what} is {stored['metadata'][what]}, was {acknowledged['metadata'][what]}")
    if acknowledged.get("data") != stored.get("data"):
        raise Fault(f"{name}: is {stored['data']}, was {acknowledged['data']}")


def _map(name: str, count: int) -> bytes:
    metadata = {"name": name}
    return json.dumps({"kind": "ConfigMap", "metadata": metadata, "data": {"count": str(count)}}).encode()


def _pod(name: str) -> bytes:
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}}]}
    return json.dumps({"kind": "Pod", "metadata": {"name": name}, "spec": spec}).encode()


async def _main(rounds: int, seed: int) -> int:
    known, rng = Known(), Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            life = Life(known, Path(folder), rng)
            await life.start()
            try:
                await life.check(number)
                if number < rounds:
                    await life.load(rng.uniform(0.05, 1.5))
            except Fault as fault:
                print(f"round {number}: {fault}")
                return 1
            finally:
                with suppress(ProcessLookupError):
                    await life.kill()
        size = (Path(folder) / "state").stat().st_size
    print(f"{rounds} kills: {known.writes} writes acknowledged, {known.events} events seen, file of {size:,} bytes")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    raise SystemExit(asyncio.run(_main(given.rounds, given.seed)))
