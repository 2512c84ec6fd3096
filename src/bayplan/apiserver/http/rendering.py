"""Entries as the bytes of an answer: objects, lists, tables and metadata, as JSON or YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import yaml

from bayplan.apiserver.http.accepting import PARTIAL, TABLE, Form
from bayplan.apiserver.http.requests import YAML, Answer, Request
from bayplan.apiserver.registry.documents import is_custom
from bayplan.apiserver.registry.versions import served_form
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document, Entry, encode_json, with_type
from bayplan.apiserver.tables.building import (
    check_include_object,
    one_row_table,
    partial_metadata,
    partial_metadata_list,
    table,
)
from bayplan.apiserver.tables.columns import Printer
from bayplan.model.media_types import JSON


class _Dumper(yaml.SafeDumper):
    """Quotes texts that would read as something else the way Go's YAML does, and refers to nothing written before."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - whatever it is
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    resolved: Any = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if "\n" not in text and resolved != _STRING_TAG:
        style = '"'
    return dumper.represent_scalar(_STRING_TAG, text, "|" if "\n" in text else style)


_STRING_TAG = "tag:yaml.org,2002:str"
_Dumper.add_representer(str, _text)


#: What is served as it is: OpenAPI, and a version that is for people.
_RAW: Final = frozenset({"openapi", "version"})
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
#: User agents of people, who get JSON that they can read.
_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")


def finished(answer: Answer, request: Request) -> Answer:
    """The answer as it leaves: JSON on a line of its own, or indented for those who are people or say so."""
    # Upstream: isPrettyPrint in apiserver/pkg/endpoints/handlers/negotiation/negotiate.go (v1.36).
    if not answer.body or not answer.content_type.startswith(JSON) or not _RAW.isdisjoint(request.segments[:1]):
        return answer
    pretty = request.query.get("pretty")
    is_pretty = pretty in _TRUE if pretty else request.header("user-agent").startswith(_PEOPLE)
    return answer._replace(body=msgspec.json.format(answer.body, indent=2) if is_pretty else answer.body + b"\n")


def object_answer(
    entry: Entry,
    resource: Resource,
    form: Form,
    now: int,
    printer: Printer,
    *,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (),
) -> Answer:
    """One object in the form that was asked for."""
    if form.shape == TABLE:
        document = served_form(resource, entry.document)
        return document_answer(one_row_table(printer, document, now, version=form.version), form)
    if form.shape == PARTIAL:
        return document_answer(partial_metadata(served_form(resource, entry.document), form.version), form)
    if form.yaml:
        return document_answer(served_form(resource, entry.document), form, status=status)
    return Answer(status, object_bytes(entry, resource), JSON, headers)


def object_bytes(entry: Entry, resource: Resource) -> bytes:
    """The JSON of one object, made from the entry's own where the stored version is the one served."""
    if entry.api_version in ("", resource.api_version):
        return with_type(entry.body, resource.kind, resource.api_version)
    return encode_json(served_form(resource, entry.document))


def document_answer(document: Any, form: Form, *, status: int = 200) -> Answer:
    """Any document as JSON or YAML."""
    if form.yaml:
        return Answer(status, _yaml(document), YAML)
    return Answer(status, encode_json(document))


def _yaml(document: Any) -> bytes:
    text: str = yaml.dump(document, Dumper=_Dumper, default_flow_style=False, sort_keys=True, allow_unicode=True)
    return text.encode()


def _yaml_list(resource: Resource, metadata: Document, items: Sequence[Document]) -> bytes:
    """A list whose items are written one by one: what is kept meanwhile of a large one takes long to let go of."""
    if not items:
        return _yaml(
            {"apiVersion": resource.api_version, "items": [], "kind": resource.list_kind, "metadata": metadata}
        )
    head, rest = {"apiVersion": resource.api_version}, {"kind": resource.list_kind, "metadata": metadata}
    return b"".join((_yaml(head), b"items:\n", *(_yaml([item]) for item in items), _yaml(rest)))


def list_answer(
    entries: Sequence[Entry],
    resource: Resource,
    form: Form,
    metadata: Document,
    now: int,
    printer: Printer,
    include_object: str = "",
) -> Answer:
    """A list in the form that was asked for."""
    if form.shape:
        documents = [served_form(resource, entry.document) for entry in entries]
        if form.shape == PARTIAL:
            return document_answer(partial_metadata_list(documents, metadata, form.version), form)
        shown = check_include_object(include_object)
        made = table(printer, documents, now, include_object=shown, list_metadata=metadata, version=form.version)
        return document_answer(made, form)
    if form.yaml:
        items = [served_form(resource, entry.document) for entry in entries]
        if not is_custom(resource):
            items = [_without_type(item) for item in items]
        return Answer(200, _yaml_list(resource, metadata, items), YAML)
    return Answer(200, _list_bytes(entries, resource, metadata))


def _list_bytes(entries: Sequence[Entry], resource: Resource, metadata: Document) -> bytes:
    """The items' own JSON, put together; items of built-in kinds do not repeat their type."""
    head = f'{{"kind":"{resource.list_kind}","apiVersion":"{resource.api_version}","metadata":'.encode()
    if is_custom(resource):
        items = [object_bytes(entry, resource) for entry in entries]
    else:
        items = [_item_bytes(entry, resource) for entry in entries]
    return b"".join((head, encode_json(metadata), b',"items":[', b",".join(items), b"]}"))


def _item_bytes(entry: Entry, resource: Resource) -> bytes:
    if entry.api_version == resource.api_version:
        return entry.body
    return encode_json(_without_type(served_form(resource, entry.document)))


def _without_type(document: Document) -> Document:
    return {field: value for field, value in document.items() if field not in ("kind", "apiVersion")}
