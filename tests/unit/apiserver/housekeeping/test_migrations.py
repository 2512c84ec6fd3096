"""Migrations of what is stored."""

from __future__ import annotations

from typing import Any

from bayplan.testing import cluster

KIND = "storageversionmigrations.storagemigration.k8s.io"


def _migration(name: str, resource: str) -> dict[str, Any]:
    return {
        "apiVersion": "storagemigration.k8s.io/v1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": "", "resource": resource}},
    }


def test_a_migration_succeeds_as_all_is_stored_in_one_form() -> None:
    with cluster(nodes=2, scheduler=False, kubernetes_version="1.37") as live:
        live.stop_time()
        live.apply(_migration("m", "nodes"))
        live.apply(_migration("unknown", "nothings"))
        live.advance_time(1)
        found, waiting = live.get(KIND, "m"), live.get(KIND, "unknown")
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        assert conditions["Succeeded"]["status"] == "True"
        assert conditions["Running"]["message"] == "The migration is running, 2 objects verified migrated"
        assert found["status"]["resourceVersion"]
        assert "conditions" not in waiting.get("status", {})
        live.advance_time(60)
        (_, failed) = live.get(KIND, "unknown")["status"]["conditions"]
        assert (failed["type"], failed["message"]) == ("Failed", "unable to obtain GVR from discovery")
