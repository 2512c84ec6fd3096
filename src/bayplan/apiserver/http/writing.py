"""POST, PUT and PATCH of objects, and of those subresources that are halves of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.custom_resources.versions import CustomVersion
from bayplan.apiserver.http.accepting import Form
from bayplan.apiserver.http.bodies import (
    Decoded,
    Expected,
    WrongType,
    check_depth,
    checked_document,
    decode,
    decoded_ahead,
    field_validation,
    media_type,
    outcome,
    parse_json,
)
from bayplan.apiserver.http.rendering import object_answer
from bayplan.apiserver.http.requests import APPLY_PATCH, Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.kinds.served import created_by_update
from bayplan.apiserver.patching.decoding import (
    Inconvertible,
    converted,
    encoded,
    shown_patch,
    undecodable_patch,
)
from bayplan.apiserver.patching.json_patch import apply_json_patch, unknown_members
from bayplan.apiserver.patching.lazy_json import json_patched_text, merge_patched_text
from bayplan.apiserver.patching.merge_patch import apply_merge_patch
from bayplan.apiserver.patching.spent_patches import spent_patch
from bayplan.apiserver.patching.strategic_merge import apply_strategic_merge_patch
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.messages import Message, message_of
from bayplan.apiserver.schema.strictness import repeated_fields
from bayplan.apiserver.schema.type_faults import faults_in_text
from bayplan.apiserver.schema.yaml_bodies import InvalidYaml, parse_yaml_body
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.model.media_types import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from bayplan.store.errors import (
    FORBIDDEN,
    REQUIRED,
    UNSUPPORTED,
    ApiError,
    BadRequest,
    Invalid,
    MethodNotAllowed,
    NotFound,
    StatusCause,
    UnsupportedMediaType,
    field_cause,
)

JSON_PATCH: Final = "application/json-patch+json"
_OPTIONS_KINDS: Final = {"POST": "CreateOptions", "PUT": "UpdateOptions"}
_MANAGER_MAX: Final = 128


def expected_of(target: Target) -> Expected:
    """The kind of the documents that are written to this target."""
    resource = target.resource
    if target.subresource:
        subresource = resource.subresource(target.subresource)
        assert subresource is not None
        group, version = subresource.group or resource.group, subresource.version or resource.version
        return Expected(f"{group}/{version}" if group else version, subresource.kind)
    return Expected(resource.api_version, resource.kind)


def options_of(request: Request, options_kind: str) -> WriteOptions:
    """How the write was asked for; raises Invalid for options that cannot be."""
    dry_run = request.query.get("dryRun", "")
    if dry_run not in ("", "All"):
        text = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        raise Invalid.options(options_kind, [StatusCause(UNSUPPORTED, text, "dryRun")])
    manager = request.query.get("fieldManager") or default_manager(request)
    warnings = [] if request.warnings is None else request.warnings
    return WriteOptions(manager[:_MANAGER_MAX], dry_run=dry_run == "All", user=request.user, warnings=warnings)


def default_manager(request: Request) -> str:
    """A client that does not name itself is known by the beginning of its user agent."""
    return request.header("user-agent").partition("/")[0] or "unknown"


def create(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """POST to a collection."""
    if target.name or (target.resource.namespaced and not target.namespace):
        raise MethodNotAllowed
    options = options_of(request, "CreateOptions")
    decoded = decode(request, expected_of(target), "CreateOptions", registry.definitions.custom(target.resource))
    entry = registry.create(target.resource, target.namespace, decoded.document, options, now)
    return written(registry, entry, target, form, now, status=201)


def update(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """PUT of an object."""
    options = options_of(request, "UpdateOptions")
    decoded = decode(request, expected_of(target), "UpdateOptions", registry.definitions.custom(target.resource))
    resource, namespace, name = target.resource, target.namespace, target.name
    try:
        entry = registry.update(
            resource,
            namespace,
            name,
            lambda _: decoded.document,
            options,
            now,
            subresource=target.subresource,
            must_name_version=True,
        )
    except NotFound:
        if target.subresource or not created_by_update(resource):
            raise
        entry = registry.create(resource, namespace, decoded.document, options, now)
        return written(registry, entry, target, form, now, status=201)
    return written(registry, entry, target, form, now)


def patch(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """PATCH of an object, in any of the four ways."""
    if media_type(request) == APPLY_PATCH:
        return _apply(registry, request, target, form, now)
    options = _patch_options(request)
    validation = field_validation(request, "PatchOptions")
    custom = registry.definitions.custom(target.resource)
    patched = patched_by(request, expected_of(target), validation, custom)

    def wish(document: Document) -> Document:
        decoded = patched(document)
        request.warn(decoded.warnings)
        return decoded.document

    entry = registry.update(
        target.resource, target.namespace, target.name, wish, options, now, subresource=target.subresource
    )
    return written(registry, entry, target, form, now)


def patched_by(
    request: Request, expected: Expected, validation: str, custom: CustomVersion | None = None
) -> Callable[[Document], Decoded]:
    """What the patch in the body makes of a document, checked like a body."""
    change, media = _patch_change(request, expected), media_type(request)
    message = None if custom is not None else message_of(expected.api_version, expected.kind)
    noted = () if validation == "Ignore" else _noted_in_patch(request.body, media)

    if message is not None and media == STRATEGIC_MERGE_PATCH:
        return _converting(request, change, message, expected, validation, noted)

    def patched(document: Document) -> Decoded:
        made = change(document)
        check_depth(made, request.body)
        try:
            decoded = checked_document(made, expected, _not_strict(validation), None, custom)
        except WrongType as error:
            if message is None:
                raise
            text = _outcome_text(request, document, message)
            raise undecodable_patch(text, faults_in_text(text.encode(), message).wrong_type or error.fault) from None
        strict = (*noted, *decoded.warnings)
        if strict and validation == "Strict":
            raise _not_strictly(_outcome_text(request, document, message), strict)
        return decoded._replace(warnings=strict)

    return patched


def _converting(
    request: Request,
    change: Callable[[Document], Document],
    message: Message,
    expected: Expected,
    validation: str,
    noted: tuple[str, ...],
) -> Callable[[Document], Decoded]:
    """A strategic merge patch, whose outcome is converted instead of decoded."""

    def patched(document: Document) -> Decoded:
        made = change(document)
        check_depth(made, request.body)
        try:
            made = converted(made, message)
        except Inconvertible as fault:
            raise undecodable_patch(_spent_text(request, document, message), str(fault)) from None
        decoded = checked_document(made, expected, _not_strict(validation))
        strict = (*noted, *decoded.warnings)
        if strict and validation == "Strict":
            raise _not_strictly(_spent_text(request, document, message), strict)
        return decoded._replace(warnings=strict)

    return patched


def _not_strict(validation: str) -> str:
    return "Warn" if validation == "Strict" else validation


def _not_strictly(text: str, faults: tuple[str, ...]) -> Invalid:
    return undecodable_patch(text, f"strict decoding error: {', '.join(faults)}")


def _spent_text(request: Request, document: Document, message: Message) -> str:
    return shown_patch(spent_patch(document, parse_json(request.body), message))


def _outcome_text(request: Request, document: Document, message: Message | None) -> str:
    patched_text = json_patched_text if media_type(request) == JSON_PATCH else merge_patched_text
    return patched_text(encoded(document, message), request.body.decode(errors="replace"))


def _noted_in_patch(body: bytes, media: str) -> tuple[str, ...]:
    """What strict decoding says of the patch itself: operations with unknown members, fields given twice."""
    content = _patch_content(body)
    if media == JSON_PATCH:
        return unknown_members(content)
    return repeated_fields(content, body) if isinstance(content, dict) else ()


def _patch_change(request: Request, expected: Expected) -> Callable[[Document], Document]:
    media = media_type(request)
    if media not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        raise UnsupportedMediaType.patch()
    content = _patch_content(request.body)
    if media == JSON_PATCH:
        return lambda document: apply_json_patch(document, content)
    if media == MERGE_PATCH:
        return lambda document: apply_merge_patch(document, content)
    message = message_of(expected.api_version, expected.kind)
    return lambda document: apply_strategic_merge_patch(document, content, message)


def _patch_content(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError as error:
        said = "invalid JSON patch" if admission_release().checks_patches_first else f"error decoding patch: {error}"
        raise BadRequest(said) from None


def _patch_options(request: Request) -> WriteOptions:
    if "force" in request.query:
        cause = field_cause(FORBIDDEN, "force", "may not be specified for non-apply patch")
        raise Invalid.options("PatchOptions", [cause])
    return options_of(request, "PatchOptions")


def read_ahead(registry: Registry, request: Request, target: Target) -> Request:
    """The request with its body decoded, if it is one that creates, replaces or applies. For bodies that take long."""
    if request.method == "PATCH" and media_type(request) == APPLY_PATCH:
        try:
            return request._replace(read_ahead=_applied_configuration(request))
        except ApiError as error:
            return request._replace(read_ahead=error)
    if request.method not in _OPTIONS_KINDS or target.subresource:
        return request
    custom = registry.definitions.custom(target.resource)
    return decoded_ahead(request, expected_of(target), _OPTIONS_KINDS[request.method], custom)


def _apply(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    if not request.query.get("fieldManager"):
        cause = field_cause(REQUIRED, "fieldManager", "is required for apply patch")
        raise Invalid.options("PatchOptions", [cause])
    options = options_of(request, "PatchOptions")
    decoded = _applied_configuration(request)
    request.warn(decoded.warnings)
    entry, is_new = registry.apply(
        target.resource,
        target.namespace,
        target.name,
        decoded.document,
        options,
        now,
        force=request.flag("force"),
        subresource=target.subresource,
    )
    return written(registry, entry, target, form, now, status=201 if is_new else 200)


def _applied_configuration(request: Request) -> Decoded:
    if request.read_ahead is not None:
        return outcome(request.read_ahead)
    try:
        document, repeated = parse_yaml_body(request.body)
    except InvalidYaml as error:
        raise BadRequest(f"error decoding YAML: {error}") from None
    if not isinstance(document, dict):
        raise BadRequest("error decoding YAML: the body is not an object")
    check_depth(document, request.body)
    validation = field_validation(request, "PatchOptions")
    if repeated and validation == "Strict":
        raise BadRequest(f"error strict decoding YAML: {repeated}")
    return Decoded(document, (repeated,) if repeated and validation == "Warn" else ())


def written(registry: Registry, entry: Entry, target: Target, form: Form, now: int, *, status: int = 200) -> Answer:
    """The answer to a write: the object as it now is."""
    printer = registry.definitions.printer(target.resource)
    return object_answer(entry, target.resource, form, now, printer, status=status)
