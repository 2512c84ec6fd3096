"""A client that answers by script: to see what is written, and when."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from tests.support.api_server import Api

from bayplan.client.contract import LostError, Response, TransportError
from bayplan.model.media_types import JSON


class Request:
    """One that was sent."""

    def __init__(
        self, at: float, method: str, path: str, body: bytes, content_type: str, timeout_s: float | None
    ) -> None:
        self.at = at
        self.timeout_s = timeout_s
        self.method = method
        self.path = path
        self.raw = body
        self.body: Any = json.loads(body) if body else None
        self.content_type = content_type

    def __repr__(self) -> str:
        return f"{self.at:.3f} {self.method} {self.path}"


def answer(status: int = 200, body: object = None, **headers: str) -> Response:
    names = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return Response(status, json.dumps(body if body is not None else {}).encode(), names)


def refusal(status: int, message: str, **headers: str) -> Response:
    return answer(status, {"kind": "Status", "status": "Failure", "message": message, "code": status}, **headers)


async def silence(request: Request) -> Response:
    """What a server that says nothing looks like to a client that waits no longer than it was told to."""
    assert request.timeout_s is not None, "whoever asks would wait for ever"
    await asyncio.sleep(request.timeout_s)
    raise LostError("context deadline exceeded")


Answer = Response | TransportError | Callable[[Request], Response | Awaitable[Response]]


class ScriptedClient:
    """Gives the answers it was given, in order, then 201; each after `delay_s`."""

    def __init__(self, *answers: Answer, delay_s: float = 0.0) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.delay_s = delay_s
        self.in_flight = 0
        self.most_in_flight = 0

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        timeout_s: float | None = None,
        agent: str = "scheduler",
    ) -> Response:
        request = Request(asyncio.get_running_loop().time(), method, path, body, content_type, timeout_s)
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(request)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: Request) -> Response:
        given = self.answers.pop(0) if self.answers else answer(201)
        await asyncio.sleep(self.delay_s)
        if isinstance(given, TransportError):
            raise given
        if not isinstance(given, Response):
            made = given(request)
            given = made if isinstance(made, Response) else await made
        return given

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> Any:
        raise AssertionError(f"nobody reads {path} as a stream here ({idle_timeout_s})")

    @property
    def lines(self) -> list[str]:
        """Method and last parts of each path."""
        return [f"{request.method} {_short(request.path)}" for request in self.requests]


class ServingClient(ScriptedClient):
    """Asks an API server in this process, but for what is scripted; None stands for the server's own answer."""

    def __init__(self, api: Api, *answers: Answer | None) -> None:
        super().__init__()
        self.api = api
        self.faults = list(answers)

    async def _answer(self, request: Request) -> Response:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not (isinstance(fault, LostError)):
            self.answers = [fault]
            return await super()._answer(request)
        made = self.api.answer(request.method, request.path, request.raw or None, request.content_type)
        if fault is not None:
            raise fault  # the server has done it, and nobody hears of it
        return Response(made.status, made.body, {name.lower(): value for name, value in made.headers})


def _short(path: str) -> str:
    return path.partition("/namespaces/")[2] or path


def of(requests: Iterable[Request], method: str) -> list[Request]:
    return [request for request in requests if request.method == method]
