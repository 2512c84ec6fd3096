"""The store that scheduler and controllers work with, when the objects are documents of an API server.

Reads are those of `Store`, on structs that follow the documents. Writes are said with structs too, but made to
documents: what differs between the stored struct and the wished one is laid over the document, so that fields which
structs do not know stay as they were. What is written here is seen by clients, and the other way round, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from bayplan.apiserver.kinds.served import completed
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.registry.templates import full_document
from bayplan.apiserver.registry.typed import narrow_document
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document
from bayplan.controllers.ownership import controller_reference
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.store import ApiError, DeletionResult, NotFound, Store
from bayplan.store.deleting import DeleteOptions
from bayplan.store.rules import RULES, Kind
from bayplan.store.updating import updated_status

ObjectT = TypeVar("ObjectT", bound=Object)

OnWrite: TypeAlias = Callable[[Object | None, Object | None, int], None]
"""Hears of each write: the object before, None for a new one; after, None for one that was deleted; and when."""
OnRefused: TypeAlias = Callable[[Object, str, int], None]
"""Hears of objects that may not be created, why, and when."""


class ProjectedStore(Store):
    """A `Store` over the documents of a registry.

    Args:
        registry: where the documents are.
        manager: who writes, as field ownership records it.
        on_write: hears of what is written here.
        on_refused: hears of what is not.
    """

    def __init__(
        self,
        registry: Registry,
        manager: str,
        on_write: OnWrite | None = None,
        on_refused: OnRefused | None = None,
    ) -> None:
        super().__init__()
        self._registry = registry
        self._options = WriteOptions(manager, trusted=True)
        self.log = registry.typed.log
        self._content = registry.typed.content
        self._on_write = on_write
        self._on_refused = on_refused

    def create(self, obj: ObjectT, now: int) -> ObjectT:
        resource = self._resource(type(obj))
        namespace = (obj.metadata.namespace or DEFAULT_NAMESPACE) if resource.namespaced else ""
        document = {**narrow_document(obj), "apiVersion": resource.api_version, "kind": resource.kind}
        try:
            entry = self._registry.create(resource, namespace, self._completed(document, obj), self._options, now)
        except ApiError as error:
            if self._on_refused is not None:
                self._on_refused(obj, str(error), now)
            raise
        made: Any = self.get(type(obj), entry.namespace, entry.name)
        self._tell(None, made, now)
        return made  # type: ignore[no-any-return]

    def _tell(self, before: Object | None, after: Object | None, now: int) -> None:
        if self._on_write is not None:
            self._on_write(before, after, now)

    def _completed(self, document: Document, obj: Object) -> Document:
        reference = controller_reference(obj.metadata)
        if reference is None:
            return document
        resource = self._registry.catalogue.of_kind(reference.api_version, reference.kind)
        owner = None
        if resource is not None:
            owner = self._registry.find(resource, obj.metadata.namespace, reference.name)
        return document if owner is None else full_document(document, owner)

    def load(self, objects: Iterable[Object], now: int) -> None:
        for obj in objects:
            self.create(obj, now)

    def set_status(self, obj: ObjectT, status: Any, now: int) -> ObjectT:
        return self.update_status(replace(obj, status=status), now)

    def _replace(self, obj: ObjectT, half: Callable[[Any, Any, Any], Any], now: int) -> ObjectT:
        meta, subresource = obj.metadata, "status" if half is updated_status else ""
        made: ObjectT = self._lay_over(type(obj), meta.namespace, meta.name, lambda _: obj, now, subresource)
        return made

    def modify(self, kind: Any, namespace: str, name: str, change: Callable[[Any], Any], now: int) -> Any:
        return self._lay_over(kind, namespace, name, change, now, "")

    def modify_status(self, kind: Any, namespace: str, name: str, change: Callable[[Any], Any], now: int) -> Any:
        return self._lay_over(kind, namespace, name, change, now, "status")

    def _lay_over(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Any], Any], now: int, subresource: str
    ) -> Any:
        resource = self._resource(kind)
        before: Any = self.get(kind, namespace, name)
        after = change(before)
        if after is before:
            return before
        entry = self._registry.entry(resource, namespace, name)
        made = self._registry.overlay(resource, entry, before, after)
        if subresource == "status":
            made = completed(resource, entry.document, made, format_time(now), self._registry)
        self._registry.update(resource, namespace, name, lambda _: made, self._options, now, subresource=subresource)
        found = self.find(kind, namespace, name)
        made_of_it = after if found is None else found
        self._tell(before, made_of_it, now)
        return made_of_it

    def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        now: int,
        *,
        grace_seconds: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
    ) -> DeletionResult:
        before: Any = self.get(kind, namespace, name)
        request = DeleteOptions(grace_seconds, uid, resource_version, propagation)
        gone = self._registry.delete(self._resource(kind), namespace, name, request, now).gone
        self._tell(before, None, now)
        return DeletionResult(before if gone else self.get(kind, namespace, name), gone)

    def bind(
        self,
        namespace: str,
        name: str,
        node_name: str,
        uid: str,
        now: int,
        *,
        annotations: Mapping[str, str] = MappingProxyType({}),
    ) -> Pod:
        self._registry.bind(namespace, name, node_name, uid, annotations, self._options, now)
        return self.get(Pod, namespace, name)

    def finalize_namespace(self, name: str, now: int) -> DeletionResult:
        before = self.get("Namespace", "", name)
        if before.metadata.deletion_timestamp is None:
            return DeletionResult(before, gone=False)
        self._registry.finalize_namespace(name, [], self._options, now)
        after = self.find("Namespace", "", name)
        return DeletionResult(after or before, gone=after is None)

    def _resource(self, kind: Kind) -> Resource:
        rules = RULES.get(kind)
        if rules is None:
            raise NotFound.no_resource()
        info = ALL_KINDS[rules.kind]
        catalogue = self._registry.catalogue
        resource = catalogue.of_kind(info.api_version, info.kind) or catalogue.stored(rules.qualified_resource)
        assert resource is not None
        return resource
