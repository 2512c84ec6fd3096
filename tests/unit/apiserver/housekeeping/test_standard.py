"""All parties together, on what an earlier process has left."""

from __future__ import annotations

from tests.serving import Api

from bayplan.apiserver.housekeeping.standard import Housekeeping


def test_what_was_there_before_is_seen_to() -> None:
    api = Api()
    housekeeping = Housekeeping(api.registry)
    housekeeping.reconcile(api.now)
    accounts = api.get("/api/v1/serviceaccounts")["items"]
    assert {one["metadata"]["namespace"] for one in accounts} >= {"default", "kube-system"}
