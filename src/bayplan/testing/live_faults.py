"""Faults that a test asks for, between one user of a live cluster and the API.

`RequestFaults` says what goes wrong with whose requests; `FaultyFront` stands in front of the application and does it.
The requests of others, and of the test itself (`k.apply` and its like), are not touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from bayplan.apiserver.http.application import Application, request_of
from bayplan.apiserver.http.connections import ABORT
from bayplan.apiserver.http.long_requests import READING
from bayplan.apiserver.http.requests import Request, error_answer
from bayplan.apiserver.http.routing import UnknownPath, target_of
from bayplan.apiserver.http.sending import Receive, Scope, Send, send_answer
from bayplan.store.errors import ApiError, Conflict, InternalError, TooManyRequests

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_REASONS: Final = {503: "ServiceUnavailable", 504: "Timeout", 403: "Forbidden", 401: "Unauthorized", 404: "NotFound"}
_RETRY_AFTER_S: Final = 1


@dataclass
class _Fault:
    """Something that goes wrong with the next requests that fit."""

    times: int
    verb: str
    resource: str
    code: int = 0
    """Of the refusal; 0: the connection is dropped."""
    after: bool = False
    """Whether the request is carried out before its connection is dropped."""

    def fits(self, verb: str, resource: str) -> bool:
        return self.times > 0 and self.verb in ("", verb) and self.resource in ("", resource)


class RequestFaults:
    """What goes wrong with the requests of one user.

    In all methods: `times` is how many requests it happens to; `verb` (`get`, `list`, `watch`, `create`, `update`,
    `patch`, `delete`) and `resource` (`configmaps`) are which ones, and without them any.
    """

    def __init__(self) -> None:
        self._faults: list[_Fault] = []
        self.watch_delay_s = 0.0
        self.count = 0
        """How many requests something has happened to."""

    def refuse(self, code: int, times: int = 1, verb: str = "", resource: str = "") -> None:
        """Answers with this status: 409, 429 (with a Retry-After of a second), 500 and others."""
        self._faults.append(_Fault(times, verb, resource, code))

    def drop(self, times: int = 1, verb: str = "", resource: str = "") -> None:
        """Ends the connection without an answer, and nothing is done."""
        self._faults.append(_Fault(times, verb, resource))

    def lose_answers(self, times: int = 1, verb: str = "", resource: str = "") -> None:
        """Does what is asked, and ends the connection without an answer; a watch ends with its first event."""
        self._faults.append(_Fault(times, verb, resource, after=True))

    def slow_watches(self, seconds: float) -> None:
        """Events of watches come so much later, from now on; 0 ends that."""
        self.watch_delay_s = seconds

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()
        self.watch_delay_s = 0.0

    def next_for(self, verb: str, resource: str) -> _Fault | None:
        """What happens to a request, if anything does."""
        found = next((fault for fault in self._faults if fault.fits(verb, resource)), None)
        if found is not None:
            found.times -= 1
            self.count += 1
        return found


class FaultyFront:
    """An ASGI application in front of the API: passes on what is not to go wrong."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._faults: dict[str, RequestFaults] = {}

    def faults_of(self, user: str) -> RequestFaults:
        return self._faults.setdefault(user, RequestFaults())

    def close(self) -> None:
        """Ends all watches, so that the server can stop."""
        self._application.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self._asked_of(scope) if self._faults else None
        if faults is None:
            await self._application(scope, receive, send)
            return
        verb, resource = self._about(request_of(scope))
        fault = faults.next_for(verb, resource)
        if fault is not None:
            await self._fail(fault, scope, receive, send)
        elif verb == "watch" and faults.watch_delay_s:
            await self._application(scope, receive, _late(send, faults))
        else:
            await self._application(scope, receive, send)

    def _asked_of(self, scope: Scope) -> RequestFaults | None:
        if scope["type"] != "http":
            return None
        try:
            return self._faults.get(self._application.admitted(request_of(scope)).user.name)
        except ApiError:
            return None

    def _about(self, request: Request) -> tuple[str, str]:
        """The verb and the resource of a request."""
        segments = request.segments
        if segments and "=" in segments[0]:  # the token, which some clients have in their paths
            segments = segments[1:]
        try:
            target = target_of(segments, self._application.registry.catalogue)
        except (ApiError, UnknownPath, IndexError):
            return "", ""
        if request.method in READING:
            verb = "watch" if request.flag("watch") else "get" if target.name else "list"
        else:
            verb = _VERBS.get(request.method, "")
        return verb, target.resource.plural

    async def _fail(self, fault: _Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.code:
            await send_answer(error_answer(_refusal(fault.code)), scope["method"], send)
            return
        abort: Callable[[], None] = scope["extensions"][ABORT]
        if fault.after:

            async def swallow(message: MutableMapping[str, Any]) -> None:
                if message.get("body"):
                    abort()

            await self._application(scope, receive, swallow)
        abort()


def _late(send: Send, faults: RequestFaults) -> Send:
    async def later(message: MutableMapping[str, Any]) -> None:
        if message.get("body"):
            await asyncio.sleep(faults.watch_delay_s)
        await send(message)

    return later


def _refusal(code: int) -> ApiError:
    text = "a fault that a test asked for"
    known: dict[int, type[ApiError]] = {409: Conflict, 429: TooManyRequests, 500: InternalError}
    error = known.get(code, ApiError)(text)
    error.code = code
    error.reason = error.reason or _REASONS.get(code, "")
    if code == TooManyRequests.code:
        error.retry_after_s = _RETRY_AFTER_S
    return error
