"""What came with a request, as a document: JSON, YAML or protobuf, of the kind that its path wants."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from bayplan.apiserver.custom_resources.versions import CustomVersion
from bayplan.apiserver.http.accepting import PROTOBUF
from bayplan.apiserver.http.requests import YAML, Request
from bayplan.apiserver.patching.go_values import json_kind
from bayplan.apiserver.schema import protobuf
from bayplan.apiserver.schema.go_syntax import syntax_fault
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.pruning import pruned
from bayplan.apiserver.schema.resources import resource_of_kind
from bayplan.apiserver.schema.strictness import check, repeated_fields
from bayplan.apiserver.schema.type_faults import STRICT_FAULTS_MAX
from bayplan.apiserver.schema.yaml_bodies import InvalidYaml, parse_yaml_body
from bayplan.apiserver.storage.entries import Document
from bayplan.model.media_types import JSON
from bayplan.store.errors import (
    UNSUPPORTED,
    ApiError,
    BadRequest,
    Invalid,
    RequestEntityTooLarge,
    StatusCause,
    UnsupportedMediaType,
)

#: How deep objects may nest.
DEPTH_MAX = 256
BODY_MAX = 3 * 1024 * 1024
_ACCEPTED = f"{JSON}, {YAML}, {PROTOBUF}"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_SHOWN_MAX = 30
#: Kinds that are taken in an older version than the one that is served, as clients of long ago send them.
_OTHER_VERSIONS = frozenset({("policy/v1beta1", "Eviction")})
#: These may name any version; clients name that of the group whose objects they delete.
_OF_ANY_VERSION = frozenset({"DeleteOptions"})


class Decoded(NamedTuple):
    """A document and what is to be warned of."""

    document: Document
    warnings: tuple[str, ...] = ()


class WrongType(BadRequest):
    """A value that does not fit its field."""

    def __init__(self, beginning: str, fault: str) -> None:
        super().__init__(f"{beginning}: {fault}")
        self.fault = fault


class Expected(NamedTuple):
    """Of which kind a body must be."""

    api_version: str
    kind: str


def check_length(length: int) -> None:
    """Raises RequestEntityTooLarge for a body that is not read."""
    if length > BODY_MAX:
        raise RequestEntityTooLarge(f"Request entity too large: limit is {BODY_MAX}")


def media_type(request: Request) -> str:
    return request.header("content-type").partition(";")[0].strip().lower() or JSON


def decode(request: Request, expected: Expected, options_kind: str, custom: CustomVersion | None = None) -> Decoded:
    """The body as a document of the expected kind, unknown fields refused, warned of or dropped as asked."""
    if request.read_ahead is not None:
        decoded = outcome(request.read_ahead)
        request.warn(decoded.warnings)
        return decoded
    validation = field_validation(request, options_kind)
    raw, repeated = None, ""
    media = media_type(request)
    if media == JSON:
        document = _from_json(request.body, expected)
        raw = request.body if document else None
    elif media == YAML:
        document, repeated = _from_yaml(request.body, expected)
    elif media == PROTOBUF:
        document = _from_protobuf(request.body, expected)
        validation = "Ignore"
    else:
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {_ACCEPTED}"
        )
    check_depth(document, request.body)
    _check_type_fields(document, request.body, expected)
    typed = _with_type(document, expected)
    decoded = checked_document(typed, expected, validation, raw, custom, repeated)
    request.warn(decoded.warnings)
    return decoded


def decoded_ahead(
    request: Request, expected: Expected, options_kind: str, custom: CustomVersion | None = None
) -> Request:
    """The request with its body decoded. May be called from another thread, for bodies that take long."""
    try:
        return request._replace(read_ahead=decode(request, expected, options_kind, custom))
    except ApiError as error:
        return request._replace(read_ahead=error)


def outcome(read_ahead: Decoded | ApiError) -> Decoded:
    """What was found when the body was read."""
    if isinstance(read_ahead, ApiError):
        raise read_ahead
    return read_ahead


def check_depth(value: Any, text: bytes) -> None:
    """Raises BadRequest for what nests so deeply that nobody could show it."""
    if text.count(b"{") + text.count(b"[") + text.count(b":") <= DEPTH_MAX:
        return
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEPTH_MAX:
            raise BadRequest(f"the object is nested more than {DEPTH_MAX} levels deep")
        nested = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in nested for item in items if isinstance(item, dict | list)]


def checked_document(
    document: Document,
    expected: Expected,
    validation: str,
    raw: bytes | None = None,
    custom: CustomVersion | None = None,
    repeated: str = "",
) -> Decoded:
    """The document without fields that its kind does not have; these are refused or warned of as asked."""
    kept, unknown = _known_fields(document, expected, raw, custom)
    if repeated:
        unknown = (repeated, *unknown)
    if unknown and validation == "Strict":
        raise BadRequest(f"{_unhandled(document)} {expected.kind}: strict decoding error: {', '.join(unknown)}")
    return Decoded(kept, unknown if validation != "Ignore" else ())


def _known_fields(
    document: Document, expected: Expected, raw: bytes | None, custom: CustomVersion | None
) -> tuple[Document, tuple[str, ...]]:
    """The document without fields that its kind does not have, and what is to be said of those."""
    if custom is not None:
        kept, paths = custom.receive(document)
        unknown = [f'unknown field "{path}"' for path in paths]
        return kept, (*(repeated_fields(document, raw) if raw is not None else ()), *unknown)[:STRICT_FAULTS_MAX]
    message = message_of(expected.api_version, expected.kind)
    if message is None:
        return document, ()
    faults = check(document, message, raw)
    if faults.wrong_type:
        raise WrongType(f"{_unhandled(document)} {expected.kind}", faults.wrong_type)
    return (pruned(document, message) if faults.strict else document), faults.strict


def field_validation(request: Request, options_kind: str) -> str:
    """What to do with unknown fields: Strict, Warn or Ignore."""
    validation = request.query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        listed = ", ".join(f'"{value}"' for value in _VALIDATIONS)
        text = f'Unsupported value: "{validation}": supported values: {listed}'
        raise Invalid.options(options_kind, [StatusCause(UNSUPPORTED, text, "fieldValidation")])
    return validation or "Warn"


def parse_json(body: bytes) -> Any:
    """JSON as Go reads it; raises ValueError with Go's words."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise ValueError(syntax_fault(body) or "invalid JSON") from None


def _from_json(body: bytes, expected: Expected) -> Document:
    try:
        document = parse_json(body)
    except ValueError as error:
        raise BadRequest(f"{_unrecognized(expected)}: {error} ({_shown(body)})") from None
    return _an_object(document, body, expected)


def _from_yaml(body: bytes, expected: Expected) -> tuple[Document, str]:
    """The document, and what is to be said of keys given twice."""
    try:
        document, repeated = parse_yaml_body(body)
    except InvalidYaml as error:
        raise BadRequest(f"error converting YAML to JSON: {error}") from None
    return _an_object(document, body, expected), repeated


def _from_protobuf(body: bytes, expected: Expected) -> Document:
    try:
        return protobuf.decode(body)
    except protobuf.UndecodableBody as error:
        if error.kind:
            said = {"apiVersion": error.api_version, "kind": error.kind}
            raise BadRequest(f"{_unhandled(said)} {expected.kind}: {error}") from None
        what = f"the object provided is unrecognized (must be of type {expected.kind})"
        raise BadRequest(f"{what}: {error} ({_shown(body)})") from None


def _an_object(document: Any, body: bytes, expected: Expected) -> Document:
    if isinstance(document, dict):
        return document
    if document is None and body.strip() == b"null":
        return {}
    go_type = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    fault = f"json: cannot unmarshal {json_kind(document)} into Go value of type {go_type}"
    raise BadRequest(f"{_unrecognized(expected)}: {fault} ({_shown(body)})")


def _check_type_fields(document: Document, body: bytes, expected: Expected) -> None:
    """Raises BadRequest unless what says of which kind the document is, is text."""
    for field in ("apiVersion", "kind"):
        value = document.get(field)
        if value is not None and not isinstance(value, str):
            fault = f"json: cannot unmarshal {json_kind(value)} into Go struct field .{field} of type string"
            raise BadRequest(f"{_unrecognized(expected)}: {fault} ({_shown(body)})")


def _unrecognized(expected: Expected) -> str:
    return (
        f"the object provided is unrecognized (must be of type {expected.kind}): "
        "couldn't get version/kind; json parse error"
    )


def _shown(body: bytes) -> str:
    """The beginning of a body, as messages show it: what is no JSON object as its bytes."""
    if not body:
        return "<empty>"
    start = body[:_SHOWN_MAX]
    text = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    return text if len(body) <= _SHOWN_MAX else f"{text} ..."


def _with_type(document: Document, expected: Expected) -> Document:
    """The document with the type that its path implies; raises BadRequest if it says that it is another."""
    api_version = document.get("apiVersion") or expected.api_version
    kind = document.get("kind") or expected.kind
    if kind == expected.kind and kind in _OF_ANY_VERSION:
        api_version = expected.api_version
    if (api_version, kind) == expected or (api_version, kind) in _OTHER_VERSIONS:
        return {**document, "apiVersion": api_version, "kind": kind}
    said = {**document, "apiVersion": api_version, "kind": kind}
    if resource_of_kind(api_version, kind) is None:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
    else:
        version = api_version.rpartition("/")[2]
        expected_group = expected.api_version.rpartition("/")[0].partition(".")[0] or "core"
        why = f"converting ({version}.{kind}) to ({expected_group}.{expected.kind}): unknown conversion"
    raise BadRequest(f"{_unhandled(said)} {expected.kind}: {why}")


def _unhandled(document: Document) -> str:
    version = str(document.get("apiVersion", "")).rpartition("/")[2]
    return f'{document.get("kind")} in version "{version}" cannot be handled as a'
