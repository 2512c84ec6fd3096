"""What a new cluster is filled with: manifests, or what was dumped of another cluster, of any kind.

Takes documents and where they were written; puts them into a registry. A manifest is created as if a client had sent
it. An object that a server had stored already, which has a uid, is taken as it is: its status, its uid and its age are
what others refer to. Namespaces that nobody wrote are added. All faults are raised at once, as `InvalidObject`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from bayplan.apiserver.http.bodies import Expected, checked_document
from bayplan.apiserver.registry.documents import metadata_of, with_metadata
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import NAMESPACES, Registry
from bayplan.apiserver.registry.versions import storage_name, stored_form
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.reading import SourcedDocument
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.store import AlreadyExists, ApiError

#: Kinds that others need, in the order in which they are created; pods come last.
_FIRST: Final = (
    *("Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass", "RuntimeClass", "IngressClass"),
    *("LimitRange", "ResourceQuota", "ServiceAccount", "Node", "ConfigMap", "Secret", "PersistentVolume"),
)
_OPTIONS: Final = WriteOptions("bayplan-up")
_AS_IT_IS: Final = WriteOptions("bayplan-up", trusted=True)


def load(registry: Registry, documents: Iterable[SourcedDocument], now: int) -> None:
    """Creates everything that is not there yet."""
    faults: list[Fault] = []
    for one in sorted(documents, key=_place):
        faults += _load_one(registry, one, now)
    if faults:
        raise InvalidObject(faults)


def _place(one: SourcedDocument) -> int:
    kind = one.document.get("kind")
    if kind == "Pod":
        return len(_FIRST) + 1
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _load_one(registry: Registry, one: SourcedDocument, now: int) -> Iterator[Fault]:
    document = one.document
    label = _label(one)
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str) or not document[field]:
            yield Fault(one.source, label, field, "is missing" if not document.get(field) else "must be a string")
            return
    resource = registry.catalogue.of_kind(document["apiVersion"], document["kind"])
    if resource is None:
        yield Fault(
            one.source, label, "kind", f"this cluster has no kind {document['kind']} in {document['apiVersion']}"
        )
        return
    try:
        _create(registry, resource, document, now)
    except AlreadyExists:
        pass
    except ApiError as error:
        causes = [cause for cause in error.causes if cause.field]
        if causes:
            yield from (Fault(one.source, label, cause.field, cause.message) for cause in causes)
        else:
            yield Fault(one.source, label, "", str(error))


def _create(registry: Registry, resource: Resource, document: Document, now: int) -> None:
    is_stored = bool(metadata_of(document).get("uid"))
    expected = Expected(resource.api_version, resource.kind)
    validation = "Ignore" if is_stored else "Strict"
    custom = registry.definitions.custom(resource)
    checked = checked_document(document, expected, validation, None, custom).document
    namespace = ""
    if resource.namespaced:
        namespace = metadata_of(checked).get("namespace") or DEFAULT_NAMESPACE
        _ensure_namespace(registry, namespace, now)
    made = with_metadata(checked, resourceVersion=None, namespace=namespace or None)
    if is_stored:
        _store(registry, resource, made, now)
        return
    entry = registry.create(resource, namespace, made, _OPTIONS, now)
    status = made.get("status")
    if status and resource.subresource("status") is not None:
        registry.update(
            resource,
            namespace,
            entry.name,
            lambda stored: {**stored, "status": {**(stored.get("status") or {}), **status}},
            _AS_IT_IS,
            now,
            subresource="status",
        )


def _store(registry: Registry, resource: Resource, document: Document, now: int) -> None:
    """Takes over an object that a server had stored."""
    metadata = metadata_of(document)
    name = storage_name(resource)
    if registry.storage.find(name, metadata.get("namespace", ""), metadata["name"]) is not None:
        raise AlreadyExists.of(resource, metadata["name"])
    registry.typed.now = now
    registry.storage.add(name, stored_form(resource, document))


def _ensure_namespace(registry: Registry, name: str, now: int) -> None:
    if registry.find(NAMESPACES, "", name) is None:
        document: Document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        registry.create(NAMESPACES, "", document, _OPTIONS, now)


def _label(one: SourcedDocument) -> str:
    kind, metadata = one.document.get("kind") or "object", metadata_of(one.document)
    name: Any = metadata.get("name") or metadata.get("generateName")
    if not name:
        return f"{kind} ({one.where})"
    return f"{kind} {metadata['namespace']}/{name}" if metadata.get("namespace") else f"{kind} {name}"
