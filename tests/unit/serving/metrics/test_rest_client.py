"""Requests are counted and timed by what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.support.metered_scheduler import samples

from bayplan.client.contract import LostError, NotSentError, Response, Stream
from bayplan.serving.metrics.registry import Metrics

HOST = "api:6443"
REQUESTS = "rest_client_requests_total"


class Chunks:
    """A stream that breaks when it is read."""

    def __init__(self, status: int) -> None:
        self.status = status

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"{}"
        raise LostError("EOF")

    async def read(self) -> bytes:
        return b""


class Scripted:
    """Answers each request with what it is given: a status, or an error."""

    def __init__(self, outcome: int | Exception) -> None:
        self._outcome = outcome
        self.asked: list[tuple[str, ...]] = []

    async def request(self, method: str, path: str, body: bytes = b"", **options: object) -> Response:
        self.asked.append((method, path, body.decode(), str(options["agent"])))
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return Response(self._outcome, b"", {})

    @asynccontextmanager
    async def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AsyncIterator[Stream]:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        yield Chunks(self._outcome)


@pytest.mark.parametrize("outcome", [201, 409, NotSentError("refused"), LostError("EOF")], ids=str)
def test_a_request_is_passed_on_and_counted(outcome: int | Exception) -> None:
    metrics, inner = Metrics(), Scripted(outcome)
    client = metrics.metered(inner, HOST)
    asking = client.request("POST", "/api/v1/pods", b"{}", agent="leader-election")
    if isinstance(outcome, Exception):
        with pytest.raises(type(outcome)):
            asyncio.run(_await(asking))
    else:
        assert asyncio.run(_await(asking)).status == outcome  # type: ignore[attr-defined]
    assert inner.asked == [("POST", "/api/v1/pods", "{}", "leader-election")]
    code = "<error>" if isinstance(outcome, Exception) else str(outcome)
    assert samples(metrics.render(), REQUESTS) == {(code, HOST, "POST"): 1}
    assert samples(metrics.render(), "rest_client_request_duration_seconds_count") == {(HOST, "POST"): 1}


async def _await(asking: object) -> object:
    return await asking  # type: ignore[misc]


def test_a_stream_that_breaks_later_was_answered() -> None:
    metrics = Metrics()

    async def watch() -> None:
        async with metrics.metered(Scripted(200), HOST).stream("/api/v1/pods?watch=true") as stream:
            async for _ in stream:
                pass

    with pytest.raises(LostError):
        asyncio.run(watch())
    assert samples(metrics.render(), REQUESTS) == {("200", HOST, "GET"): 1}


def test_a_stream_that_is_not_answered_is_counted_so() -> None:
    metrics = Metrics()

    async def watch() -> None:
        async with metrics.metered(Scripted(NotSentError("refused")), HOST).stream("/api/v1/pods?watch=true"):
            pass

    with pytest.raises(NotSentError):
        asyncio.run(watch())
    assert samples(metrics.render(), REQUESTS) == {("<error>", HOST, "GET"): 1}
