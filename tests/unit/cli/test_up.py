"""`bayplan up`: how it starts, what it refuses, where its kubeconfig is, how it stops."""

from __future__ import annotations

import base64
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import Bayplan

PROGRAM = str(Path(sys.executable).with_name("bayplan"))
STARTS_WITHIN_S = 60.0


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[str]:
    """The command in a process of its own; gives what it has said when it is ready."""
    log = folder / "up.log"
    with log.open("w", encoding="utf-8") as output:
        command = [PROGRAM, "up", "--listen", "127.0.0.1:0", "--token", "t", *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
    try:
        gives_up_at = time.monotonic() + STARTS_WITHIN_S
        while "export KUBECONFIG=" not in log.read_text(encoding="utf-8"):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < gives_up_at, log.read_text(encoding="utf-8")
            time.sleep(0.05)
        yield log.read_text(encoding="utf-8")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(STARTS_WITHIN_S) == 0, log.read_text(encoding="utf-8")


def said(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]


def fetched(url: str, certificate: str = "") -> str:
    request = urllib.request.Request(url, headers={"Authorization": "Bearer t"})
    context = ssl.create_default_context(cadata=certificate) if certificate else None
    with urllib.request.urlopen(request, context=context) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--nodes", "five"], "--nodes: 'five': expected FILE=N, or a node such as 8cpu,32Gi=N"),
        (["--nodes", "9999999"], "--nodes: 9999999: expected at most 100,000 nodes"),
        (["--nodes", "5cpu=2"], "--nodes: '5cpu=2': memory is missing"),
        (["--listen", "nowhere"], "'nowhere': expected ADDRESS:PORT, such as 127.0.0.1:8080"),
        (["--event-ttl", "soon"], "invalid duration 'soon'; expected a duration such as 15s or 1m30s"),
        (["--event-ttl", "0s"], "--event-ttl: 0s: expected a time above zero"),
        (["--event-limit", "0"], "0 is not in the range x>=1"),
        (["--disable-admission-plugins", "ServiceAccount,Other"], "'Other': can be turned off: ServiceAccount"),
        (["-f", "missing.yaml"], "missing.yaml: no such file or directory"),
    ],
)
def test_bad_options(bayplan: Bayplan, arguments: list[str], fault: str) -> None:
    outcome = bayplan("up", *arguments)
    assert outcome.code == 2
    assert fault in outcome.err


def test_bad_objects_are_named_with_file_and_field(bayplan: Bayplan, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n")
    outcome = bayplan("up", "--listen", "127.0.0.1:0", "-f", str(file))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"error: {file}: Pod a: spec.containers[0].image: Required value\n"


def test_a_port_in_use(bayplan: Bayplan) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        outcome = bayplan("up", "--listen", address)
    assert outcome.code == 2
    assert outcome.err == f"error: --listen: cannot listen on {address}: Address already in use\n"


def test_a_kubeconfig_of_somebody_else_is_left_alone(bayplan: Bayplan, tmp_path: Path) -> None:
    own = tmp_path / "config"
    own.write_text("apiVersion: v1\nkind: Config\ncurrent-context: work\n")
    outcome = bayplan("up", "--listen", "127.0.0.1:0", "--write-kubeconfig", str(own))
    assert outcome.code == 2
    assert "was not written by bayplan" in outcome.err
    assert "current-context: work" in own.read_text()


def test_it_starts_with_nodes_and_leaves_no_file_behind(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "8cpu,32Gi=2") as text:
        url = said(r"Cluster ready at (\S+)", text)
        assert fetched(f"{url}/api/v1/nodes").count('"kubeletVersion":"v1.36.4"') == 2
        kubeconfig = Path(said(r"export KUBECONFIG=(\S+)", text))
        assert f"server: https://{url.removeprefix('http://')}\n" in kubeconfig.read_text()
        assert kubeconfig.stat().st_mode & 0o077 == 0
    assert not kubeconfig.parent.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["up.log"]


def test_one_address_with_tls_and_without(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes", "0", "--write-kubeconfig", "own.yaml") as text:
        plain = said(r"Cluster ready at (http://\S+)", text)
        path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
        secure = plain.replace("http:", "https:")
        assert fetched(f"{plain}{path}") == fetched(f"{secure}{path}", _authority(tmp_path))
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(f"{secure}{path}")


def test_tls_alone(tmp_path: Path) -> None:
    with running(tmp_path, "--tls", "--nodes", "0", "--write-kubeconfig", "own.yaml") as text:
        url = said(r"Cluster ready at (https://\S+)", text)
        config = fetched(f"{url}/api/v1/namespaces/default/configmaps/kube-root-ca.crt", _authority(tmp_path))
        assert "BEGIN CERTIFICATE" in config


def _authority(folder: Path) -> str:
    text = (folder / "own.yaml").read_text(encoding="utf-8")
    return base64.b64decode(said(r"certificate-authority-data: (\S+)", text)).decode()


def test_a_state_is_taken_up_again(tmp_path: Path) -> None:
    """With the same objects, uids and versions, and without nodes that were deleted coming back."""
    file = tmp_path / "things.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n")
    with running(tmp_path, "--state", "s.db", "--nodes", "2", "-f", str(file)) as text:
        url = said(r"Cluster ready at (\S+)", text)
        before = fetched(f"{url}/api/v1/namespaces/default/configmaps/kept")
        request = urllib.request.Request(f"{url}/api/v1/nodes/node-2", headers={"Authorization": "Bearer t"})
        request.method = "DELETE"
        urllib.request.urlopen(request).close()
    kubeconfig = (tmp_path / "s.db.kubeconfig").read_text(encoding="utf-8")
    assert (tmp_path / "s.db.tls.key").stat().st_mode & 0o077 == 0
    with running(tmp_path, "--state", "s.db", "--nodes", "2", "-f", str(file)) as text:
        url = said(r"Cluster ready at (\S+)", text)
        assert fetched(f"{url}/api/v1/namespaces/default/configmaps/kept") == before
        assert fetched(f"{url}/api/v1/nodes").count('"kubeletVersion"') == 1
    # Whoever has read the first kubeconfig still trusts the server.
    authority = said(r"certificate-authority-data: (\S+)", kubeconfig)
    assert authority in (tmp_path / "s.db.kubeconfig").read_text(encoding="utf-8")
