"""A session of requests to `bayplan up` in a process of its own, and what was wrong with the answers.

Takes how many requests, and from which number they are made; gives what was counted and found. It sends several
requests on one connection before it reads an answer, looks at the server from another one, and reads what `watched_up`
saw of the server's event loop. Sessions of strangers carry no valid token: whatever they do, nothing may have changed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.api_requests import JSON, Template, documents, templates
from tests.fuzz.test_api_requests import REAL_INTERNAL_ERRORS
from tests.fuzz.wire_requests import Sent, request, with_token, without_token

from bayplan.apiserver.schema.resources import RESOURCES

TOKEN = "a-token-that-nobody-guesses"
STALL_MS = 50.0
#: Processor time is not the same on all machines.
SLOW_MACHINE = 4
CONNECTIONS = 3
PIPELINED_MAX = 8
STRANGERS_SHARE = 0.1
PATIENCE_S = 120.0
SHORT_S = 1.0
PROBE_S = 0.02
#: What a request without a token may be answered, and paths that are open to everybody.
REFUSED = frozenset({400, 401, 404, 405, 413, 431})
OPEN_PAGES = ("GET /dashboard/", "HEAD /dashboard/")


@dataclass
class Outcome:
    """What a session counted, and what was wrong."""

    requests: int = 0
    strangers: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    stalls: list[dict[str, Any]] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    server_cpu_s: float = 0.0


def long_stalls(stalls: list[dict[str, Any]]) -> list[str]:
    """Those that are too long on any machine."""
    return [
        f"{stall['milliseconds']:.0f} ms ({stall['where']}): {stall['request'][:600]}"
        for stall in stalls
        if stall["milliseconds"] > STALL_MS * SLOW_MACHINE
    ]


class Server:
    """`bayplan up`, watched."""

    def __init__(self, folder: Path, *, is_still: bool = False, nodes: int = 3) -> None:
        self._report, self._errors = folder / "stalls", folder / "errors"
        self._is_still = is_still
        self._nodes = nodes
        self.port = 0
        self.process: asyncio.subprocess.Process

    async def start(self) -> None:
        options = ["--listen", "127.0.0.1:0", "--token", TOKEN, "--nodes", str(self._nodes), "--speed", "100x"]
        still = ["--no-controllers", "--no-scheduler"] if self._is_still else []
        command = [sys.executable, "-m", "tests.fuzz.watched_up", str(self._report), str(STALL_MS), "up"]
        with self._errors.open("wb") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *command, *options, *still, stdout=asyncio.subprocess.PIPE, stderr=errors
            )
        assert self.process.stdout is not None
        line = (await self.process.stdout.readline()).decode()
        assert "http" in line, f"the server does not start: {line!r} {self._errors.read_text()}"
        self.port = int(line.rstrip().rpartition(":")[2])
        self._report.write_text("")  # what came before the first request

    async def end(self) -> tuple[list[dict[str, Any]], str, float]:
        """Stalls, tracebacks on standard error, and seconds of processor time."""
        statistics = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        cpu = (int(statistics[11]) + int(statistics[12])) / 100
        stalls = [json.loads(line) for line in self._report.read_text().splitlines()]
        self.process.terminate()
        await self.process.wait()
        errors = self._errors.read_text(errors="replace")
        at = errors.find("Traceback")
        return stalls, errors[at : at + 3_000] if at >= 0 else "", cpu


class Session:
    """Some connections to one server, and what they send."""

    def __init__(self, number: int, count: int, recordings: Path, folder: Path, *, of_strangers: bool) -> None:
        self._rng = Random(f"wire {number}")
        self._number, self._left = number, count
        self._count = count
        self._known = templates(recordings)
        self._creations = [template for template in self._known if template.method == "POST"]
        self._of_strangers = of_strangers
        self._server = Server(folder, is_still=of_strangers)
        self.outcome = Outcome()

    async def run(self) -> Outcome:
        await self._server.start()
        outcome, over = self.outcome, asyncio.Event()
        probing = asyncio.ensure_future(self._probe(over))
        try:
            before = await self._fill_and_list() if self._of_strangers else {}
            await asyncio.gather(*(self._converse() for _ in range(CONNECTIONS)))
            over.set()
            await probing
            if self._of_strangers:
                self._compare(before, await self._listed())
            if self._server.process.returncode is not None:
                outcome.problems.append(f"the server ended with {self._server.process.returncode}")
        finally:
            probing.cancel()
            outcome.stalls, traceback, outcome.server_cpu_s = await self._server.end()
        if traceback:
            outcome.problems.append(traceback)
        outcome.problems = [f"session {self._number}: {problem}" for problem in outcome.problems]
        return outcome

    # ------------------------------------------------------------ requests

    async def _converse(self) -> None:
        """Sends batches of requests on a connection, and begins a new one whenever it was closed."""
        connection = None
        while self._left > 0:
            batch = self._batch()
            if connection is None:
                connection = await self._connected()
            if len(batch) == 1 and _is_alone(batch[0][0]):
                await self._alone(*batch[0])
                continue
            connection = await self._together(connection, batch)
        if connection is not None:
            connection[1].close()

    def _batch(self) -> list[tuple[Sent, bool]]:
        """Requests to be sent together, each with whether its token is right."""
        batch: list[tuple[Sent, bool]] = []
        for _ in range(self._rng.randint(1, PIPELINED_MAX)):
            is_stranger = self._of_strangers or self._rng.random() < STRANGERS_SHARE
            made = self._next(is_stranger=is_stranger)
            if _is_alone(made):
                batch = [(made, is_stranger)]
                break
            batch.append((made, is_stranger))
        self._left -= len(batch)
        self.outcome.requests += len(batch)
        self.outcome.strangers += sum(is_stranger for _, is_stranger in batch)
        return batch

    def _next(self, *, is_stranger: bool) -> Sent:
        is_early = self._left > self._count * 0.9
        known: list[Template] = self._creations if is_early else self._known
        return request(self._rng, known, (without_token if is_stranger else with_token)(TOKEN))

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._server.port, limit=2**27)

    async def _together(
        self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], batch: list[tuple[Sent, bool]]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The connection, if it is still of use once all are answered."""
        reader, writer = connection
        writer.write(b"".join(sent.data for sent, _ in batch))
        try:
            for sent, is_stranger in batch:
                async with asyncio.timeout(PATIENCE_S):
                    status, body = await answer_from(reader, sent.method)
                self._judge(sent, status, body, is_stranger=is_stranger)
        except TimeoutError:
            self.outcome.problems.append(f"no answer to one of {[sent.shown for sent, _ in batch]}")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # as after a request that is no HTTP, or an answer that goes on for ever
        else:
            return connection
        writer.close()
        return None

    async def _alone(self, sent: Sent, is_stranger: bool) -> None:
        """One that may never be answered, or for ever, on a connection of its own."""
        reader, writer = await self._connected()
        writer.write(sent.data)
        try:
            if not sent.is_whole:
                writer.write_eof()
            async with asyncio.timeout(SHORT_S):
                status, body = await answer_from(reader, sent.method)
            self._judge(sent, status, body, is_stranger=is_stranger)
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            pass
        writer.close()

    def _judge(self, sent: Sent, status: int, body: bytes, *, is_stranger: bool) -> None:
        self.outcome.statuses[status] += 1
        if status >= 500 and not _is_upstreams(status, body):
            self.outcome.problems.append(f"{status} {body[:300]!r} to {sent.shown}")
        if is_stranger and status not in REFUSED and not (status == 200 and _is_open(sent)):
            self.outcome.problems.append(f"{status} without a token to {sent.shown}")

    # ------------------------------------------------------------ from outside

    async def _probe(self, over: asyncio.Event) -> None:
        """How long somebody else waits for a small answer. On a machine with other work, this is of little meaning."""
        reader, writer = await self._connected()
        asked = f"GET /api/v1/namespaces/default HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        while not over.is_set():
            started = time.perf_counter()
            writer.write(asked.encode())
            await answer_from(reader, "GET")
            self.outcome.latencies.append(time.perf_counter() - started)
            await asyncio.sleep(PROBE_S)
        writer.close()

    async def _fill_and_list(self) -> dict[str, Any]:
        reader, writer = await self._connected()
        for body in documents():
            template = next(each for each in self._creations if each.body is body or each.body == body)
            text = json.dumps(body).encode()
            head = f"POST {template.path} HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer {TOKEN}\r\n"
            writer.write(f"{head}Content-Type: {JSON}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
            await answer_from(reader, "POST")
        writer.close()
        return await self._listed()

    async def _listed(self) -> dict[str, Any]:
        """Every list that the server has, whole, with the version of its storage."""
        reader, writer = await self._connected()
        found = {}
        for resource in RESOURCES:
            if "list" in resource.verbs:
                path = f"/{'apis' if resource.group else 'api'}/{resource.api_version}/{resource.plural}"
                writer.write(f"GET {path} HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
                status, body = await answer_from(reader, "GET")
                found[path] = (status, json.loads(body))
        writer.close()
        return found

    def _compare(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        for path, listed in before.items():
            if listed[0] != 200 or after[path] != listed:
                self.outcome.problems.append(f"{path} changed, though nobody had a token: {after[path]}"[:600])


def _is_alone(sent: Sent) -> bool:
    return not sent.is_whole or b"watch" in sent.data or b"follow" in sent.data or b"/dashboard/" in sent.data


def _is_upstreams(status: int, body: bytes) -> bool:
    """Whether the real server says the same."""
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return False
    if status == 504:
        return bool(message.startswith("Timeout: Too large resource version: "))
    return status == 501 or (status == 500 and bool(REAL_INTERNAL_ERRORS.match(message)))


def _is_open(sent: Sent) -> bool:
    return sent.data.startswith(tuple(page.encode() for page in OPEN_PAGES)) or b"text/html" in sent.data


async def answer_from(reader: asyncio.StreamReader, method: str) -> tuple[int, bytes]:
    """Status and body of the next answer; of one that goes on only the status, and the connection is of no more use."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        if status >= 200:
            break
    at = head.find(b"content-length: ")
    if at >= 0:
        length = int(head[at + 16 : head.index(b"\r", at)])
        return status, b"" if method == "HEAD" else await reader.readexactly(length)
    reader.feed_eof()
    return status, b""
