"""What a cluster has before anybody asks for anything."""

from __future__ import annotations

from tests.support.api_server import DEPLOYMENTS, PODS, Api, deployment, pod

from bayplan.model.time_units import SECOND
from bayplan.worlds.bootstrap import add_missing_accounts, bootstrap

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def test_accounts_that_pods_and_templates_name_are_added() -> None:
    """Once each; those that are there stay as they are."""
    api = Api()
    api.post(ACCOUNTS, {"metadata": {"name": "known"}, "imagePullSecrets": [{"name": "s"}]})
    for name, account in (("a", "known"), ("b", "new"), ("c", "new")):
        wanted = pod(name)
        wanted["spec"]["serviceAccountName"] = account
        api.post(PODS, wanted)
    wanted = deployment()
    wanted["spec"]["template"]["spec"]["serviceAccountName"] = "of-template"
    api.post(DEPLOYMENTS, wanted)
    add_missing_accounts(api.registry, api.now)
    found = {item["metadata"]["name"]: item.get("imagePullSecrets") for item in api.get(ACCOUNTS)["items"]}
    assert found == {"known": [{"name": "s"}], "new": None, "of-template": None}


def test_the_range_of_cluster_addresses_is_there_and_ready() -> None:
    """Services get their addresses from it."""
    api = Api()
    made = api.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
    assert made["spec"] == {"cidrs": ["10.96.0.0/12"]}
    (ready,) = made["status"]["conditions"]
    assert ready == {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }


def test_a_second_start_changes_nothing() -> None:
    api = Api()
    before = api.version
    bootstrap(api.registry, "127.0.0.1", 6443, api.now + SECOND)
    assert api.version == before
