"""From what a client sends to the document that is stored as a new object.

Takes a document that was decoded and whose type is right; checks where it is meant to go, and gives it what belongs to
the server: uid, creation time, generation. Defaults, validation and admission are `apiserver.admitting`'s.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from bayplan.apiserver.registry.documents import is_custom, metadata_of, with_metadata
from bayplan.apiserver.registry.users import UserInfo
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document
from bayplan.model.timestamps import format_time
from bayplan.store.arriving import VERSION_ON_CREATE
from bayplan.store.errors import REQUIRED, BadRequest, InternalError, Invalid, field_cause
from bayplan.store.stamping import generated_name

_USER_FIELDS = ("username", "uid", "groups", "extra")


def located(resource: Resource, namespace: str, document: Document) -> Document:
    """The document in the namespace of the request; raises what contradicts it."""
    metadata = metadata_of(document)
    if is_custom(resource) and not metadata.get("name") and not metadata.get("generateName"):
        cause = field_cause(REQUIRED, "metadata.name", "name or generateName is required")
        raise Invalid.of(resource, "", [cause])
    if not resource.namespaced:
        return with_metadata(document, namespace=None)
    if metadata.get("namespace", namespace) not in (namespace, ""):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    return with_metadata(document, namespace=namespace)


def without_version(document: Document) -> Document:
    """The document as it can be stored as a new one; raises InternalError for one that has a version."""
    # Upstream: Create in apiserver/pkg/storage/etcd3/store.go (v1.36), which takes what is no number for no version.
    version = metadata_of(document).get("resourceVersion")
    if version is None:
        return document
    if version.isascii() and version.isdigit() and int(version) > 0:
        raise InternalError(VERSION_ON_CREATE)
    return with_metadata(document, resourceVersion=None)


def named_by_chance(document: Document) -> Document:
    """The document with some name if it has none."""
    metadata = metadata_of(document)
    if metadata.get("name") or metadata.get("generateName"):
        return document
    return with_metadata(document, name=str(uuid.uuid4()))


def named(document: Document, number: int, is_taken: Callable[[str], bool]) -> Document:
    """The document with a name of its own if it only says how names begin."""
    metadata = metadata_of(document)
    if metadata.get("name") or not metadata.get("generateName"):
        return document
    name = generated_name(metadata["generateName"], number)
    while is_taken(name):
        number += 1
        name = generated_name(metadata["generateName"], number)
    return with_metadata(document, name=name)


def requested_by(user: UserInfo, resource: Resource, document: Document) -> Document:
    """A request for a certificate with who asks for it; other documents as they are."""
    # Upstream: pkg/registry/certificates/certificates/strategy.go PrepareForCreate (v1.36).
    if resource.kind != "CertificateSigningRequest":
        return document
    spec = {field: value for field, value in (document.get("spec") or {}).items() if field not in _USER_FIELDS}
    return {**document, "spec": {**spec, **user.document()}}


def stamped(resource: Resource, document: Document, now: int) -> Document:
    """The document with what the server alone decides."""
    metadata = metadata_of(document)
    return with_metadata(
        document,
        uid=metadata.get("uid") if resource.kind == "Binding" else str(uuid.uuid4()),
        creationTimestamp=format_time(now),
        generation=1 if is_custom(resource) else metadata.get("generation"),
        deletionTimestamp=None,
        deletionGracePeriodSeconds=None,
        selfLink=None,
        managedFields=None,
    )
