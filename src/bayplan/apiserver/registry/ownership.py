"""Who owns which fields: `managedFields`, kept up with every write, in the terms of the registry."""

from __future__ import annotations

from bayplan.apiserver.patching.server_side_apply.applying import apply
from bayplan.apiserver.patching.server_side_apply.scopes import scope_of
from bayplan.apiserver.patching.server_side_apply.tracking import track
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document


def after_create(document: Document, resource: Resource, manager: str, now: int) -> Document:
    """A new document, all of whose fields the manager owns."""
    return track(scope_of(resource), None, document, manager, now)


def after_update(
    old: Document, new: Document, resource: Resource, manager: str, subresource: str, now: int
) -> Document:
    """The new document, with the manager as the owner of what it changed."""
    return track(scope_of(resource, subresource), old, new, manager, now)


def after_apply(
    live: Document | None,
    applied: Document,
    resource: Resource,
    manager: str,
    subresource: str,
    now: int,
    *,
    force: bool,
) -> Document:
    """What becomes of the document when a configuration is applied to it."""
    return apply(scope_of(resource, subresource), live, applied, manager, now, force=force)
