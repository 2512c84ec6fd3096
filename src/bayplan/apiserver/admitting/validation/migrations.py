"""Checks of StorageVersionMigrations. Upstream: pkg/apis/storagemigration/validation/validation.go (v1.37)."""

from __future__ import annotations

import re
from typing import Final

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.conditions import check_conditions
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, Faults
from bayplan.model.dns_names import dns1035_faults, subdomain_faults

_VERSION: Final = re.compile("[1-9][0-9]*")
#: How a migration may end, as its condition says and as refusals do.
OUTCOMES: Final = {"Succeeded": "Success", "Failed": "Failed"}


def check_migration(migration: Document, faults: Faults) -> None:
    resource = migration["spec"]["resource"]
    name, group = resource["resource"], resource["group"]
    wrong = dns1035_faults(name)
    if not name:
        faults.required("spec.resource.resource", "resource is required to be set")
    elif wrong:
        faults.invalid("spec.resource.resource", name, ",".join(wrong))
    if group and subdomain_faults(group):
        faults.invalid("spec.resource.group", group, ",".join(subdomain_faults(group)))


def check_migration_update(new: Document, old: Document, faults: Faults) -> None:
    check_migration(new, faults)
    faults.immutable("spec", new["spec"], old["spec"], internal(new["spec"], "StorageVersionMigrationSpec"))


def check_migration_status(new: Document, old: Document, faults: Faults) -> None:
    """Of how far a migration has come: it never goes back."""
    status, before = new["status"], old["status"]
    version, path = status.get("resourceVersion", ""), "status.resourceVersion"
    if version and not _VERSION.fullmatch(version):
        faults.invalid(path, version, f"resource version is not well formed: {version}")
    conditions = status.get("conditions") or []
    check_conditions(conditions, faults, "status.conditions")
    if before.get("resourceVersion") and version != before["resourceVersion"]:
        faults.invalid(path, version, IMMUTABLE)
    holding = {kind for kind in OUTCOMES if holds(new, kind)}
    path = "status.conditions"
    if len(holding) > 1:
        text = "Both success and failed conditions cannot be true at the same time"
        faults.invalid(path, conditions, text)
    for kind, shown in OUTCOMES.items():
        if holds(old, kind) and kind not in holding:
            faults.invalid(path, conditions, f"{shown} condition cannot be set to false once it is true")


def holds(migration: Document, kind: str) -> bool:
    """Whether a condition of the migration is true."""
    conditions = (migration.get("status") or {}).get("conditions") or ()
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
