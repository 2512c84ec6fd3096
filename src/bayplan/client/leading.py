"""Writes only by the leader: the last gate before the wire.

Decisions stop when a leader's deadline has come, but what was decided before may still wait for the rate limit or for a
connection. Such a write is not sent any more; it fails as one that has certainly not reached the server. Reads pass.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from bayplan.client.contract import ApiClient, NotSentError, Response, Stream
from bayplan.model.media_types import JSON


class LeaderClient:
    """An API client that sends writes only while `is_leading` says so."""

    def __init__(self, client: ApiClient, is_leading: Callable[[], bool]) -> None:
        self._client = client
        self._is_leading = is_leading

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
        if method != "GET" and not self._is_leading():
            raise NotSentError(f'{method.capitalize()} "{path}": this process is not the leader')
        return await self._client.request(
            method, path, body, content_type=content_type, timeout_s=timeout_s, agent=agent
        )

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        return self._client.stream(path, idle_timeout_s=idle_timeout_s)
