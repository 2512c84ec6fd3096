"""Resources that are served in more than one version, or in two groups, and stored in one form.

Takes a resource as it is served and a document; converts between the form that is served and the one that is stored.
Built-in kinds say how in `kinds`. Custom resources only differ in their apiVersion, as the conversion strategy None
has it.
"""

from __future__ import annotations

from bayplan.apiserver.kinds.served import storage_form
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document


def storage_name(resource: Resource) -> str:
    """Under which name objects of the resource are stored."""
    form = storage_form(resource)
    return resource.qualified_resource if form is None else form.resource


def stored_form(resource: Resource, document: Document, stored_api_version: str = "") -> Document:
    """The document as it is stored; a custom resource in the version that its definition stores."""
    form = storage_form(resource)
    if form is not None:
        return form.stored(document)
    if stored_api_version and document.get("apiVersion") != stored_api_version:
        return {**document, "apiVersion": stored_api_version}
    return document


def served_form(resource: Resource, document: Document) -> Document:
    """The stored document as this resource serves it."""
    if document["apiVersion"] == resource.api_version:
        return document
    form = storage_form(resource)
    return {**document, "apiVersion": resource.api_version} if form is None else form.served(document)
