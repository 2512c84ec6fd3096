"""StorageVersionMigrations, which v1.37 serves: what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import document, refusal

from bayplan.apiserver.schema.versions import serving


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
