"""The API as an ASGI application: one request at a time is read, answered and sent; watches go on beside them.

Everything that touches the registry happens between two awaits, so that no lock is needed and a write is seen whole or
not at all. A request never makes others wait for its client: bodies are read before, and answers sent after, the work.
One that takes long gets a turn of its own, in a thread (`registry/turns.py`).
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from bayplan.apiserver.custom_resources.long_matches import LongMatches
from bayplan.apiserver.http import deleting as deletions
from bayplan.apiserver.http import reading, reviews, subresources, writing
from bayplan.apiserver.http.accepting import accepts_only_protobuf, form_of, not_acceptable
from bayplan.apiserver.http.bodies import check_length
from bayplan.apiserver.http.connections import ABORT
from bayplan.apiserver.http.information import Information
from bayplan.apiserver.http.long_requests import LARGE, READING, takes_long
from bayplan.apiserver.http.metrics import RESOURCES as METRICS
from bayplan.apiserver.http.metrics import answer_metrics
from bayplan.apiserver.http.protobuf_answers import in_protobuf
from bayplan.apiserver.http.rendering import finished
from bayplan.apiserver.http.request_counts import RequestCounts
from bayplan.apiserver.http.requests import TEXT, Answer, Request, StreamedAnswer, error_answer, query_of, segments_of
from bayplan.apiserver.http.routing import Target, UnknownPath, target_of
from bayplan.apiserver.http.sending import NOT_CACHED, Receive, Scope, Send, send_answer, send_pieces
from bayplan.apiserver.http.tokens import Tokens
from bayplan.apiserver.http.watching import Watch, watch
from bayplan.apiserver.registry.documents import is_custom
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.turns import in_thread
from bayplan.apiserver.schema.versions import NO_GATES, serving
from bayplan.config.releases import KubernetesRelease
from bayplan.model.cel.library import long_matching_by
from bayplan.store.errors import ApiError, BadRequest, InternalError, MethodNotAllowed, NotFound, Unauthorized

#: A path may begin with this and the token.
TOKEN_SEGMENT: Final = "token="
BODY_SECONDS: Final = 60.0
_NOT_FOUND: Final = Answer(404, b"404 page not found\n", TEXT)
#: What is said with every answer about kinds that nobody should use any more.
_DEPRECATED = {
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
}
_API: Final = frozenset({"api", "apis"})
_log = logging.getLogger(__name__)


class Application:
    """The Kubernetes API over a registry.

    Args:
        registry: where everything is kept.
        token: the administrator's; every request must carry this or a ServiceAccount's.
        clock: the time in nanoseconds.
        address: host and port, as discovery reports them.
        with_metrics: whether the metrics API is served.
        release: which version of Kubernetes the server says it is of.
    """

    def __init__(
        self,
        registry: Registry,
        token: str,
        clock: Callable[[], int],
        address: str,
        release: KubernetesRelease,
        *,
        gates: Mapping[str, bool] = NO_GATES,
        with_metrics: bool = False,
    ) -> None:
        self.registry = registry
        self._tokens = Tokens(token, registry)
        self._clock = clock
        self._release = release
        self._gates = gates
        self._with_metrics = with_metrics
        self._information = Information(registry, address, release, METRICS if with_metrics else ())
        self._watches: set[Watch] = set()
        self._counts = RequestCounts()
        self._long_matches = LongMatches()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with serving(self._release.version, self._gates), long_matching_by(self._long_matches):
            await self._respond(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        request = request_of(scope)
        try:
            request = self.admitted(request)
            if request.method not in READING:
                request = request._replace(body=await _body_of(request, receive))
            answer = await self.answer_in_turn(request)
        except ApiError as error:
            answer = error_answer(error)
        if isinstance(answer, StreamedAnswer):
            abort = (scope.get("extensions") or {}).get(ABORT)
            if abort is not None:
                answer.when_stalled(abort)
            await send_pieces(answer.pieces, answer.content_type, (NOT_CACHED,), receive, send)
        else:
            finish = partial(finished, answer, request)
            answer = await in_thread(finish) if len(answer.body) > LARGE else finish()
            await send_answer(answer._replace(headers=(NOT_CACHED, *answer.headers)), request.method, send)

    async def answer_in_turn(self, request: Request) -> Answer | StreamedAnswer:
        """The answer, once it is this request's turn. Nobody else has to wait for one that takes long."""
        if request.segments[:1] == ("openapi",):
            return await in_thread(partial(self.answer, request))
        if len(request.body) > LARGE:
            request = await in_thread(partial(self._read_ahead, request))
        if takes_long(self.registry, request):
            return await self.registry.turns.alone(partial(self.answer, request))
        if request.method not in READING:
            await self.registry.turns.free()
        return self.answer(request)

    def close(self) -> None:
        """Ends all watches, so that the server can stop."""
        for watching in [*self._watches]:
            watching.close()
        self._long_matches.close()

    def answer(self, request: Request) -> Answer | StreamedAnswer:
        """The answer to a request whose body was read and whose token is right."""
        try:
            return self._answer(request)
        except ApiError as error:
            return error_answer(error)
        except UnknownPath:
            return _NOT_FOUND
        except RecursionError:
            return error_answer(BadRequest("the object is nested too deeply"))
        except Exception:
            _log.exception("%s /%s failed", request.method, "/".join(request.segments))
            return error_answer(InternalError("Internal error occurred: the request could not be processed"))

    def _read_ahead(self, request: Request) -> Request:
        """The request with its body decoded, where that may take long; whatever else is wrong with it is said later."""
        try:
            target = target_of(request.segments, self.registry.catalogue)
        except (ApiError, UnknownPath, IndexError):
            return request
        return writing.read_ahead(self.registry, request, target)

    def admitted(self, request: Request) -> Request:
        """The request and who asks, by the token: in a header, or in front of the path, where clients send no header.

        kubectl and others that are built on client-go send a user's token over TLS only, whatever the address.
        """
        if request.segments and request.segments[0].startswith(TOKEN_SEGMENT):
            given = request.segments[0].removeprefix(TOKEN_SEGMENT)
            request = request._replace(segments=request.segments[1:])
        else:
            given = _token_of(request.header("authorization"))
        user = self._tokens.user_of(given, self._clock())
        if user is None:
            raise Unauthorized("Unauthorized")
        return request._replace(user=user)

    def is_token(self, given: str) -> bool:
        """Whether this is the administrator's token."""
        return self._tokens.is_admins(given)

    def _answer(self, request: Request) -> Answer | StreamedAnswer:
        if request.method in READING:
            found = self._information.answer(request)
            if found is not None:
                return found
        if self._with_metrics and (measured := answer_metrics(self.registry, request, self._clock())) is not None:
            return measured
        if request.segments == ("metrics",):
            return self._counts.answer(self.registry)
        if len(request.segments) < 2 or request.segments[0] not in _API:
            return _NOT_FOUND
        if not all(request.segments):
            raise NotFound.no_resource()
        if request.segments[0] == "apis" and len(request.segments) < 4:
            raise UnknownPath
        if request.segments[0] == "api" and (len(request.segments) < 3 or request.segments[1] != "v1"):
            raise NotFound.no_resource()
        return self._serve(request, target_of(request.segments, self.registry.catalogue))

    def _serve(self, request: Request, target: Target) -> Answer | StreamedAnswer:
        verb = _verb_of(request, target)
        try:
            answer = self._handled(request, target, verb)
        except ApiError as error:
            answer = error_answer(error)
        self._counts.note(request, target, verb, answer.status if isinstance(answer, Answer) else 200)
        return in_protobuf(answer) if accepts_only_protobuf(request.header("accept")) else answer

    def _handled(self, request: Request, target: Target, verb: str) -> Answer | StreamedAnswer:
        now, form = self._clock(), form_of(request.header("accept"))
        if form.protobuf and is_custom(target.resource):
            raise not_acceptable()
        if verb == "watch":
            watching, stream = watch(self.registry, request, target, form, self._clock)
            return self._remembered(watching, stream)
        request.check_timeout()
        warnings: list[str] = []
        try:
            answer = self._handler(target, verb)(self.registry, request._replace(warnings=warnings), target, form, now)
        except ApiError as error:
            answer = error_answer(error)
        if target.resource.qualified_resource in _DEPRECATED:
            warnings.append(_DEPRECATED[target.resource.qualified_resource])
        return answer._replace(headers=(*answer.headers, *_warning_headers(warnings))) if warnings else answer

    def _handler(self, target: Target, verb: str) -> subresources.Handler:
        if target.subresource == "token":
            return self._tokens.issue
        if target.subresource:
            return subresources.handler_of(target, verb)
        if target.resource.kind == "TokenReview":
            return self._tokens.review
        if reviews.is_review(target):
            return reviews.answer_review
        if target.resource.kind == "Binding":
            return subresources.bind
        return _HANDLERS[verb]

    def _remembered(self, watching: Watch, stream: StreamedAnswer) -> StreamedAnswer:
        async def pieces() -> AsyncGenerator[bytes, None]:
            self._watches.add(watching)
            try:
                async for piece in stream.pieces:
                    yield piece
            finally:
                self._watches.discard(watching)

        return stream._replace(pieces=pieces())


_HANDLERS: Final[dict[str, subresources.Handler]] = {
    "get": reading.get,
    "list": reading.list_objects,
    "create": writing.create,
    "update": writing.update,
    "patch": writing.patch,
    "delete": deletions.delete,
    "deletecollection": deletions.delete_collection,
}
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_WARNINGS_MAX: Final = 4_096
_CUT_WARNING_MAX: Final = 256


def _warning_headers(warnings: Iterable[str]) -> Iterator[tuple[str, str]]:
    for warning in _shortened(tuple(dict.fromkeys(warnings))):
        printable = "".join(sign if sign.isprintable() else " " for sign in warning)
        escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
        yield "warning", f'299 - "{escaped}"'


def _shortened(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """As much of the warnings as a client can be expected to read."""
    # Upstream: apiserver/pkg/endpoints/filters/warning.go (v1.36).
    if sum(map(len, warnings)) <= _WARNINGS_MAX:
        return warnings
    left, kept = _WARNINGS_MAX, []
    for warning in warnings:
        cut = warning[:_CUT_WARNING_MAX]
        left -= len(cut)
        if left < 0:
            break
        kept.append(cut)
    return tuple(kept)


def _token_of(authorization: str) -> str:
    """The token in a header: as a bearer's, or as the password of an address with a user in it."""
    scheme, _, given = authorization.partition(" ")
    if scheme == "Bearer":
        return given.strip()
    if scheme != "Basic":
        return ""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _verb_of(request: Request, target: Target) -> str:
    """The verb of the request; raises MethodNotAllowed if the resource has no such verb."""
    method = request.method
    if method == "GET":
        is_list = not target.name
        is_watch = target.watch or ((is_list or not target.subresource) and request.flag("watch"))
        verb = "watch" if is_watch else "list" if is_list else "get"
    elif method == "DELETE":
        verb = "delete" if target.name else "deletecollection"
    else:
        verb = _VERBS.get(method, "")
    subresource = target.resource.subresource(target.subresource) if target.subresource else None
    allowed = target.resource.verbs if subresource is None else subresource.verbs
    is_change = verb in ("update", "patch")
    # Discovery no longer shows them once a definition is deleted, but finalizers must still be taken off its objects.
    is_allowed = verb in allowed or (is_change and is_custom(target.resource))
    if not is_allowed or (is_change and not target.name):
        raise MethodNotAllowed
    return verb


def path_of(scope: Scope) -> tuple[str, ...]:
    """The parts of the path that is asked for."""
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    return segments_of(raw_path.partition(b"?")[0])


def request_of(scope: Scope) -> Request:
    """The request without its body, which is still to be read."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return Request(scope["method"], path_of(scope), query_of(scope["query_string"]), headers)


async def _body_of(request: Request, receive: Receive) -> bytes:
    """The whole body; raises RequestEntityTooLarge as soon as that is known, and BadRequest if it does not come."""
    announced = request.header("content-length")
    if announced.isascii() and announced.isdigit():
        check_length(int(announced))
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _received(receive)
    except TimeoutError:
        raise BadRequest(f"the body of the request did not come within {BODY_SECONDS:g} seconds") from None


async def _received(receive: Receive) -> bytes:
    pieces, length = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        piece = message.get("body", b"")
        length += len(piece)
        check_length(length)
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)
