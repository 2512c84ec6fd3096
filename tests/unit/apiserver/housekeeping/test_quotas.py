"""Quotas say what is used."""

from __future__ import annotations

from tests.support.api_server import CONFIG_MAPS
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.quotas import QuotaUsage

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def test_usage_follows_what_is_stored() -> None:
    stage = Stage([QuotaUsage()])
    stage.post(CONFIG_MAPS, metadata=named("a"))
    stage.post(QUOTAS, metadata=named("q"), spec={"hard": {"configmaps": "3"}})
    assert stage.api.get(f"{QUOTAS}/q")["status"] == {"hard": {"configmaps": "3"}, "used": {"configmaps": "1"}}
    stage.post(CONFIG_MAPS, metadata=named("b"))
    assert stage.api.get(f"{QUOTAS}/q")["status"]["used"] == {"configmaps": "2"}
    stage.delete(f"{CONFIG_MAPS}/a")
    assert stage.api.get(f"{QUOTAS}/q")["status"]["used"] == {"configmaps": "1"}
