"""What becomes of StorageVersionMigrations: they succeed, as everything is stored in the form that is newest.

A migration of a resource that is not served fails after a minute, in which it may still be defined.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bayplan.apiserver.admitting.validation.migrations import OUTCOMES, holds
from bayplan.apiserver.housekeeping.contract import OPTIONS
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import resources_with
from bayplan.apiserver.schema.versions import LATER
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError

_NAME: Final = "storageversionmigrations.storagemigration.k8s.io"
_MIGRATIONS: Final = next(each for each in resources_with((), LATER[-1]) if each.qualified_resource == _NAME)
_PATIENCE_NS: Final = 60 * SECOND


class StorageMigrations:
    """Carries out each migration, which takes one look at how much there is."""

    def __init__(self) -> None:
        self._due: dict[str, Document] = {}

    def observe(self, change: DocumentChange) -> None:
        if change.resource != _NAME:
            return
        migration = change.new.document
        if change.type == DELETED or any(holds(migration, outcome) for outcome in OUTCOMES):
            self._due.pop(change.new.name, None)
        else:
            self._due[change.new.name] = migration

    def reconcile(self, registry: Registry, now: int) -> None:
        for name, migration in [*self._due.items()]:
            done = _done(registry, migration, now)
            if done is None:
                continue
            del self._due[name]
            with suppress(ApiError):
                registry.update(_MIGRATIONS, "", name, done, OPTIONS, now, subresource="status")


class _Done:
    """What a migration becomes by having been tried."""

    def __init__(self, conditions: list[Document], version: str) -> None:
        self._conditions = conditions
        self._version = version

    def __call__(self, migration: Document) -> Document:
        version = (migration.get("status") or {}).get("resourceVersion") or self._version
        return {**migration, "status": {"conditions": self._conditions, "resourceVersion": version}}


def _done(registry: Registry, migration: Document, now: int) -> _Done | None:
    # Upstream: pkg/controller/storageversionmigrator/storageversionmigrator.go (v1.37).
    resource = migration["spec"]["resource"]
    name = ".".join(part for part in (resource["resource"], resource["group"]) if part)
    running = "The migration is running"
    version = migration["metadata"]["resourceVersion"]
    if registry.catalogue.stored(name) is None:
        created = parse_time(migration["metadata"]["creationTimestamp"])
        if now - created < _PATIENCE_NS:
            return None
        ended = _condition("Failed", "StorageVersionMigrationFailed", "unable to obtain GVR from discovery", now)
        return _Done([_condition("Running", "MigrationRunning", running, now), ended], version)
    count = len(registry.storage.entries(name))
    if count:
        running += f", {count} objects verified migrated"
    ended = _condition("Succeeded", "StorageVersionMigrationSucceeded", "Migration completed", now)
    return _Done([_condition("Running", "MigrationRunning", running, now), ended], version)


def _condition(kind: str, reason: str, message: str, now: int) -> Document:
    time = format_time(now)
    return {"type": kind, "status": "True", "lastTransitionTime": time, "reason": reason, "message": message}
