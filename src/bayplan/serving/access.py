"""Who may see what on the secure port: the API server is asked, as upstream does.

Takes a request's path, verb and token or client certificate; asks TokenReview who that is and SubjectAccessReview what
they may, and remembers both answers for a while. Paths that are always allowed are open to everybody and nobody is
asked, so that probes work while the API server does not. Where the cluster does not offer a review, or this process may
not create it, the log says so by name and only those paths are served.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from bayplan.client.contract import ApiClient, TransportError
from bayplan.client.loggers import structlog
from bayplan.serving.port_settings import ALWAYS_ALLOWED
from bayplan.serving.users import ANONYMOUS, Headers, Trust, User
from bayplan.store.errors import ApiError, Forbidden, InternalError, Unauthorized

_ANSWERS_KEPT_MAX: Final = 4_096
_REVIEW_LIMIT_S: Final = 10.0
_AUTHENTICATION, _AUTHORIZATION = "authentication.k8s.io/v1", "authorization.k8s.io/v1"

_log = structlog.get_logger("access")
T = TypeVar("T")


class _Remembered(Generic[T]):
    """Answers that hold for a while."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[Any, tuple[float, T]] = {}

    def get(self, question: Any) -> tuple[T] | None:
        until, answer = self._answers.get(question, (0.0, None))
        return (answer,) if until > self._clock() else None  # type: ignore[return-value]

    def put(self, question: Any, answer: T, for_s: float) -> None:
        now = self._clock()
        if len(self._answers) >= _ANSWERS_KEPT_MAX:
            self._answers = {asked: known for asked, known in self._answers.items() if known[0] > now}
        if len(self._answers) < _ANSWERS_KEPT_MAX:
            self._answers[question] = (now + for_s, answer)


@dataclass(frozen=True, slots=True)
class Memory:
    """For how many seconds an answer holds."""

    token_s: float = 10.0
    authorized_s: float = 10.0
    unauthorized_s: float = 10.0


class AccessControl:
    """Lets requests in, or says why not.

    Args:
        authentication: the API server that knows whose token it is; None if nobody is to be asked.
        authorization: the one that knows what they may; by default the same.
        always_allowed: paths for everybody; one that ends in `*` stands for all that begin with it.
        trust: whose certificates count; None: nobody's.
        memory: how long answers hold.
        clock: seconds that pass evenly.
    """

    def __init__(
        self,
        authentication: ApiClient | None,
        always_allowed: Sequence[str] = ALWAYS_ALLOWED,
        *,
        authorization: ApiClient | None = None,
        trust: Trust | None = None,
        memory: Memory | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authentication = authentication
        self._authorization = authorization or authentication
        self._paths = frozenset(path for path in always_allowed if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in always_allowed if path.endswith("*"))
        self._users: _Remembered[User | None] = _Remembered(clock)
        self._permissions: _Remembered[bool] = _Remembered(clock)
        self._reported: set[str] = set()
        self._trust = trust
        self._memory = memory or Memory()

    async def admit(self, verb: str, path: str, headers: Headers, certificate: bytes | None) -> None:
        """Returns if the request may be served. Raises Unauthorized, Forbidden or InternalError."""
        if path in self._paths or path.startswith(self._prefixes):
            return
        user = await self._user(headers, certificate)
        if "system:masters" in user.groups:
            return
        if not await self._may(user, verb, path):
            raise Forbidden(f'forbidden: User "{user.name}" cannot {verb} path "{path}"')

    async def _user(self, headers: Headers, certificate: bytes | None) -> User:
        shown = self._trust.user(certificate, headers) if certificate and self._trust is not None else None
        if shown is not None:
            return shown
        authorization = next((value for name, value in headers if name == "authorization"), "")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            if certificate:  # of somebody whom nobody knows
                raise Unauthorized("Unauthorized")
            return ANONYMOUS
        question = hashlib.sha256(token.strip().encode()).digest()
        known = self._users.get(question)
        if known is None:
            try:
                status = await self._review(
                    self._authentication, "TokenReview", _AUTHENTICATION, {"token": token.strip()}
                )
            except ApiError as error:
                raise Unauthorized("Unauthorized") from error
            known = (_user_of(status),)
            self._users.put(question, known[0], self._memory.token_s)
        if known[0] is None:
            raise Unauthorized("Unauthorized")
        return known[0]

    async def _may(self, user: User, verb: str, path: str) -> bool:
        question = (user.name, user.groups, verb, path)
        known = self._permissions.get(question)
        if known is None:
            attributes = {"path": path, "verb": verb}
            spec = {"nonResourceAttributes": attributes, "user": user.name, "groups": user.groups}
            if user.uid:
                spec["uid"] = user.uid
            if user.extra:
                spec["extra"] = user.extra
            status = await self._review(self._authorization, "SubjectAccessReview", _AUTHORIZATION, spec)
            known = (bool(status.get("allowed")) and not status.get("denied"),)
            memory = self._memory
            self._permissions.put(question, known[0], memory.authorized_s if known[0] else memory.unauthorized_s)
        return known[0]

    async def _review(
        self, client: ApiClient | None, kind: str, version: str, spec: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The status of a review. Raises Forbidden if there is no such review, InternalError if it failed."""
        if client is None:
            raise Forbidden(f"forbidden: no {kind} can be asked for")
        body = msgspec.json.encode({"kind": kind, "apiVersion": version, "metadata": {}, "spec": spec})
        try:
            response = await client.request("POST", f"/apis/{version}/{kind.lower()}s", body, timeout_s=_REVIEW_LIMIT_S)
        except TransportError as error:
            _log.error("Access review failed", review=kind, err=str(error))
            raise InternalError(f"Internal Server Error: {error}") from error
        document = _decoded(response.body)
        if response.ok:
            return document.get("status") or {}
        message = document.get("message") or f"the server answered {response.status}"
        if response.status in (403, 404):
            self._report(kind, version, message)
            raise Forbidden(f"forbidden: {message}")
        _log.error("Access review failed", review=kind, err=message)
        raise InternalError(f"Internal Server Error: {message}")

    def _report(self, kind: str, version: str, message: str) -> None:
        if kind not in self._reported:
            self._reported.add(kind)
            text = f"{kind} of {version} cannot be used, only always allowed paths are served"
            _log.error(text, review=f"{kind.lower()}s.{version.partition('/')[0]}", err=message)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _user_of(status: Mapping[str, Any]) -> User | None:
    """The user of a TokenReview's status; None if the token is nobody's."""
    if not status.get("authenticated"):
        return None
    user = status.get("user") or {}
    return User(user.get("username", ""), tuple(user.get("groups") or ()), user.get("uid", ""), user.get("extra") or {})
