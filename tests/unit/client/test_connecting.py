"""Finding the cluster: a kubeconfig, or the pod around us."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.authorities import Authority
from tests.scripted_serving import ServedConnection, reply, serving

from bayplan.client.connecting import connect, find_connection
from bayplan.client.http import HttpClient
from bayplan.model.errors import InvalidObject
from bayplan.testing import cluster

AUTHORITY = Authority()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """What a pod finds of its service account."""
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.certificate)
    return tmp_path


def test_a_cluster_of_our_own() -> None:
    async def main(kubeconfig: str) -> None:
        client = connect(kubeconfig)
        assert (await client.request("GET", "/api/v1/nodes")).status == 200
        async with client.stream("/api/v1/nodes?watch=true") as stream:
            assert stream.status == 200
        await client.close()

    with cluster(nodes=1, controllers=False) as running:
        asyncio.run(main(str(running.kubeconfig)))


def test_a_pod_uses_its_service_account_and_reads_its_token_again(account: Path) -> None:
    async def takes_only_second(connection: ServedConnection) -> None:
        while asked := await connection.request():
            is_new = asked.headers["authorization"] == "Bearer second"
            connection.send(reply(b"{}", "200 OK" if is_new else "401 Unauthorized"))

    async def main() -> None:
        tls = AUTHORITY.sign("127.0.0.1").server_context(account)
        async with serving(takes_only_second, tls=tls) as server:
            environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}
            client = HttpClient(find_connection(None, None, environ, account))
            assert (await client.request("GET", "/")).status == 401
            (account / "token").write_text("second")
            assert (await client.request("GET", "/")).status == 200
            await client.close()

    asyncio.run(main())


def test_a_kubeconfig_goes_before_the_pod(account: Path) -> None:
    file = account / "config"
    file.write_text(
        "{clusters: [{name: c, cluster: {server: 'http://x'}}], users: [{name: u}], current-context: d,"
        " contexts: [{name: d, context: {cluster: c, user: u}}]}"
    )
    environ = {"KUBERNETES_SERVICE_HOST": "y", "KUBERNETES_SERVICE_PORT": "1", "KUBECONFIG": str(file)}
    assert find_connection(None, None, environ, account).address.host == "x"


def test_there_is_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="no cluster to connect to"):
        find_connection(None, None, {"HOME": str(tmp_path)}, tmp_path)


def test_a_pod_without_a_service_account(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "y", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(InvalidObject, match=r"in-cluster configuration: .*ca\.crt"):
        find_connection(None, None, environ, tmp_path)


def test_a_context_without_a_kubeconfig(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "y", "KUBERNETES_SERVICE_PORT": "1", "HOME": str(tmp_path)}
    with pytest.raises(InvalidObject, match='context "x": not found; contexts: there are none'):
        find_connection(None, "x", environ, tmp_path)


def test_an_address_of_its_own_goes_before_that_of_the_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "clusters: [{name: c, cluster: {server: 'http://there:1'}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
        "users: [{name: u, user: {}}]\n"
        "current-context: x\n"
    )
    found = find_connection(str(file), None, {}, tmp_path, server="http://here:2")
    assert (found.address.host, found.address.port) == ("here", 2)


def test_an_address_is_enough(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert find_connection(None, None, environ, tmp_path, server="http://here:2").address.host == "here"
    with pytest.raises(InvalidObject, match="unsupported scheme"):
        find_connection(None, None, environ, tmp_path, server="here:2")
