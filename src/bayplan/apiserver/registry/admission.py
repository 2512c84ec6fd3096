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
from typing import Final, TypeAlias

from bayplan.apiserver.admitting.cluster import EVENTS, ClusterView
from bayplan.apiserver.admitting.documents import Document, settle
from bayplan.apiserver.admitting.owner_references import drop_repeated_owners
from bayplan.apiserver.admitting.plugins.namespaces import check_namespace
from bayplan.apiserver.admitting.plugins.pod_security import check_pod_security
from bayplan.apiserver.admitting.plugins.quotas import check_quotas
from bayplan.apiserver.admitting.plugins.switchable import complete_new
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_common_metadata, check_metadata, check_metadata_update
from bayplan.apiserver.admitting.wire_form import empty_as_null, in_wire_form
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.kinds.served import kind_of
from bayplan.apiserver.registry.gates import OPEN, Gate
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.preparing import prepare_create, prepare_update
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import BadRequest, Invalid, StatusCause

Own: TypeAlias = Callable[[Document], Document]
ALONE: Final = WriteOptions()
"""For whoever wants no warnings."""


def unchanged(document: Document) -> Document:
    """In place of noting who owns what, where nobody asks."""
    return document


def admit_create(
    resource: Resource,
    document: Document,
    cluster: ClusterView,
    now: int,
    own: Own = unchanged,
    options: WriteOptions = ALONE,
    gate: Gate = OPEN,
    plugins: frozenset[str] = frozenset(),
) -> Document:
    """The document to be stored. Its uid, name and namespace are already in its metadata.

    Args:
        own: notes who owns which fields; called when defaults are set and before admission sets more, as the real
            server does, so that nobody owns what admission decided.
        gate: the policies that the document passes.
        plugins: those that are on of the plugins that can be turned off.
    """
    metadata = document["metadata"]
    # Admission that comes before a name is generated names what it is generated from.
    shown_name = metadata.get("generateName") or metadata.get("name", "")
    check_namespace(resource, metadata.get("namespace", ""), shown_name, cluster)
    kind = kind_of(resource)

    def complete(defaulted: Document) -> Document:
        complete_new(plugins, resource, defaulted, shown_name, cluster)
        if kind.complete is not None:
            kind.complete(resource, defaulted, None, shown_name, cluster)
        return defaulted

    made = complete(own(drop_repeated_owners(with_defaults(resource, document), options.warnings)))
    made = gate.mutated(made, lambda changed: complete(with_defaults(resource, changed)))
    if kind.warn_beforehand is not None:
        options.warnings.extend(kind.warn_beforehand(made, None))
    prepare_create(resource, made, now)
    _allocate(kind, resource, made, None, cluster)
    _refuse(resource, made, _faults_of_new(kind, resource, made, cluster).settled())
    if kind.warn is not None:
        options.warnings.extend(kind.warn(made, None))
    if kind.without_effect and not options.dry_run:
        options.warnings.append(f"{kind.kind} is stored, but has no effect: {kind.without_effect}")
    gate.check(made)
    _finish(kind, resource, made, None, cluster)
    _store_empty_as_null(resource, made)
    check_pod_security(resource, made, None, cluster, options.warnings)
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
    options: WriteOptions = ALONE,
    gate: Gate = OPEN,
) -> Document:
    """The document to be stored in place of the old one, of which only what the subresource reaches may differ."""
    kind = kind_of(resource)

    def complete(defaulted: Document) -> Document:
        if subresource in ("", "resize") and kind.complete is not None:
            kind.complete(resource, defaulted, old, defaulted["metadata"].get("name", ""), cluster)
        return defaulted

    made = complete(own(drop_repeated_owners(with_defaults(resource, new), options.warnings)))
    made = gate.mutated(made, lambda changed: complete(with_defaults(resource, changed)))
    prepare_update(resource, made, old, subresource, now)
    if not subresource:
        _allocate(kind, resource, made, old, cluster)
    _refuse(resource, made, _faults_of_change(kind, made, old, subresource).settled())
    if subresource in kind.admit_subresources:
        kind.admit_subresources[subresource](resource, made, old, cluster)
    gate.check(made)
    if not subresource:
        if kind.warn is not None:
            options.warnings.extend(kind.warn(made, old))
        _finish(kind, resource, made, old, cluster)
    _store_empty_as_null(resource, made)
    if subresource in ("", "ephemeralcontainers"):
        check_pod_security(resource, made, old, cluster, options.warnings)
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


def with_defaults(resource: Resource, document: Document) -> Document:
    """The document with all defaults, or a refusal of what cannot be read."""
    try:
        return default_document(resource, document)
    except ValueError as error:
        raise BadRequest(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {error}'
        ) from None


def _faults_of_new(kind: Kind, resource: Resource, document: Document, cluster: ClusterView) -> Faults:
    """Everything that is wrong with a new document."""
    faults = Faults()
    if kind.permit is not None:
        faults += kind.permit(document, cluster)
    _check_metadata(kind, document["metadata"], faults, namespaced=resource.namespaced)
    if kind.check is not None:
        kind.check(document, faults)
    return faults


def _check_metadata(kind: Kind, metadata: Document, faults: Faults, *, namespaced: bool) -> None:
    rule, of_any_kind = kind.name_rule, kind.any_finalizers
    check_metadata(metadata, faults, namespaced=namespaced, rule=rule, of_any_kind=of_any_kind)


def _faults_of_change(kind: Kind, new: Document, old: Document, subresource: str) -> Faults:
    """Everything that is wrong with a document that is to replace another, or part of it."""
    faults = Faults()
    check_common_metadata(new["metadata"], old["metadata"], faults)
    if subresource:
        check_metadata_update(new["metadata"], old["metadata"], faults, of_any_kind=kind.any_finalizers)
        if subresource in kind.subresources:
            kind.subresources[subresource](new, old, faults)
        return faults
    usual = (
        ChangeCheck.METADATA,
        ChangeCheck.CHECK if kind.check_update is None else ChangeCheck.UPDATE,
        ChangeCheck.IMMUTABLE,
    )
    for step in kind.steps or usual:
        _take_step(step, kind, new, old, faults)
    return faults


def _take_step(step: ChangeCheck, kind: Kind, new: Document, old: Document, faults: Faults) -> None:
    if step is ChangeCheck.METADATA:
        check_metadata_update(new["metadata"], old["metadata"], faults, of_any_kind=kind.any_finalizers)
    if step is ChangeCheck.NEW:
        _check_metadata(kind, new["metadata"], faults, namespaced="namespace" in old["metadata"])
    if step in (ChangeCheck.NEW, ChangeCheck.CHECK) and kind.check is not None:
        kind.check(new, faults)
    if step is ChangeCheck.UPDATE and kind.check_update is not None:
        kind.check_update(new, old, faults)
    if step is ChangeCheck.IMMUTABLE and kind.immutable is not None:
        kind.immutable(new, old, faults)


def _allocate(kind: Kind, resource: Resource, made: Document, old: Document | None, cluster: ClusterView) -> None:
    """Addresses, whose refusal comes before any other, as in the real server."""
    if kind.allocate is not None:
        _refuse(resource, made, kind.allocate(made, old, cluster))


def _finish(kind: Kind, resource: Resource, made: Document, old: Document | None, cluster: ClusterView) -> None:
    """Admission that only refuses, of a write to the object itself."""
    if kind.admit is not None:
        kind.admit(resource, made, old, cluster)


def _store_empty_as_null(resource: Resource, made: Document) -> None:
    settle(made)
    described = message_of(resource.api_version, resource.kind)
    # Those are stored as JSON, and all others as protobuf, which knows no empty lists.
    if described is not None and resource.group not in ("apiextensions.k8s.io", "apiregistration.k8s.io"):
        empty_as_null(made, described.name)


def _refuse(resource: Resource, document: Document, causes: list[StatusCause]) -> None:
    if causes:
        # Events of both groups are one kind to the server, which calls it by its old group.
        named = EVENTS if resource.group == "events.k8s.io" else resource
        raise Invalid.of(named, document["metadata"].get("name", ""), causes)
