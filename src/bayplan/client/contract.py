"""What the parts of this package agree on: a request, its answer, and what it means when there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from bayplan.model.media_types import JSON


class Response(NamedTuple):
    """The answer to a request, refusals included."""

    status: int
    body: bytes
    headers: Mapping[str, str]  # names in lower case

    @property
    def ok(self) -> bool:
        return self.status < 400


class TransportError(Exception):
    """There is no answer. The text is what Go's client says, such as `Post "http://…": EOF`; `cause` is its end."""

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause or message


class NotSentError(TransportError):
    """The request has certainly not reached the server: nobody listens, or the connection could not be made."""


class LostError(TransportError):
    """The request was sent, at least in part, and nobody knows what became of it."""


class Stream(Protocol):
    """A response whose body is read as it comes."""

    status: int

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Chunks of the body. Ends when the server ends the body; raises LostError when the connection breaks."""

    async def read(self) -> bytes:
        """All that is left: for a refusal."""


class ApiClient(Protocol):
    """Sends requests to one API server. May be used by any number of tasks at once."""

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
        """Raises NotSentError or LostError; `path` may have a query; `agent` ends the User-Agent."""

    def stream(self, path: str, *, idle_timeout_s: float | None = None) -> AbstractAsyncContextManager[Stream]:
        """A GET whose answer is read as it comes, on a connection of its own."""
