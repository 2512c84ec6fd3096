"""StorageVersionMigrations, which v1.37 serves: what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import document, refusal

from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.migrations import check_migration_status, check_migration_update
from bayplan.apiserver.schema.versions import serving

SUCCEEDED, FAILED = "Succeeded", "Failed"


def migration(resource: str = "pods", group: str = "", **metadata: Any) -> dict[str, Any]:
    spec = {"resource": {"group": group, "resource": resource}}
    named = {"name": "m", "uid": "1", **metadata}
    return document("storagemigration.k8s.io/v1", "StorageVersionMigration", spec, metadata=named)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (migration(), ""),
        (migration("deployments", "apps"), ""),
        (migration(""), "spec.resource.resource: Required value: resource is required to be set"),
    ],
)
def test_what_is_refused(given: dict[str, Any], fault: str) -> None:
    with serving("1.37"):
        assert refusal(given) == fault


def test_a_name_that_no_resource_has() -> None:
    with serving("1.37"):
        assert refusal(migration("9")).startswith('spec.resource.resource: Invalid value: "9": a DNS-1035 label')


def test_a_group_that_no_server_has() -> None:
    with serving("1.37"):
        assert refusal(migration("pods", "A_")).startswith('spec.resource.group: Invalid value: "A_": a lowercase RFC')


def status(*holding: str, version: str = "", **of_conditions: str) -> dict[str, Any]:
    since = {"reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{"type": kind, "status": of_conditions.get(kind, "True"), **since} for kind in holding]
    return {**migration(), "status": {"resourceVersion": version, "conditions": conditions}}


@pytest.mark.parametrize(
    ("before", "after", "faults"),
    [
        (status(), status(version="1"), []),
        (status(version="1"), status(SUCCEEDED, version="1"), []),
        (status(), status(version="10"), []),
        (status(), status(version="0"), ["status.resourceVersion: resource version is not well formed: 0"]),
        (status(), status(version="01"), ["status.resourceVersion: resource version is not well formed: 01"]),
        (status(version="1"), status(version="2"), ["status.resourceVersion: field is immutable"]),
        (status(version="1"), status(), ["status.resourceVersion: field is immutable"]),
        (
            status(),
            status(SUCCEEDED, FAILED),
            ["status.conditions: Both success and failed conditions cannot be true at the same time"],
        ),
        (status(), status(SUCCEEDED, FAILED, Failed="False"), []),
        (status(SUCCEEDED), status(), ["status.conditions: Success condition cannot be set to false once it is true"]),
        (
            status(FAILED),
            status(FAILED, Failed="Unknown"),
            ["status.conditions: Failed condition cannot be set to false once it is true"],
        ),
        (status(), status("Running", "Running"), ["status.conditions[1].type: Duplicate value"]),
    ],
)
def test_how_far_a_migration_has_come(before: dict[str, Any], after: dict[str, Any], faults: list[str]) -> None:
    found = Faults()
    with serving("1.36"):
        check_migration_status(after, before, found)
    assert [f"{cause.field}: {_without_value(cause.message)}" for cause in found] == faults


def _without_value(message: str) -> str:
    """`Invalid value: "x": words` without what is shown: conditions are long."""
    kind, _, rest = message.partition(": ")
    return rest.partition(": ")[2] if kind == "Invalid value" else kind


def test_what_is_migrated_stays() -> None:
    found = Faults()
    with serving("1.37"):
        check_migration_update(migration("secrets"), migration("pods"), found)
    (fault,) = found
    assert fault.field == "spec"
    assert fault.message.endswith("field is immutable")
    assert '"resource":"secrets"' in fault.message
