"""All parties together, on what an earlier process has left."""

from __future__ import annotations

from tests.support.api_server import Api

from bayplan.apiserver.housekeeping.events import EventExpiry
from bayplan.apiserver.housekeeping.standard import Housekeeping


def test_what_was_there_before_is_seen_to() -> None:
    api = Api()
    housekeeping = Housekeeping(api.registry)
    housekeeping.reconcile(api.now)
    accounts = api.get("/api/v1/serviceaccounts")["items"]
    assert {one["metadata"]["namespace"] for one in accounts} >= {"default", "kube-system"}


def test_events_of_an_earlier_process_go_in_the_order_in_which_they_were_written() -> None:
    api, about = Api(), {"kind": "Pod", "namespace": "default", "name": "p"}
    for name in ("z", "m", "a"):
        event = {"metadata": {"name": name}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
        api.post("/api/v1/namespaces/default/events", event)
    housekeeping = Housekeeping(api.registry, [], EventExpiry(events_max=1))
    housekeeping.reconcile(api.now)
    assert [item["metadata"]["name"] for item in api.get("/api/v1/events")["items"]] == ["a"]
