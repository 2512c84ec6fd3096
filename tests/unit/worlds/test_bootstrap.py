"""What a cluster has before anybody asks for anything."""

from __future__ import annotations

from tests.support.api_server import DEPLOYMENTS, PODS, Api, deployment, pod

from bayplan.worlds.bootstrap import add_missing_accounts

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
