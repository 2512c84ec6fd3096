"""GET of objects and lists: pages, selectors, and versions of the past."""

from __future__ import annotations

import base64
from typing import NamedTuple

import msgspec

from bayplan.apiserver.http.accepting import Form
from bayplan.apiserver.http.rendering import list_answer, object_answer
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.versions import served_form, storage_name
from bayplan.apiserver.schema.go_syntax import syntax_fault
from bayplan.apiserver.selecting.field_selectors import FieldSelector, parse_field_selector
from bayplan.apiserver.selecting.label_selectors import parse_label_selector
from bayplan.apiserver.storage.entries import Document, Entry
from bayplan.model.selectors import CompiledSelector
from bayplan.store.errors import FORBIDDEN, UNSUPPORTED, BadRequest, Gone, Invalid, StatusCause, Timeout, field_cause

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"
_TOKEN_VERSION = "meta.k8s.io/v1"


class _Token(msgspec.Struct, omit_defaults=True):
    """Where the next page of a list begins, as clients carry it."""

    v: str = ""
    rv: int = 0
    start: str = ""


class ListSelection(NamedTuple):
    """Which objects a list or a watch is about."""

    labels: CompiledSelector | None = None
    fields: FieldSelector | None = None

    @property
    def is_everything(self) -> bool:
        return self.labels is None and self.fields is None

    def narrowed(self, entries: list[Entry]) -> list[Entry]:
        """Those entries that have the name which is selected, if one is; cheaper than looking into documents."""
        name = None if self.fields is None else self.fields.exact("metadata.name")
        return entries if name is None else [entry for entry in entries if entry.name == name]

    def has(self, document: Document) -> bool:
        """Whether the document, in the form that its resource serves, is selected."""
        if self.labels is not None and not self.labels.matches(document["metadata"].get("labels") or {}):
            return False
        return self.fields is None or self.fields.matches(document)


def selection_of(registry: Registry, request: Request, target: Target) -> ListSelection:
    """What the request selects; raises BadRequest for a selector that cannot be."""
    labels, fields = request.query.get("labelSelector"), request.query.get("fieldSelector")
    if target.name:
        fields = f"metadata.name={target.name}"
    selectable = registry.definitions.selectable_fields(target.resource)
    return ListSelection(
        parse_label_selector(labels) if labels else None,
        parse_field_selector(fields, selectable) if fields else None,
    )


def get(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """One object."""
    _check_version(request, registry)
    entry = registry.entry(target.resource, target.namespace, target.name)
    return object_answer(entry, target.resource, form, now, registry.definitions.printer(target.resource))


def list_objects(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:
    """A list, or a page of one."""
    check_list_options(request)
    limit, token = request.number("limit") or 0, _token_of(request)
    version = _check_version(request, registry)
    selection = selection_of(registry, request, target)
    entries, at = _entries(registry, request, target, token, version)
    entries = selection.narrowed(entries)
    if not selection.is_everything:
        entries = [entry for entry in entries if selection.has(served_form(target.resource, entry.document))]
    metadata: Document = {"resourceVersion": str(at)}
    if 0 < limit < len(entries):
        metadata["continue"] = _encoded(at, entries[limit - 1], target)
        if selection.is_everything:
            metadata["remainingItemCount"] = len(entries) - limit
        entries = entries[:limit]
    printer, shown = registry.definitions.printer(target.resource), request.query.get("includeObject", "")
    return list_answer(entries, target.resource, form, metadata, now, printer, shown)


def check_list_options(request: Request, *, is_watch: bool = False) -> None:
    """Raises what contradicts itself in the options of a list or a watch."""
    query, faults = request.query, []
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if is_watch:
        if "sendInitialEvents" in query and match != NOT_OLDER_THAN:
            text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            faults.append(field_cause(FORBIDDEN, "resourceVersionMatch", text))
        elif match and "sendInitialEvents" not in query:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            faults.append(field_cause(FORBIDDEN, "resourceVersionMatch", text))
    else:
        if match and not version:
            text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            faults.append(field_cause(FORBIDDEN, "resourceVersionMatch", text))
        elif match and match not in (EXACT, NOT_OLDER_THAN):
            text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
            faults.append(StatusCause(UNSUPPORTED, text, "resourceVersionMatch"))
        elif match == EXACT and version == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            faults.append(field_cause(FORBIDDEN, "resourceVersionMatch", text))
        if "sendInitialEvents" in query:
            faults.append(field_cause(FORBIDDEN, "sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if faults:
        raise Invalid.options("ListOptions", faults)


def _check_version(request: Request, registry: Registry) -> int:
    """The version asked for, 0 if none; raises if it is no number or still to come."""
    version, fault = request.version()
    if fault:
        raise BadRequest(f"invalid resource version: {fault}")
    if version is not None and version > registry.storage.version:
        raise Timeout.too_large(version, registry.storage.version)
    return version or 0


def _entries(
    registry: Registry, request: Request, target: Target, token: _Token | None, version: int
) -> tuple[list[Entry], int]:
    """What is listed before any selection, and at which version."""
    storage, name = registry.storage, storage_name(target.resource)
    if token is not None:
        return _rest_of_list(registry, target, token)
    if request.query.get("resourceVersionMatch") == EXACT and version != storage.version:
        try:
            return storage.entries_at(name, target.namespace, version), version
        except Gone:
            raise Gone("The resourceVersion for the provided list is too old.") from None
    return storage.entries(name, target.namespace), storage.version


def _rest_of_list(registry: Registry, target: Target, token: _Token) -> tuple[list[Entry], int]:
    storage, name = registry.storage, storage_name(target.resource)
    if token.rv < 0:
        entries, at = storage.entries(name, target.namespace), storage.version
    else:
        try:
            entries, at = storage.entries_at(name, target.namespace, token.rv), token.rv
        except Gone:
            raise _expired(token) from None
    start = token.start.removeprefix("/")
    return [entry for entry in entries if _relative_key(entry, target) >= start], at


def _expired(token: _Token) -> Gone:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )
    error = Gone(message)
    error.continue_token = _packed(_Token(_TOKEN_VERSION, -1, token.start))
    return error


def _token_of(request: Request) -> _Token | None:
    text = request.query.get("continue", "")
    if not text:
        return None
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except ValueError as error:
        raise BadRequest(f"invalid continue token: continue key is not valid: {_token_fault(text, error)}") from None
    if token.v != _TOKEN_VERSION or not token.start:
        raise BadRequest(
            "invalid continue token: continue key is not valid: server does not recognize this encoded version"
        )
    return token


def _token_fault(text: str, error: Exception) -> str:
    """What is wrong with a token that does not decode, in Go's words where these are about its JSON."""
    try:
        return syntax_fault(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) or str(error)
    except ValueError as broken:
        return str(broken)


def _encoded(at: int, last: Entry, target: Target) -> str:
    return _packed(_Token(_TOKEN_VERSION, at, f"/{_relative_key(last, target)}\0"))


def _packed(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _relative_key(entry: Entry, target: Target) -> str:
    return entry.name if target.namespace or not target.resource.namespaced else entry.key
