"""Extenders for tests: one that says what it was told to say, and an HTTP server that answers as one.

Both note what they were asked. The server runs in a thread until its `with` block ends.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.extender import ChosenVictims, FilterAnswer, ScoresToCome, Victims
from bayplan.core.framework.verdict import CycleError
from bayplan.worlds.certificates import Certificate

#: What it says, or makes of what it was asked; a text is an error.
Filtering = FilterAnswer | str | Callable[[PodInfo, Sequence[str]], FilterAnswer] | None
Scoring = Mapping[str, int] | str | None
Preempting = Mapping[str, ChosenVictims] | str | Callable[[PodInfo, Mapping[str, Victims]], Mapping[str, ChosenVictims]]


@dataclass
class Scripted:
    """An extender without a network. What it was given no answer for it does not do."""

    filtering: Filtering = None
    scoring: Scoring = None
    preempting: Preempting | None = None
    name: str = "http://extender/"
    weight: int = 1
    ignorable: bool = False
    binds: bool = False
    interest: Callable[[PodInfo], bool] = lambda pod: True
    asked: list[tuple[str, ...]] = field(default_factory=list)  # verb, pod and nodes of each question

    @property
    def filters(self) -> bool:
        return self.filtering is not None

    @property
    def scores(self) -> bool:
        return self.scoring is not None

    @property
    def preempts(self) -> bool:
        return self.preempting is not None

    def is_interested(self, pod: PodInfo) -> bool:
        return self.interest(pod)

    def ask_filter(self, pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer:
        self.asked.append(("filter", pod.name, *nodes))
        says = answered(self.filtering)
        answer: FilterAnswer = says(pod, nodes) if callable(says) else says
        return answer

    def begin_scores(self, pod: PodInfo, nodes: Sequence[str]) -> ScoresToCome:
        self.asked.append(("prioritize", pod.name, *nodes))
        return lambda: list(answered(self.scoring).items())

    def ask_victims(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, ChosenVictims]:
        self.asked.append(("preempt", pod.name, *sorted(victims)))
        says = answered(self.preempting)
        answer: Mapping[str, ChosenVictims] = says(pod, victims) if callable(says) else says
        return answer


def answered(says: Any) -> Any:
    if isinstance(says, str):
        raise CycleError("", says)
    return says


def as_given(pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer:
    """Everything passes."""
    return FilterAnswer(tuple(nodes))


def as_found(pod: PodInfo, victims: Mapping[str, Victims]) -> dict[str, ChosenVictims]:
    """Every candidate is right as it is."""
    return {
        node: ChosenVictims(tuple(victim.uid for victim in on_node.pods), on_node.violations)
        for node, on_node in victims.items()
    }


# ---------------------------------------------------------------------- over HTTP


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def plain(self) -> Any:
        return json.loads(self.body)


#: Status and body; bytes are sent as they are, anything else as JSON. None: no answer until the server stops.
Reply = tuple[int, Any] | None


class ExtenderServer(ThreadingHTTPServer):
    """Answers with what is given for a path."""

    daemon_threads = True

    def __init__(self, replies: Mapping[str, Reply | Callable[[Request], Reply]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = dict(replies)
        self.requests: list[Request] = []
        self.connections = 0
        self.stopping = Event()
        self.scheme = "http"

    def use_tls(self, certificate: Certificate, clients: Certificate | None) -> None:
        self.scheme = "https"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            Path(folder, "pem").write_bytes(certificate.certificate + certificate.key)
            context.load_cert_chain(Path(folder, "pem"))
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=clients.certificate.decode())
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}/ext/"

    def get_request(self) -> tuple[socket.socket, Any]:
        self.connections += 1
        return super().get_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: ExtenderServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body go out together: apart, the second would wait for the first to be acknowledged

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = Request(self.path, dict(self.headers), body)
        self.server.requests.append(request)
        reply = self.server.replies[self.path]
        reply = reply(request) if callable(reply) else reply
        if reply is None:
            self.server.stopping.wait()
            self.close_connection = True
            return
        status, answer = reply
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Nothing."""


@contextmanager
def serving(
    replies: Mapping[str, Reply | Callable[[Request], Reply]],
    certificate: Certificate | None = None,
    clients: Certificate | None = None,
) -> Iterator[ExtenderServer]:
    """A server on a free port; with a certificate over TLS, perhaps only for clients that show one of theirs."""
    with ExtenderServer(replies) as server:
        if certificate is not None:
            server.use_tls(certificate, clients)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()
