"""StorageVersionMigration, from v1.37 on."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.migrations import (
    check_migration,
    check_migration_status,
    check_migration_update,
)
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_ONLY, SelectableFields
from bayplan.apiserver.tables.configuration import STORAGE_VERSION_MIGRATIONS

STORAGE_VERSION_MIGRATION = Kind(
    "storagemigration.k8s.io/v1",
    "StorageVersionMigration",
    check=check_migration,
    check_update=check_migration_update,
    subresources={"status": check_migration_status},
    update_needs_version=True,
    printer=STORAGE_VERSION_MIGRATIONS,
    selectable=SelectableFields(NAME_ONLY),
)
