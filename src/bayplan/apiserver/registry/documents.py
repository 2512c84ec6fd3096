"""Small steps on documents that every verb takes; nothing is ever changed in place."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document


def is_custom(resource: Resource) -> bool:
    """Whether a CustomResourceDefinition defines the resource: no built-in type describes it."""
    return message_of(resource.api_version, resource.kind) is None


def metadata_of(document: Document) -> dict[str, Any]:
    """The metadata, empty where there is none or something else stands in its place."""
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def with_metadata(document: Document, **changes: Any) -> Document:
    """The document with these fields of its metadata; None takes a field away."""
    metadata = {**metadata_of(document), **changes}
    return {**document, "metadata": {field: value for field, value in metadata.items() if value is not None}}


def with_part(document: Document, part: str, source: Document) -> Document:
    """The document with a top-level field as another document has it, absent where that has none."""
    if part in source:
        return {**document, part: source[part]}
    return {field: value for field, value in document.items() if field != part}
