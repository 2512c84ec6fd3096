"""`bayplan rbac`: a role that allows what reading a cluster takes, and no more."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
import yaml

from bayplan.client.contract import Response
from bayplan.client.snapshots import read_snapshot

from .conftest import Bayplan


class Recording:
    """A server with nothing in it, which writes down what is asked for."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, str, str]] = set()

    async def request(self, method: str, path: str, **_: object) -> Response:
        if path == "/version":  # which everybody may see
            return Response(200, b"{}", {})
        parts = path.partition("?")[0].strip("/").split("/")
        group, plural = (parts[1], parts[3]) if parts[0] == "apis" else ("", parts[2])
        self.asked.add((method, group, plural))
        return Response(200, msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": []}), {})


def test_the_role_allows_what_a_snapshot_asks_for(bayplan: Bayplan) -> None:
    server = Recording()
    asyncio.run(read_snapshot(server))  # type: ignore[arg-type] # as much of a client as this needs
    (role,) = yaml.safe_load_all(bayplan("rbac").out)
    allowed = {
        ("GET", group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert allowed == server.asked
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list"}
    (watching,) = yaml.safe_load_all(bayplan("rbac", "--watch").out)
    assert watching["rules"] == [{**rule, "verbs": ["list", "watch"]} for rule in role["rules"]]


def test_it_is_given_to_whoever_is_named(bayplan: Bayplan) -> None:
    said = bayplan("rbac", "--name", "reader", "--user", "ann", "--group", "ops", "--serviceaccount", "tools:bayplan")
    role, binding = yaml.safe_load_all(said.out)
    assert role["metadata"]["name"] == binding["metadata"]["name"] == binding["roleRef"]["name"] == "reader"
    assert [(one["kind"], one.get("namespace"), one["name"]) for one in binding["subjects"]] == [
        ("User", None, "ann"),
        ("Group", None, "ops"),
        ("ServiceAccount", "tools", "bayplan"),
    ]


@pytest.mark.parametrize("text", ["bayplan", "tools:", ":bayplan"])
def test_an_account_without_its_namespace(bayplan: Bayplan, text: str) -> None:
    said = bayplan("rbac", "--serviceaccount", text)
    assert (said.code, said.out) == (2, "")
    assert f"--serviceaccount: {text!r}: expected NAMESPACE:NAME" in said.err


def test_a_server_takes_it(bayplan: Bayplan) -> None:
    from bayplan.testing import cluster

    with cluster(nodes=0, scheduler=False, controllers=False) as running:
        running.apply(bayplan("rbac", "--user", "ann").out)
