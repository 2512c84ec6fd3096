"""Generations of documents that admission does not see: of custom resources, and of what controllers write."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.registry.documents import is_custom, with_metadata
from bayplan.apiserver.registry.preparing import means_more_work
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document

_NOT_COUNTED_FIELDS: Final = frozenset({"metadata", "status", "kind", "apiVersion"})


def counted(old: Document, new: Document, resource: Resource) -> Document:
    """The document with a new generation if it means more work; of custom resources whatever is not status does."""
    changed = (
        _counted_fields(old) != _counted_fields(new) if is_custom(resource) else means_more_work(resource, new, old)
    )
    return with_metadata(new, generation=old["metadata"].get("generation", 0) + 1) if changed else new


def _counted_fields(document: Document) -> Document:
    return {field: value for field, value in document.items() if field not in _NOT_COUNTED_FIELDS}
