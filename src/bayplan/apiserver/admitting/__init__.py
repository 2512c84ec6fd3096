"""What happens to a document between a request and the store: defaults, admission, validation.

`admit_create` takes a document as decoded (its types checked, its name generated, its uid given) and gives the one to
be stored; `admit_update` does so for a document that is to replace another, or one of its subresources. Both leave
what they are given alone, raise `bayplan.store.errors.ApiError`, and see the cluster only through a `ClusterView`.
The order is the real server's: defaults, admission that completes, what belongs to the server, validation, and then
admission that only refuses. managedFields and resourceVersions are somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bayplan.apiserver.admitting.cluster import EVENTS, ClusterView
from bayplan.apiserver.admitting.defaults import default_document
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.default_classes import (
    add_runtime_class,
    set_ingress_class,
    set_storage_class,
)
from bayplan.apiserver.admitting.plugins.limit_ranges import apply_limit_ranges, check_limit_ranges
from bayplan.apiserver.admitting.plugins.namespaces import check_namespace
from bayplan.apiserver.admitting.plugins.priorities import check_default_class, keep_priority, resolve_priority
from bayplan.apiserver.admitting.plugins.quotas import check_quotas, quota_status
from bayplan.apiserver.admitting.plugins.service_addresses import allocate, keep_addresses
from bayplan.apiserver.admitting.plugins.tolerations import tolerate_for_a_while
from bayplan.apiserver.admitting.plugins.volume_growth import check_growth
from bayplan.apiserver.admitting.preparing import prepare_create, prepare_update
from bayplan.apiserver.admitting.validation import validate_create, validate_update
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.arriving import VERSION_ON_CREATE
from bayplan.store.errors import BadRequest, Cause, InternalError, Invalid

Own: TypeAlias = Callable[[Document], Document]

__all__ = ["ClusterView", "Own", "admit_create", "admit_update", "default_document", "quota_status", "unchanged"]


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
    _complete(resource, made, None, shown_name, cluster)
    prepare_create(resource, made, now)
    _refuse(resource, made, validate_create(resource, made))
    if resource.kind == "Service":
        _refuse(resource, made, allocate(made, cluster))
    _check_against_cluster(resource, made, None, cluster, now, "")
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
    if subresource in ("", "resize"):
        _complete(resource, made, old, made["metadata"].get("name", ""), cluster)
    prepare_update(resource, made, old, subresource, now)
    _refuse(resource, made, validate_update(resource, made, old, subresource))
    if resource.kind == "Service" and not subresource:
        _refuse(resource, made, allocate(made, cluster))
    _check_against_cluster(resource, made, old, cluster, now, subresource)
    return made


def _with_defaults(resource: Resource, document: Document) -> Document:
    try:
        return default_document(resource, document)
    except ValueError as error:
        raise BadRequest(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        ) from None


def _complete(resource: Resource, made: Document, old: Document | None, name: str, cluster: ClusterView) -> None:
    """Admission that completes, in the server's order."""
    kind = (resource.group, resource.kind)
    if kind == ("", "Pod"):
        _complete_pod(resource, made, old, name, cluster)
    elif kind == ("", "PersistentVolumeClaim") and old is None:
        set_storage_class(made, cluster)
    elif kind == ("networking.k8s.io", "Ingress") and old is None:
        set_ingress_class(made, cluster)
    elif kind == ("", "Service"):
        keep_addresses(made, old)


def _complete_pod(resource: Resource, pod: Document, old: Document | None, name: str, cluster: ClusterView) -> None:
    if old is not None:
        keep_priority(pod, old)
        tolerate_for_a_while(pod)
        return
    apply_limit_ranges(pod, cluster)
    resolve_priority(resource, pod, name, cluster)
    tolerate_for_a_while(pod)
    add_runtime_class(resource, pod, name, cluster)


def _check_against_cluster(
    resource: Resource, made: Document, old: Document | None, cluster: ClusterView, now: int, subresource: str
) -> None:
    """Admission that only refuses, in the server's order."""
    if resource.group == "" and not subresource:
        if resource.kind == "PersistentVolumeClaim" or (resource.kind == "Pod" and old is None):
            check_limit_ranges(resource, made, cluster)
        if resource.kind == "PersistentVolumeClaim" and old is not None:
            check_growth(resource, made, old, cluster)
    elif resource.kind == "PriorityClass":
        check_default_class(resource, made, cluster)
    check_quotas(resource, made, old, cluster, now, subresource)


def _refuse(resource: Resource, document: Document, causes: list[Cause]) -> None:
    if causes:
        # Events of both groups are one kind to the server, which calls it by its old group.
        named = EVENTS if resource.group == "events.k8s.io" else resource
        raise Invalid.of(named, document["metadata"].get("name", ""), causes)
