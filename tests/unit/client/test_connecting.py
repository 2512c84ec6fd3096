"""Finding the cluster: a kubeconfig, or the pod around us."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from tests.support.authorities import Authority
from tests.support.scripted_server import ServedConnection, always_ok, reply, serving

from bayplan.client.connecting import connect, find_connection
from bayplan.client.contract import NotSentError
from bayplan.client.http import HttpClient
from bayplan.model.errors import InvalidObject
from bayplan.testing import cluster

AUTHORITY = Authority()
EXEC_VERSION = "client.authentication.k8s.io/v1"


def printing(**status: str) -> str:
    """A script that prints an ExecCredential; its folder is $HERE."""
    document = json.dumps({"apiVersion": EXEC_VERSION, "status": status})
    return f'HERE="$(dirname "$0")"\ncat <<END\n{document}\nEND'


PRINTS_TOKEN = printing(token='$(cat "$HERE/token")').replace('\\"', '"')
PRINTS_CERTIFICATE = printing(clientCertificateData="none", clientKeyData="none")


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


def kubeconfig_with_plugin(folder: Path, port: int, script: str) -> str:
    """A kubeconfig whose user is identified by a program, which is beside it."""
    (folder / "plugin").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "plugin").chmod(0o755)
    (folder / "ca.crt").write_bytes(AUTHORITY.certificate)
    file = folder / "config"
    file.write_text(f"""
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: ca.crt}}}}]
users:
- name: u
  user: {{exec: {{apiVersion: {EXEC_VERSION}, command: ./plugin, interactiveMode: Never, provideClusterInfo: true}}}}
contexts: [{{name: d, context: {{cluster: c, user: u}}}}]
current-context: d
""")
    return str(file)


def test_a_plugin_is_run_again_when_the_server_rejects_its_token(account: Path) -> None:
    async def takes_only_second(connection: ServedConnection) -> None:
        while asked := await connection.request():
            is_new = asked.headers["authorization"] == "Bearer second"
            connection.send(reply(b"{}", "200 OK" if is_new else "401 Unauthorized"))

    async def main() -> None:
        async with serving(takes_only_second, tls=AUTHORITY.sign("127.0.0.1").server_context(account)) as server:
            client = connect(kubeconfig_with_plugin(account, server.port, PRINTS_TOKEN), environ=os.environ)
            assert (await client.request("POST", "/", b"{}")).status == 401
            (account / "token").write_text("second")
            assert (await client.request("POST", "/", b"{}")).status == 200
            await client.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("script", "timeout_s", "text"),
    [
        ("exit 1", None, r": getting credentials: exec: executable .*/plugin failed with exit code 1$"),
        ("exec sleep 5", 0.1, r": context deadline exceeded \(Client\.Timeout exceeded while awaiting headers\)$"),
        (PRINTS_CERTIFICATE, None, r": getting credentials: failed parsing client key/certificate: "),
    ],
)
def test_a_plugin_that_is_of_no_help(account: Path, script: str, timeout_s: float | None, text: str) -> None:
    async def main() -> None:
        async with serving(always_ok, tls=AUTHORITY.sign("127.0.0.1").server_context(account)) as server:
            client = connect(kubeconfig_with_plugin(account, server.port, script), environ=os.environ)
            with pytest.raises(NotSentError, match=text):
                await client.request("POST", "/", b"{}", timeout_s=timeout_s)
            assert server.asked == []

    asyncio.run(main())
