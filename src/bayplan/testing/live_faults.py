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
from bayplan.apiserver.http.routing import Target, UnknownPath, target_of
from bayplan.apiserver.http.sending import Receive, Scope, Send, send_answer
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import ApiError, Conflict, InternalError, TooManyRequests

_WRITING: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS: Final = ("get", "list", "watch", *_WRITING.values())
_REFUSALS: Final = range(400, 600)
_REASONS: Final = {503: "ServiceUnavailable", 504: "Timeout", 403: "Forbidden", 401: "Unauthorized", 404: "NotFound"}
_RETRY_AFTER_S: Final = 1


@dataclass
class _Fault:
    """Something that goes wrong with the next requests that fit."""

    times: int
    verb: str
    resource: Resource | None
    """Whose requests; None: any."""
    subresource: str
    code: int = 0
    """Of the refusal; 0: the connection is dropped."""
    after: bool = False
    """Whether the request is carried out before its connection is dropped."""

    def fits(self, verb: str, target: Target | None) -> bool:
        return self.times > 0 and self.verb in ("", verb) and (self.resource is None or self._is_about(target))

    def _is_about(self, target: Target | None) -> bool:
        if target is None or self.resource is None or self.subresource not in ("", target.subresource):
            return False
        return (self.resource.group, self.resource.plural) == (target.resource.group, target.resource.plural)


class RequestFaults:
    """What goes wrong with the requests of one user.

    In all methods: `times` is how many requests it happens to; `verb` (`get`, `list`, `watch`, `create`, `update`,
    `patch`, `delete`) and `resource` are which ones, and without them any. The resource may be any name that kubectl
    takes (`configmaps`, `cm`, `ships.sea.example`), or one of its subresources alone (`ships/status`).
    """

    def __init__(self, resource_named: Callable[[str], Resource]) -> None:
        self._resource_named = resource_named
        self._faults: list[_Fault] = []
        self.watch_delay_s = 0.0
        self.count = 0
        """How many requests something has happened to."""

    def refuse(self, code: int, times: int = 1, verb: str = "", resource: str = "") -> None:
        """Answers with this status: 409, 429 (with a Retry-After of a second), 500 and others."""
        if code not in _REFUSALS:
            raise ValueError(f"code: {code} refuses nothing; {_REFUSALS[0]} to {_REFUSALS[-1]} do")
        self._faults.append(self._fault(times, verb, resource, code=code))

    def drop(self, times: int = 1, verb: str = "", resource: str = "") -> None:
        """Ends the connection without an answer, and nothing is done."""
        self._faults.append(self._fault(times, verb, resource))

    def lose_answers(self, times: int = 1, verb: str = "", resource: str = "") -> None:
        """Does what is asked, and ends the connection without an answer; a watch ends with its first event."""
        self._faults.append(self._fault(times, verb, resource, after=True))

    def slow_watches(self, seconds: float) -> None:
        """Events of watches come so much later, from now on; 0 ends that."""
        if not seconds >= 0:
            raise ValueError(f"seconds: {seconds:g} is less than none")
        self.watch_delay_s = seconds

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()
        self.watch_delay_s = 0.0

    def next_for(self, verb: str, target: Target | None) -> _Fault | None:
        """What happens to a request, if anything does."""
        found = next((fault for fault in self._faults if fault.fits(verb, target)), None)
        if found is not None:
            found.times -= 1
            self.count += 1
        return found

    def _fault(self, times: int, verb: str, resource: str, code: int = 0, after: bool = False) -> _Fault:
        """A fault that can happen: words that fit no request would let a test pass that tests nothing."""
        if times < 1:
            raise ValueError(f"times: {times} is not once or more")
        if verb and verb not in _VERBS:
            raise ValueError(f"verb: {verb!r} is none of {', '.join(_VERBS)}")
        name, _, subresource = resource.partition("/")
        named = self._resource_named(name) if resource else None
        if named is not None and subresource and named.subresource(subresource) is None:
            raise ValueError(f"resource: {named.plural} have no {subresource!r}")
        return _Fault(times, verb, named, subresource, code, after)


class FaultyFront:
    """An ASGI application in front of the API: passes on what is not to go wrong."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._faults: dict[str, RequestFaults] = {}

    def faults_of(self, user: str, resource_named: Callable[[str], Resource]) -> RequestFaults:
        """The faults of a user; the function says which resource the names are those of."""
        return self._faults.setdefault(user, RequestFaults(resource_named))

    def close(self) -> None:
        """Ends all watches, so that the server can stop."""
        self._application.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        faults = self._asked_of(scope) if self._faults else None
        if faults is None:
            await self._application(scope, receive, send)
            return
        verb, target = self._about(request_of(scope))
        fault = faults.next_for(verb, target)
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

    def _about(self, request: Request) -> tuple[str, Target | None]:
        """The verb and the target of a request; no target if it is about no resource."""
        segments = request.segments
        if segments and "=" in segments[0]:  # the token, which some clients have in their paths
            segments = segments[1:]
        try:
            target = target_of(segments, self._application.registry.catalogue)
        except (ApiError, UnknownPath, IndexError):
            return "", None
        if request.method not in READING:
            return _WRITING.get(request.method, ""), target
        is_watch = target.watch or request.flag("watch")
        return "watch" if is_watch else "get" if target.name else "list", target

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
