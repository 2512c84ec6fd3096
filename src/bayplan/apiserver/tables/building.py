"""Answers as tables, and answers that hold metadata only.

Takes documents and a printer, gives the bodies that clients receive for `as=Table` and `as=PartialObjectMetadata`.
Whether a client asked for either, and which documents are in the answer, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bayplan.apiserver.tables.columns import Document, Printer
from bayplan.model.well_known import INITIAL_EVENTS_END
from bayplan.store.errors import BadRequest

METADATA: Final = "Metadata"
_OBJECT, _NONE = "Object", "None"


def check_include_object(value: str) -> str:
    """What the query parameter `includeObject` asks for; BadRequest for anything unknown."""
    if value not in (METADATA, _OBJECT, _NONE, ""):
        problem = f"includeObject: Invalid value: \"{value}\": must be 'Metadata', 'Object', 'None', or empty"
        raise BadRequest(f"Unable to convert to Table as requested: {problem}")
    return value or METADATA


def table(
    printer: Printer,
    documents: Iterable[Document],
    now: int,
    *,
    include_object: str = METADATA,
    list_metadata: Mapping[str, Any],
    version: str = "v1",
) -> dict[str, Any]:
    """The table of a list; `list_metadata` is that of the list: resourceVersion, continue, remainingItemCount."""
    api_version = f"meta.k8s.io/{version}"
    rows = [_row(printer, document, now, include_object, api_version) for document in documents]
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": dict(list_metadata),
        "columnDefinitions": printer.definitions,
        "rows": rows or (None if printer.empty_is_null else rows),
    }


def one_row_table(
    printer: Printer,
    document: Document,
    now: int,
    *,
    include_object: str = METADATA,
    with_columns: bool = True,
    version: str = "v1",
) -> dict[str, Any]:
    """The table of one object, or of one event of a watch: only the first event of a watch has columns."""
    resource_version = document["metadata"].get("resourceVersion")
    metadata = {"resourceVersion": resource_version} if resource_version else {}
    body = table(printer, (document,), now, include_object=include_object, list_metadata=metadata, version=version)
    if not with_columns and not printer.repeats_columns:
        body["columnDefinitions"] = None
    return body


def _row(printer: Printer, document: Document, now: int, include_object: str, api_version: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": printer.cells(document, now)}
    conditions = printer.conditions(document)
    if conditions:
        row["conditions"] = conditions
    if include_object == _OBJECT:
        row["object"] = document
    elif include_object == METADATA or _ends_initial_events(document):
        row["object"] = _partial(document, api_version)
    else:
        row["object"] = None
    return row


def _ends_initial_events(document: Document) -> bool:
    """The bookmark that closes a watch's first events is known by an annotation, so it is never left out."""
    return (document["metadata"].get("annotations") or {}).get(INITIAL_EVENTS_END) == "true"


def partial_metadata(document: Document, version: str = "v1") -> dict[str, Any]:
    """An object's metadata and nothing else, as PartialObjectMetadata."""
    return _partial(document, f"meta.k8s.io/{version}")


def partial_metadata_list(
    documents: Iterable[Document], list_metadata: Mapping[str, Any], version: str = "v1"
) -> dict[str, Any]:
    """The metadata of a list's objects; upstream has null for the items of an empty list."""
    api_version = f"meta.k8s.io/{version}"
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": api_version,
        "metadata": dict(list_metadata),
        "items": [_partial(document, api_version) for document in documents] or None,
    }


def _partial(document: Document, api_version: str) -> dict[str, Any]:
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": document["metadata"]}
