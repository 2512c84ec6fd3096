"""What an API server refuses, as exceptions with its codes, reasons and words.

    ApiError
    ├── BadRequest      400  the request makes no sense
    ├── Unauthorized    401
    ├── Forbidden       403  admission says no
    ├── NotFound        404
    ├── MethodNotAllowed  405
    ├── NotAcceptable   406
    ├── AlreadyExists   409
    ├── Conflict        409  another write came first, or a precondition does not hold
    ├── Gone            410  the watch log no longer reaches back that far: list again
    ├── RequestEntityTooLarge  413  more bytes than the server reads
    ├── UnsupportedMediaType  415
    ├── Unprocessable   422  a patch that cannot be applied
    ├── Invalid         422  the object's content is refused; `causes` name the fields
    ├── TooManyRequests 429  a disruption budget says no, for now
    ├── InternalError   500  refusals that the real server gives without a reason
    ├── NotImplementedHere  501  what needs real nodes
    └── Timeout         504  a version that is still to come

`status()` is the body an HTTP server sends. Nothing here decides what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

FORBIDDEN, REQUIRED = "FieldValueForbidden", "FieldValueRequired"
INVALID, UNSUPPORTED = "FieldValueInvalid", "FieldValueNotSupported"
DUPLICATE, NOT_FOUND = "FieldValueDuplicate", "FieldValueNotFound"
TOO_LONG, TOO_MANY = "FieldValueTooLong", "FieldValueTooMany"
_FIELD_PREFIXES = {
    FORBIDDEN: "Forbidden",
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    UNSUPPORTED: "Unsupported value",
    DUPLICATE: "Duplicate value",
    NOT_FOUND: "Not found",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
}


class NamedResource(Protocol):
    """How refusals name a kind."""

    @property
    def group(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def resource(self) -> str:
        """`pods`."""

    @property
    def qualified_resource(self) -> str:
        """`pods`, `deployments.apps`: how most refusals name it."""

    @property
    def qualified_kind(self) -> str:
        """`Pod`, `Deployment.apps`: how refusals of a content name it."""


class StatusCause(NamedTuple):
    """One fault of a request: a reason such as `FieldValueForbidden`, the text, and the field's path."""

    reason: str
    message: str
    field: str = ""


def field_cause(reason: str, field: str, text: str) -> StatusCause:
    """The cause as the server words it: `Forbidden: <text>`."""
    return StatusCause(reason, f"{_FIELD_PREFIXES[reason]}: {text}", field)


class ApiError(Exception):
    """A refusal: HTTP code, reason, message, and what it is about."""

    code: int = 500
    reason: str = ""
    always_has_details: bool = False  # a Status shows them even when they are empty

    def __init__(
        self, message: str, *, name: str = "", group: str = "", kind: str = "", causes: Sequence[StatusCause] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.name = name
        self.group = group
        self.kind = kind
        self.causes = tuple(causes)
        self.retry_after_s = 0
        self.continue_token = ""

    def details(self) -> dict[str, Any]:
        """The details of a Status, without what is empty."""
        given = {"name": self.name, "group": self.group, "kind": self.kind}
        details: dict[str, Any] = {key: value for key, value in given.items() if value}
        if self.retry_after_s:
            details["retryAfterSeconds"] = self.retry_after_s
        if self.causes:
            details["causes"] = [{k: v for k, v in cause._asdict().items() if v} for cause in self.causes]
        return details

    def status(self) -> dict[str, Any]:
        """The Status object that an API server answers with."""
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        if self.continue_token:
            body["metadata"] = {"continue": self.continue_token}
        body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        details = self.details()
        if details or self.always_has_details:
            body["details"] = details
        body["code"] = self.code
        return body


class _ResourceError(ApiError):
    """A refusal that names the resource (`pods`) of an object."""

    @classmethod
    def _about(cls, rules: NamedResource, name: str, message: str, causes: Sequence[StatusCause] = ()) -> Self:
        return cls(message, name=name, group=rules.group, kind=rules.resource, causes=causes)


class BadRequest(ApiError):  # noqa: N818 - Kubernetes' own reasons are the names, here and below
    """The request makes no sense."""

    code, reason = 400, "BadRequest"


class Forbidden(_ResourceError):  # noqa: N818
    """Admission says no."""

    code, reason = 403, "Forbidden"

    @classmethod
    def because(cls, rules: NamedResource, name: str, why: str, causes: Sequence[StatusCause] = ()) -> Self:
        return cls._about(rules, name, f'{rules.qualified_resource} "{name}" is forbidden: {why}', causes)


class NotFound(_ResourceError):  # noqa: N818
    """No such object, or no such resource."""

    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, rules: NamedResource, name: str) -> Self:
        return cls._about(rules, name, f'{rules.qualified_resource} "{name}" not found')

    @classmethod
    def no_resource(cls) -> Self:
        error = cls("the server could not find the requested resource")
        error.always_has_details = True
        return error


class AlreadyExists(_ResourceError):  # noqa: N818
    """An object of that name is there."""

    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, rules: NamedResource, name: str) -> Self:
        return cls._about(rules, name, f'{rules.qualified_resource} "{name}" already exists')


class Conflict(_ResourceError):  # noqa: N818
    """Another write came first, or a precondition does not hold."""

    code, reason = 409, "Conflict"

    @classmethod
    def stale(cls, rules: NamedResource, name: str) -> Self:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return cls._about(rules, name, _unfulfilled(rules.qualified_resource, name, why))

    @classmethod
    def other_uid(cls, rules: NamedResource, key: str, name: str, wanted: str, found: str) -> Self:
        """A write meant for another object of the same name."""
        return cls._other(rules, key, name, f"UID in precondition: {wanted}, UID in object meta: {found}")

    @classmethod
    def other_version(cls, rules: NamedResource, key: str, name: str, wanted: str, found: str) -> Self:
        """A write meant for another version of the object."""
        why = f"ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {found}"
        return cls._other(rules, key, name, why)

    @classmethod
    def _other(cls, rules: NamedResource, key: str, name: str, why: str) -> Self:
        what = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        why = f"{what}Precondition failed: {why}"
        return cls._about(rules, name, _unfulfilled(rules.qualified_resource, name, why))

    @classmethod
    def gone_meanwhile(cls, rules: NamedResource, name: str, uid: str) -> Self:
        """A write that names the uid of an object which is not there."""
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        return cls._about(rules, name, _unfulfilled(rules.qualified_resource, name, why))

    @classmethod
    def precondition(cls, rules: NamedResource, name: str, why: str) -> Self:
        """A deletion whose condition does not hold; here the server names the kind, not the resource."""
        message = _unfulfilled(rules.qualified_kind, name, why)
        return cls(message, name=name, group=rules.group, kind=rules.kind)

    @classmethod
    def binding(cls, name: str, why: str) -> Self:
        return cls(_unfulfilled("pods/binding", name, why), name=name, kind="pods/binding")


def _unfulfilled(what: str, name: str, why: str) -> str:
    return f'Operation cannot be fulfilled on {what} "{name}": {why}'


class Gone(ApiError):  # noqa: N818
    """The watch log no longer reaches back that far."""

    code, reason = 410, "Expired"

    @classmethod
    def too_old(cls, asked: int, expired: int) -> Self:
        return cls(f"too old resource version: {asked} ({expired})")


class Unauthorized(ApiError):  # noqa: N818
    """No token, or the wrong one."""

    code, reason = 401, "Unauthorized"


class MethodNotAllowed(ApiError):  # noqa: N818
    """The resource has no such verb."""

    code, reason = 405, "MethodNotAllowed"
    always_has_details = True

    def __init__(self) -> None:
        super().__init__("the server does not allow this method on the requested resource")


class NotAcceptable(ApiError):  # noqa: N818
    """None of the forms that the client accepts can be made."""

    code, reason = 406, "NotAcceptable"
    always_has_details = True


class RequestEntityTooLarge(ApiError):  # noqa: N818
    """More bytes than the server reads."""

    code, reason = 413, "RequestEntityTooLarge"


class Unprocessable(ApiError):  # noqa: N818
    """A patch that cannot be applied; the server does not say why."""

    code, reason = 422, "Invalid"
    always_has_details = True

    def __init__(self) -> None:
        super().__init__("the server rejected our request due to an error in our request")


class UnsupportedMediaType(ApiError):  # noqa: N818
    """The body is in a form that is not read here."""

    code, reason = 415, "UnsupportedMediaType"

    @classmethod
    def patch(cls) -> Self:
        """A kind of patch that is not taken here."""
        error = cls("415: Unsupported Media Type")
        error.always_has_details = True
        return error


class TooManyRequests(ApiError):  # noqa: N818
    """Not now: a disruption budget is in the way."""

    code, reason = 429, "TooManyRequests"


class Invalid(ApiError):  # noqa: N818
    """The object's content is refused."""

    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, rules: NamedResource, name: str, causes: Sequence[StatusCause]) -> Self:
        message = _invalid(rules.qualified_kind, name, causes)
        return cls(message, name=name, group=rules.group, kind=rules.kind, causes=causes)

    @classmethod
    def of_resource(cls, rules: NamedResource, name: str, causes: Sequence[StatusCause]) -> Self:
        """Where the real server names the resource instead of the kind."""
        message = _invalid(rules.qualified_resource, name, causes)
        plural = rules.qualified_resource.partition(".")[0]
        return cls(message, name=name, group=rules.group, kind=plural, causes=causes)

    @classmethod
    def options(cls, kind: str, causes: Sequence[StatusCause]) -> Self:
        """Of options such as DeleteOptions, which have no name."""
        return cls(_invalid(f"{kind}.meta.k8s.io", "", causes), group="meta.k8s.io", kind=kind, causes=causes)


def _invalid(kind: str, name: str, causes: Sequence[StatusCause]) -> str:
    # A fault that several checks found is one in the message, and stays several causes.
    faults = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return f'{kind} "{name}" is invalid: {faults[0] if len(faults) == 1 else "[" + ", ".join(faults) + "]"}'


class InternalError(ApiError):
    """A refusal that the real server gives without a reason."""


class NotImplementedHere(ApiError):  # noqa: N818
    """What needs real nodes, which there are none of."""

    code, reason = 501, "NotImplemented"


class Timeout(ApiError):  # noqa: N818
    """A version that is still to come."""

    code, reason = 504, "Timeout"

    @classmethod
    def too_large(cls, asked: int, current: int) -> Self:
        cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
        error = cls(f"Timeout: Too large resource version: {asked}, current: {current}", causes=[cause])
        error.retry_after_s = 1
        return error
