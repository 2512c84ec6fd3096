"""What an API server refuses, as exceptions with its codes, reasons and words.

    ApiError
    ├── BadRequest      400  the request makes no sense
    ├── Forbidden       403  admission says no
    ├── NotFound        404
    ├── AlreadyExists   409
    ├── Conflict        409  another write came first, or a precondition does not hold
    ├── Gone            410  the watch log no longer reaches back that far: list again
    ├── Invalid         422  the object's content is refused; `causes` name the fields
    ├── Unprocessable   422  a patch that cannot be applied
    ├── RequestEntityTooLarge  413
    ├── UnsupportedMediaType   415
    ├── InternalError   500  refusals that the real server gives without a reason
    └── Timeout         504  a version that is still to come

`status()` is the body an HTTP server sends. Nothing here decides what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from bayplan.store.rules import KindRules

FORBIDDEN, REQUIRED = "FieldValueForbidden", "FieldValueRequired"
INVALID, UNSUPPORTED = "FieldValueInvalid", "FieldValueNotSupported"
_FIELD_PREFIXES = {FORBIDDEN: "Forbidden", REQUIRED: "Required value", INVALID: "Invalid value"}


class Cause(NamedTuple):
    """One fault of a request: a reason such as `FieldValueForbidden`, the text, and the field's path."""

    reason: str
    message: str
    field: str = ""


def field_cause(reason: str, field: str, text: str) -> Cause:
    """The cause as the server words it: `Forbidden: <text>`."""
    return Cause(reason, f"{_FIELD_PREFIXES[reason]}: {text}", field)


class ApiError(Exception):
    """A refusal: HTTP code, reason, message, and what it is about."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""
    always_has_details: ClassVar[bool] = False  # a Status shows them even when they are empty

    def __init__(
        self, message: str, *, name: str = "", group: str = "", kind: str = "", causes: Sequence[Cause] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.name = name
        self.group = group
        self.kind = kind
        self.causes = tuple(causes)

    def details(self) -> dict[str, Any]:
        """The details of a Status, without what is empty."""
        given = {"name": self.name, "group": self.group, "kind": self.kind}
        details: dict[str, Any] = {key: value for key, value in given.items() if value}
        if self.causes:
            details["causes"] = [{k: v for k, v in cause._asdict().items() if v} for cause in self.causes]
        return details

    def status(self) -> dict[str, Any]:
        """The Status object that an API server answers with."""
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
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
    def _about(cls, rules: KindRules, name: str, message: str, causes: Sequence[Cause] = ()) -> Self:
        return cls(message, name=name, group=rules.group, kind=rules.resource, causes=causes)


class BadRequest(ApiError):  # noqa: N818 - Kubernetes' own reasons are the names, here and below
    """The request makes no sense."""

    code, reason = 400, "BadRequest"


class Forbidden(_ResourceError):  # noqa: N818
    """Admission says no."""

    code, reason = 403, "Forbidden"

    @classmethod
    def because(cls, rules: KindRules, name: str, why: str, causes: Sequence[Cause] = ()) -> Self:
        return cls._about(rules, name, f'{rules.qualified_resource} "{name}" is forbidden: {why}', causes)


class NotFound(_ResourceError):  # noqa: N818
    """No such object, or no such resource."""

    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, rules: KindRules, name: str) -> Self:
        return cls._about(rules, name, f'{rules.qualified_resource} "{name}" not found')

    @classmethod
    def no_resource(cls) -> Self:
        return cls("the server could not find the requested resource")


class AlreadyExists(_ResourceError):  # noqa: N818
    """An object of that name is there."""

    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, rules: KindRules, name: str) -> Self:
        return cls._about(rules, name, f'{rules.qualified_resource} "{name}" already exists')


class Conflict(_ResourceError):  # noqa: N818
    """Another write came first, or a precondition does not hold."""

    code, reason = 409, "Conflict"

    @classmethod
    def stale(cls, rules: KindRules, name: str) -> Self:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return cls._about(rules, name, _unfulfilled(rules.qualified_resource, name, why))

    @classmethod
    def other_uid(cls, rules: KindRules, key: str, name: str, wanted: str, found: str) -> Self:
        """A write meant for another object of the same name."""
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
        )
        return cls._about(rules, name, _unfulfilled(rules.qualified_resource, name, why))

    @classmethod
    def precondition(cls, rules: KindRules, name: str, why: str) -> Self:
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


class Invalid(ApiError):  # noqa: N818
    """The object's content is refused."""

    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, rules: KindRules, name: str, causes: Sequence[Cause]) -> Self:
        message = _invalid(rules.qualified_kind, name, causes)
        return cls(message, name=name, group=rules.group, kind=rules.kind, causes=causes)

    @classmethod
    def options(cls, kind: str, causes: Sequence[Cause]) -> Self:
        """Of options such as DeleteOptions, which have no name."""
        return cls(_invalid(f"{kind}.meta.k8s.io", "", causes), group="meta.k8s.io", kind=kind, causes=causes)


def _invalid(kind: str, name: str, causes: Sequence[Cause]) -> str:
    faults = [f"{cause.field}: {cause.message}" for cause in causes]
    return f'{kind} "{name}" is invalid: {faults[0] if len(faults) == 1 else "[" + ", ".join(faults) + "]"}'


class Unprocessable(ApiError):  # noqa: N818
    """A patch that cannot be applied; the server does not say why."""

    code, reason = 422, "Invalid"
    always_has_details = True

    def __init__(self) -> None:
        super().__init__("the server rejected our request due to an error in our request")


class RequestEntityTooLarge(ApiError):  # noqa: N818
    """More than the server takes at once."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):  # noqa: N818
    """A body, or a kind of patch, that the server does not take here."""

    code, reason = 415, "UnsupportedMediaType"


class InternalError(ApiError):
    """A refusal that the real server gives without a reason."""


class Timeout(ApiError):  # noqa: N818
    """A version that is still to come."""

    code, reason = 504, "Timeout"

    @classmethod
    def too_large(cls, asked: int, current: int) -> Self:
        cause = Cause("ResourceVersionTooLarge", "Too large resource version")
        return cls(f"Timeout: Too large resource version: {asked}, current: {current}", causes=[cause])
