"""Requests to the API server, counted and timed: an `ApiClient` around another.

A stream counts when it is answered; what comes on it later does not matter here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bayplan.client.contract import ApiClient, Response, Stream, TransportError
from bayplan.model.media_types import JSON
from bayplan.serving.metrics import families
from bayplan.serving.metrics.tallies import Durations, Labels, Reading, Tally

#: In place of a status where there was no answer.
NO_ANSWER = "<error>"


class MeteredClient:
    """Passes everything on to `client`, which talks to `host`."""

    def __init__(self, client: ApiClient, host: str, requests: RequestTallies, clock: Callable[[], int]) -> None:
        self._client = client
        self._host = host
        self._tallies = requests
        self._clock = clock

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
        started = self._clock()
        try:
            response = await self._client.request(
                method, path, body, content_type=content_type, timeout_s=timeout_s, agent=agent
            )
        except BaseException:
            self._tallies.answered(self._host, method, NO_ANSWER, self._clock() - started)
            raise
        self._tallies.answered(self._host, method, response.status, self._clock() - started)
        return response

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        return self._stream(path, idle_timeout_s)

    @asynccontextmanager
    async def _stream(self, path: str, idle_timeout_s: float | None) -> AsyncIterator[Stream]:
        started, is_answered = self._clock(), False
        try:
            async with self._client.stream(path, idle_timeout_s=idle_timeout_s) as stream:
                is_answered = True
                self._tallies.answered(self._host, "GET", stream.status, self._clock() - started)
                yield stream
        except TransportError:
            if not is_answered:
                self._tallies.answered(self._host, "GET", NO_ANSWER, self._clock() - started)
            raise


class RequestTallies:
    """What all clients of the process have asked."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int | str, str, str], int] = {}  # a status is put into words when somebody asks
        self._durations = Durations(families.REQUEST_DURATION)

    def tallies(self) -> tuple[Tally, ...]:
        return Reading(families.REQUESTS, self._by_code), self._durations

    def answered(self, host: str, method: str, code: int | str, took_ns: int) -> None:
        answer = (code, host, method)
        self._answers[answer] = self._answers.get(answer, 0) + 1
        self._durations.add(took_ns, (host, method))

    def _by_code(self) -> Mapping[Labels, float]:
        return {(str(code), host, method): count for (code, host, method), count in list(self._answers.items())}
