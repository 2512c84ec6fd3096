"""How a CustomResourceDefinition ends: its objects go first.

A definition that is deleted gets a finalizer (see `registry/deleting.py`). Its objects are deleted then, and the
finalizer is taken off once none is left. Objects with finalizers of their own are waited for. The API server does this
itself, with controllers or without.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.custom_resources.definitions import CLEANUP_FINALIZER, is_established, with_condition
from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.definitions import CUSTOM_RESOURCE_DEFINITIONS
from bayplan.apiserver.registry.documents import with_metadata
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.watch_types import DELETED
from bayplan.store import BACKGROUND, ApiError
from bayplan.store.deleting import DeleteOptions

_DEFINITIONS: Final = built_in("apiextensions.k8s.io", "customresourcedefinitions")
_IN_PROGRESS: Final = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED: Final = ("False", "InstanceDeletionCompleted", "removed all instances")
_NEVER_ESTABLISHED: Final = ("False", "NeverEstablished", "resource was never established")


class DefinitionEnding:
    """Deletes the objects of definitions that are being deleted."""

    def __init__(self) -> None:
        self._ending: dict[str, None] = {}
        """Definitions, named as their objects are stored."""
        self._due: dict[str, None] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource == CUSTOM_RESOURCE_DEFINITIONS:
            self._observe_definition(change)
        elif self._ending and change.type == DELETED and change.resource in self._ending:
            self._due[change.resource] = None

    def _observe_definition(self, change: DocumentChange) -> None:
        name, metadata = change.new.name, change.new.document["metadata"]
        if change.type == DELETED:
            self._ending.pop(name, None)
        elif "deletionTimestamp" in metadata and CLEANUP_FINALIZER in (metadata.get("finalizers") or ()):
            self._ending[name] = None
            self._due[name] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        due, self._due = self._due, {}
        for name in due:
            if name in self._ending:
                with suppress(ApiError):
                    _end(registry, name, now)


def _end(registry: Registry, name: str, now: int) -> None:
    # Upstream: apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go sync (v1.36).
    if not is_established(registry.entry(_DEFINITIONS, "", name).document):
        _write(registry, name, _NEVER_ESTABLISHED, now, ends=True)
        return
    _write(registry, name, _IN_PROGRESS, now, ends=False)
    resource = registry.catalogue.stored(name)
    for entry in registry.storage.entries(name):
        if resource is not None and "deletionTimestamp" not in entry.document["metadata"]:
            registry.delete(
                resource, entry.namespace, entry.name, DeleteOptions(None, entry.uid, None, BACKGROUND), now
            )
        elif resource is None:  # no version is served any more
            registry.storage.remove(name, entry)
    if not registry.storage.count(name):
        _write(registry, name, _COMPLETED, now, ends=True)


def _write(registry: Registry, name: str, said: tuple[str, str, str], now: int, *, ends: bool) -> None:
    def wish(definition: Document) -> Document:
        made = with_condition(definition, "Terminating", *said, now)
        if ends:
            others = [one for one in definition["metadata"].get("finalizers") or () if one != CLEANUP_FINALIZER]
            made = with_metadata(made, finalizers=others or None)
        return made

    registry.update(_DEFINITIONS, "", name, wish, OPTIONS, now, subresource="status")
