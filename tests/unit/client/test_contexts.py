"""A context as a connection: what it means, and what is wrong with it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.authorities import Authority

from bayplan.client.connection import Connection
from bayplan.client.contexts import connection_of
from bayplan.client.kubeconfig import read_kubeconfig
from bayplan.model.errors import InvalidObject

AUTHORITY = Authority()
OURS = AUTHORITY.sign("jane")
SERVER = "https://api.example.com:6443"
PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "command": "get-token", "interactiveMode": "Never"}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def connect(
    folder: Path,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    context: str | None = None,
    **changed: Any,
) -> Connection:
    """The connection of a kubeconfig with one context, `here`."""
    file = folder / "config"
    document = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
        **changed,
    }
    file.write_text(yaml.safe_dump(document))
    return connection_of(read_kubeconfig(str(file)), context, environ or {})


@pytest.mark.parametrize(
    ("server", "scheme", "host", "port", "prefix"),
    [
        ("https://api.example.com:6443", "https", "api.example.com", 6443, ""),
        ("https://api.example.com/", "https", "api.example.com", 443, ""),
        ("https://api.example.com/k8s/clusters/c-1/", "https", "api.example.com", 443, "/k8s/clusters/c-1"),
        ("https://[::1]:6443", "https", "::1", 6443, ""),
        ("http://127.0.0.1:8080", "http", "127.0.0.1", 8080, ""),
        ("127.0.0.1:8080", "http", "127.0.0.1", 8080, ""),
    ],
)
def test_the_address(tmp_path: Path, server: str, scheme: str, host: str, port: int, prefix: str) -> None:
    assert connect(tmp_path, {"server": server}).address[:4] == (scheme, host, port, prefix)


def test_certificates_as_files_beside_the_kubeconfig_or_in_it(tmp_path: Path) -> None:
    for name, data in {"ca.crt": AUTHORITY.certificate, "own.crt": OURS.certificate, "own.key": OURS.key}.items():
        (tmp_path / name).write_bytes(data)
    by_file = connect(
        tmp_path,
        {"certificate-authority": "ca.crt"},
        {"client-certificate": "own.crt", "client-key": str(tmp_path / "own.key")},
    )
    as_data = connect(
        tmp_path,
        {"certificate-authority-data": encoded(AUTHORITY.certificate)},
        {"client-certificate-data": encoded(OURS.certificate), "client-key-data": encoded(OURS.key)},
    )
    for connection in (by_file, as_data):
        assert connection.tls.authorities == AUTHORITY.certificate
        assert connection.credentials.current.certificate == (OURS.certificate, OURS.key)


def test_how_the_server_is_trusted(tmp_path: Path) -> None:
    settings = connect(tmp_path, {"insecure-skip-tls-verify": True, "tls-server-name": "other"}).tls
    assert (settings.is_insecure, settings.server_name, settings.authorities) == (True, "other", b"")


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        ({}, ""),
        ({"token": "abc"}, "Bearer abc"),
        ({"tokenFile": "token"}, "Bearer from-file"),
        ({"token": "abc", "tokenFile": "token"}, "Bearer from-file"),
        ({"token": "abc", "tokenFile": "missing"}, "Bearer abc"),
        ({"username": "me", "password": "secret"}, "Basic bWU6c2VjcmV0"),
        ({"token": "abc", "exec": PLUGIN}, "Bearer abc"),
    ],
)
def test_what_a_user_sends(tmp_path: Path, user: dict[str, Any], authorization: str) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert connect(tmp_path, user=user).credentials.current.authorization == authorization


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path) -> None:
    assert connect(tmp_path, {"server": "http://127.0.0.1:8080"}, {"token": "abc"}).credentials.current == ("", None)


def test_files_that_are_replaced_are_read_again_and_what_was_read_stays_if_they_are_broken(tmp_path: Path) -> None:
    other = AUTHORITY.sign("joe")
    (tmp_path / "own.crt").write_bytes(OURS.certificate)
    (tmp_path / "own.key").write_bytes(OURS.key)
    connection = connect(tmp_path, user={"client-certificate": "own.crt", "client-key": "own.key"})
    credentials = connection.credentials
    (tmp_path / "own.crt").write_bytes(other.certificate)
    assert not asyncio.run(credentials.rejected(credentials.current))  # the new key is yet to come
    (tmp_path / "own.key").write_bytes(other.key)
    assert asyncio.run(credentials.rejected(credentials.current))
    assert credentials.current.certificate == (other.certificate, other.key)


def test_impersonation(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"example.com/Team": ["x", "y"]}}
    assert [header for header in connect(tmp_path, user=user).headers if header[1]] == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fteam", "x"),
        ("Impersonate-Extra-example.com%2Fteam", "y"),
    ]


def test_a_proxy_of_the_cluster_goes_before_that_of_the_environment(tmp_path: Path) -> None:
    environ = {"HTTPS_PROXY": "http://from-environment:3128"}
    without = connect(tmp_path, environ=environ).proxy
    given = connect(tmp_path, {"proxy-url": "socks5://given"}, environ=environ).proxy
    assert without is not None
    assert (without.host, without.port) == ("from-environment", 3128)
    assert given is not None
    assert (given.scheme, given.host, given.port) == ("socks5", "given", 1080)


def test_another_context_than_the_current_one(tmp_path: Path) -> None:
    contexts = [
        {"name": "here", "context": {"cluster": "missing", "user": "missing"}},
        {"name": "there", "context": {"cluster": "c", "user": "u"}},
    ]
    assert connect(tmp_path, context="there", contexts=contexts).address.host == "api.example.com"


@pytest.mark.parametrize(
    ("cluster", "user", "fault"),
    [
        ({"server": ""}, {}, 'cluster "c": server: required'),
        ({"server": "ftp://x"}, {}, 'cluster "c": server: "ftp://x": unsupported scheme "ftp", must be http or https'),
        ({"server": "https://"}, {}, 'cluster "c": server: "https://": no host in URL'),
        ({"server": "https://x:port"}, {}, 'cluster "c": server: "https://x:port": Port could not be cast'),
        (
            {"certificate-authority": "missing.crt"},
            {},
            'cluster "c": certificate-authority: missing.crt: No such file or directory',
        ),
        (
            {"certificate-authority": "a\0b"},
            {},
            'cluster "c": certificate-authority: a\0b: embedded null byte',
        ),
        ({"certificate-authority-data": "%%%"}, {}, 'cluster "c": certificate-authority-data: not base64'),
        (
            {"certificate-authority-data": encoded(b"x")},
            {},
            'cluster "c": certificate-authority: not a PEM',
        ),
        (
            {"certificate-authority": "a", "certificate-authority-data": "YQ=="},
            {},
            'cluster "c": certificate-authority: cannot be combined with certificate-authority-data',
        ),
        (
            {"insecure-skip-tls-verify": True, "certificate-authority-data": "YQ=="},
            {},
            'cluster "c": insecure-skip-tls-verify: cannot be combined with a certificate-authority',
        ),
        ({"proxy-url": "ftp://x"}, {}, 'cluster "c": proxy-url: "ftp://x": unsupported scheme "ftp", must be http or'),
        ({}, {"client-certificate": "own.crt"}, 'user "u": client-key: required with a client certificate'),
        (
            {},
            {"client-certificate": "own.crt", "client-key": "own.key"},
            'user "u": client-certificate: own.crt: No such file or directory',
        ),
        (
            {},
            {"client-certificate-data": encoded(b"x"), "client-key-data": encoded(b"y")},
            'user "u": client-certificate: not a PEM certificate that can be used',
        ),
        (
            {},
            {"client-certificate-data": encoded(OURS.certificate), "client-key-data": encoded(AUTHORITY.sign("x").key)},
            'user "u": client-certificate: not a PEM certificate that can be used: key values mismatch',
        ),
        ({}, {"tokenFile": "missing"}, 'user "u": tokenFile: missing: No such file or directory'),
        ({}, {"token": "a", "username": "b"}, 'user "u": token: cannot be combined with username and password'),
        ({}, {"as-groups": ["g"]}, 'user "u": as: required with as-uid, as-groups and as-user-extra'),
        ({}, {"auth-provider": {"name": "gcp"}}, 'user "u": auth-provider: "gcp" is not supported; use an exec plugin'),
        ({}, {"exec": {**PLUGIN, "command": ""}}, 'user "u": exec.command: required'),
        (
            {},
            {"exec": {**PLUGIN, "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            'user "u": exec.apiVersion: "client.authentication.k8s.io/v1alpha1" is not one of client.authentication',
        ),
        ({}, {"exec": {**PLUGIN, "interactiveMode": ""}}, 'user "u": exec.interactiveMode: required: one of Never'),
        ({}, {"exec": {**PLUGIN, "interactiveMode": "x"}}, 'user "u": exec.interactiveMode: "x" is not one of Never'),
        ({}, {"exec": {**PLUGIN, "env": [{"value": "x"}]}}, 'user "u": exec.env: a variable has no name'),
    ],
)
def test_faults_name_file_object_and_field(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], fault: str
) -> None:
    with pytest.raises(InvalidObject) as caught:
        connect(tmp_path, cluster, user)
    assert f"{tmp_path / 'config'}: {fault}" in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "context", "fault"),
    [
        ({"current-context": ""}, None, "current-context: not set; choose a context with --context"),
        ({}, "other", 'context "other": not found; contexts: here'),
        ({"clusters": []}, None, 'context "here": cluster: cluster "c" not found'),
        ({"users": []}, None, 'context "here": user: user "u" not found'),
        ({"contexts": [{"name": "here"}]}, None, 'context "here": user: required'),
    ],
)
def test_a_context_that_leads_nowhere(tmp_path: Path, changed: dict[str, Any], context: str | None, fault: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        connect(tmp_path, context=context, **changed)
    assert f"{tmp_path / 'config'}: {fault}" in str(caught.value)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject) as caught:
        connect(tmp_path, {"server": ""}, {"token": "a", "password": "b", "exec": {"command": ""}})
    assert [fault.field for fault in caught.value.faults] == ["server", "token", "exec.command", "exec.apiVersion"]
