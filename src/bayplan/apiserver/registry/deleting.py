"""What a request to delete does to a document: the rules are the store's, which knows them for structs.

Only metadata matters to a deletion, except that a pod's phase and node decide its grace period. So the document is seen
as the struct of its kind, or as one with nothing but metadata, and what the rules say is laid over the document.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bayplan.apiserver.custom_resources import definitions
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.typed import MODELED, narrow
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.storage.entries import Document
from bayplan.model.meta import ObjectMeta
from bayplan.model.structs import Struct
from bayplan.store.deleting import DeleteOptions, may_go, outcome_of
from bayplan.store.rules import RULES

_SEEN_AS_STRUCTS: Final = frozenset({"pods", "namespaces"})
_SET_BY_DELETION: Final = ("deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "generation")


class MetadataOnly(Struct):
    """An object of which nothing but the metadata is known."""

    metadata: ObjectMeta


class _Rules:
    """A resource with what deletion has to know of it."""

    def __init__(self, resource: Resource) -> None:
        self.group, self.kind, self.resource = resource.group, resource.kind, resource.plural
        self.qualified_resource, self.qualified_kind = resource.qualified_resource, resource.qualified_kind
        info = MODELED.get(resource.qualified_resource)
        self.orphans_by_default = info is not None and RULES[info.kind].orphans_by_default


def outcome(document: Document, request: DeleteOptions, resource: Resource, now: int) -> tuple[Document, bool]:
    """The document as it is to be stored, itself when it stays as it is, and whether it goes thereafter."""
    obj = _seen(document, resource)
    left, goes = outcome_of(obj, request, _Rules(resource), now)
    if resource.kind == "CustomResourceDefinition" and "deletionTimestamp" not in document["metadata"]:
        return definitions.deleted(document, now), False
    if left is obj:
        return document, goes
    metadata = msgspec.to_builtins(left.metadata)
    changed = with_metadata(document, **{field: metadata.get(field) for field in _SET_BY_DELETION})
    if resource.qualified_resource == "namespaces":
        changed = {**changed, "status": {**changed.get("status", {}), "phase": "Terminating"}}
    return changed, goes


def may_go_now(old: Document, new: Document) -> bool:
    """Whether a write has taken away the last that kept an object from ending."""
    if "deletionTimestamp" not in old["metadata"]:
        return False
    if new.get("kind") == "Namespace" and new.get("spec", {}).get("finalizers"):
        return False
    if new.get("kind") == "Namespace":
        return not new["metadata"].get("finalizers")
    return may_go(_metadata(old), _metadata(new))


def _seen(document: Document, resource: Resource) -> Any:
    if resource.qualified_resource in _SEEN_AS_STRUCTS:
        return narrow(document, MODELED[resource.qualified_resource])
    return MetadataOnly(_metadata(document))


def _metadata(document: Document) -> ObjectMeta:
    return msgspec.convert(document["metadata"], ObjectMeta)
