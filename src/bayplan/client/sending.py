"""One request after the other to the API server, with the waits and repetitions that every kind of write shares.

Takes a request and its lane; gives the answer when it is the last one. Waits for leave to send, honours `Retry-After`,
and repeats what is safe to repeat: a request that was not sent, and where the caller says so also one whose answer was
lost or that the server could not take at that moment. What an answer means is up to the caller.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from typing import Final

from bayplan.client.contract import ApiClient, LostError, NotSentError, Response
from bayplan.client.lanes import Lane
from bayplan.client.limits import Throttle
from bayplan.client.refusals import message_of
from bayplan.model.media_types import JSON
from bayplan.performing.requests import RefusedError

#: Waits between tries, and by how much each may be longer. Upstream: client-go/util/retry DefaultBackoff (v1.36).
BACKOFF_S: Final = (0.010, 0.050, 0.250)
JITTER: Final = 0.1
#: How often a server may ask for patience, and how long in all. Upstream: client-go/rest/with_retry.go (v1.36).
PATIENCE_TIMES: Final = 10
PATIENCE_S: Final = 30.0
#: How long an answer is waited for. Upstream waits as long as the server does; here an answer that does not come is one
#: that was lost, and a binding is asked for again.
ANSWER_WITHIN_S: Final = 15.0
#: Refusals of which upstream repeats a status patch. Upstream: pkg/scheduler/util/utils.go Retriable (v1.36).
BUSY: Final = frozenset({409, 500, 503})

_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR: Final = 500  # and above


class Sender:
    """Sends requests within the limits."""

    def __init__(self, client: ApiClient, writes: Throttle, events: Throttle) -> None:
        self._client = client
        self._throttles = (writes, writes, events)
        self._in_flight = [0] * len(Lane)

    def is_sending(self) -> bool:
        """Whether anything else than events is under way to the server."""
        return bool(self._in_flight[Lane.BINDINGS] or self._in_flight[Lane.STATUSES])

    async def send(self, lane: Lane, method: str, path: str, body: bytes = b"", content_type: str = JSON) -> Response:
        """The answer, refusals included. Raises LostError, NotSentError; neither repeats what may have been done."""
        tries = 0
        while True:
            try:
                return await self.once(lane, method, path, body, content_type)
            except NotSentError:
                if tries == len(BACKOFF_S):
                    raise
            await self._back_off(tries)
            tries += 1

    async def send_again(
        self, lane: Lane, method: str, path: str, body: bytes, content_type: str, busy: Collection[int]
    ) -> Response:
        """The answer to a request that does no harm twice: repeated if its answer is lost or says `busy`."""
        for tries in range(len(BACKOFF_S)):
            try:
                response = await self.once(lane, method, path, body, content_type)
                if response.status not in busy:
                    return response
            except (NotSentError, LostError):
                pass
            await self._back_off(tries)
        return await self.once(lane, method, path, body, content_type)

    async def get(self, lane: Lane, path: str) -> Response:
        """An object as it is now. Raises LostError, NotSentError, RefusedError."""
        response = await self.send_again(lane, "GET", path, b"", JSON, frozenset())
        if not response.ok:
            raise RefusedError(message_of(response), response.status)
        return response

    async def once(self, lane: Lane, method: str, path: str, body: bytes = b"", content_type: str = JSON) -> Response:
        """The answer, refusals included; sent again only if the server asks for it. Raises LostError, NotSentError."""
        times, waited = 0, 0.0
        while True:
            await self._throttles[lane].admit(lane)
            self._in_flight[lane] += 1
            try:
                response = await self._client.request(
                    method, path, body, content_type=content_type, timeout_s=ANSWER_WITHIN_S
                )
            except TimeoutError as error:
                raise LostError(str(error)) from error
            finally:
                self._in_flight[lane] -= 1
            patience = _patience(response)
            times, waited = times + 1, waited + patience
            if not patience or times > PATIENCE_TIMES or waited > PATIENCE_S:
                return response
            await asyncio.sleep(patience)

    async def _back_off(self, tries: int) -> None:
        await asyncio.sleep(BACKOFF_S[tries] * (1 + JITTER * random.random()))


def _patience(response: Response) -> float:
    """How long the server asks to wait before the request is sent again; 0 if it does not."""
    if response.status != _TOO_MANY_REQUESTS and response.status < _SERVER_ERROR:
        return 0.0
    seconds = response.headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdigit() else 0.0
