"""What happens to a document between a request and the store: defaults, admission, validation.

`admit_create` takes a document as decoded (its types checked, its name generated, its uid given) and gives the one to
be stored; `admit_update` does so for a document that is to replace another, or one of its subresources. Both leave
what they are given alone, raise `bayplan.store.errors.ApiError`, and see the cluster only through a `ClusterView`.
The order is the real server's: defaults, admission that completes, what belongs to the server, validation, and then
admission that only refuses. What is done for each kind is said in `kinds`; managedFields and resourceVersions are the
caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bayplan.apiserver.admitting.cluster import EVENTS, ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.namespaces import check_namespace
from bayplan.apiserver.admitting.plugins.quotas import check_quotas
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_metadata, check_metadata_update
from bayplan.apiserver.admitting.wire_form import in_wire_form
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.registry.preparing import prepare_create, prepare_update
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.arriving import VERSION_ON_CREATE
from bayplan.store.errors import BadRequest, Cause, InternalError, Invalid

Own: TypeAlias = Callable[[Document], Document]


def unchanged(document: Document) -> Document:
    """In place of noting who owns what, where nobody asks."""
    return document


def admit_create(
    resource: Resource, document: Document, cluster: ClusterView, now: int, own: Own = unchanged
) -> Document:
    """The document to be stored. Its uid, name and namespace are already in its metadata.

    Args:
        own: notes who owns which fields; called when defaults are set and before admission sets more, as the real
            server does, so that nobody owns what admission decided.
    """
    metadata = document["metadata"]
    if metadata.get("resourceVersion"):
        raise InternalError(VERSION_ON_CREATE)
    # Admission that comes before a name is generated names what it is generated from.
    shown_name = metadata.get("generateName") or metadata.get("name", "")
    check_namespace(resource, metadata.get("namespace", ""), shown_name, cluster)
    made = own(_with_defaults(resource, document))
    kind = kind_of(resource)
    if kind.complete is not None:
        kind.complete(resource, made, None, shown_name, cluster)
    prepare_create(resource, made, now)
    _refuse(resource, made, _faults_of_new(kind, resource, made))
    _finish(kind, resource, made, None, cluster)
    check_quotas(resource, made, None, cluster, now)
    return made


def admit_update(
    resource: Resource,
    new: Document,
    old: Document,
    cluster: ClusterView,
    now: int,
    subresource: str = "",
    own: Own = unchanged,
) -> Document:
    """The document to be stored in place of the old one, of which only what the subresource reaches may differ."""
    made = own(_with_defaults(resource, new))
    kind = kind_of(resource)
    if subresource in ("", "resize") and kind.complete is not None:
        kind.complete(resource, made, old, made["metadata"].get("name", ""), cluster)
    prepare_update(resource, made, old, subresource, now)
    _refuse(resource, made, _faults_of_change(kind, made, old, subresource))
    if not subresource:
        _finish(kind, resource, made, old, cluster)
    check_quotas(resource, made, old, cluster, now, subresource)
    return made


def default_document(resource: Resource, document: Document) -> Document:
    """The document as the server writes it, with all defaults; a new one. Raises ValueError for a bad quantity."""
    described = message_of(resource.api_version, resource.kind)
    if described is None:
        return document
    made = {"apiVersion": resource.api_version, "kind": resource.kind}
    made.update(in_wire_form(document, described.name))
    default = kind_of(resource).defaults
    if default is not None:
        default(made)
    return made


def _with_defaults(resource: Resource, document: Document) -> Document:
    try:
        return default_document(resource, document)
    except ValueError as error:
        raise BadRequest(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        ) from None


def _faults_of_new(kind: Kind, resource: Resource, document: Document) -> Faults:
    """Everything that is wrong with a new document."""
    faults = Faults()
    check_metadata(document["metadata"], faults, namespaced=resource.namespaced, rule=kind.name_rule)
    if kind.check is not None:
        kind.check(document, faults)
    return faults


def _faults_of_change(kind: Kind, new: Document, old: Document, subresource: str) -> Faults:
    """Everything that is wrong with a document that is to replace another, or part of it."""
    faults = Faults()
    check_metadata_update(new["metadata"], old["metadata"], faults)
    faults.extend(list(faults))  # the real server looks at the metadata of every change twice
    compare = kind.subresources.get(subresource) if subresource else kind.check_update
    if compare is not None:
        compare(new, old, faults)
    elif not subresource and kind.check is not None:
        kind.check(new, faults)
    if not subresource and kind.immutable is not None:
        kind.immutable(new, old, faults)
    return faults


def _finish(kind: Kind, resource: Resource, made: Document, old: Document | None, cluster: ClusterView) -> None:
    """Addresses, and admission that only refuses, of a write to the object itself."""
    if kind.allocate is not None:
        _refuse(resource, made, kind.allocate(made, cluster))
    if kind.admit is not None:
        kind.admit(resource, made, old, cluster)


def _refuse(resource: Resource, document: Document, causes: list[Cause]) -> None:
    if causes:
        # Events of both groups are one kind to the server, which calls it by its old group.
        named = EVENTS if resource.group == "events.k8s.io" else resource
        raise Invalid.of(named, document["metadata"].get("name", ""), causes)
