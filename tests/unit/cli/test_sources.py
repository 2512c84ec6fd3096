"""Commands that ask a live cluster: explain, place and simulate, with files on top."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bayplan.cli.sources import Source
from bayplan.testing import builders as make
from bayplan.testing import cluster
from bayplan.testing.live_cluster import LiveCluster

from .conftest import Bayplan

FileOf = Callable[..., str]

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec: {containers: [{name: main, image: main, resources: {requests: {cpu: "6"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: runs}
spec: {nodeName: node-1, containers: [{name: main, image: main, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture(scope="module")
def live() -> Iterator[LiveCluster]:
    """Two nodes with 4 CPUs each, one pod on the first, and one that waits for 6."""
    with cluster(nodes=2, scheduler=False, controllers=False) as running:
        running.apply(PODS)
        yield running


@pytest.fixture
def kubeconfig(live: LiveCluster) -> str:
    return str(live.kubeconfig)


def test_explain(bayplan: Bayplan, kubeconfig: str) -> None:
    said = bayplan("explain", "waits", "--kubeconfig", kubeconfig)
    assert (said.code, said.err) == (1, "")
    assert said.first_line.startswith("default/waits does not fit on any of the 2 nodes")


def test_place(bayplan: Bayplan, kubeconfig: str) -> None:
    said = bayplan("place", "--kubeconfig", kubeconfig, "-o", "json")
    assert said.code == 1
    assert [decision["pod"] for decision in said.json()["decisions"]] == ["default/waits"]


def test_simulate(bayplan: Bayplan, kubeconfig: str) -> None:
    said = bayplan("simulate", "--kubeconfig", kubeconfig, "--until", "10s", "-o", "json")
    assert said.code == 0
    assert "default/waits" in {pod["key"] for pod in said.json()["pods"]}


def test_files_go_on_top(bayplan: Bayplan, kubeconfig: str, file_of: FileOf) -> None:
    larger = file_of(make.node("node-2").capacity(cpu=8, memory="8Gi", pods=10), make.pod("more").cpu("3"))
    said = bayplan("place", "--kubeconfig", kubeconfig, "-f", larger, "-o", "json")
    nodes = {decision["pod"]: decision["node"] for decision in said.json()["decisions"]}
    assert nodes == {"default/waits": "node-2", "default/more": "node-1"}


def test_a_context_of_the_usual_kubeconfig(bayplan: Bayplan, kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    assert bayplan("explain", "runs", "--context", "bayplan").code == 0
    said = bayplan("explain", "runs", "--context", "other")
    assert (said.code, said.err) == (2, f'error: {kubeconfig}: context "other": not found; contexts: bayplan\n')


def test_the_current_context_and_its_namespace(
    bayplan: Bayplan, kubeconfig: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.write_text(Path(kubeconfig).read_text().replace("context:\n", "context:\n    namespace: shop\n"))
    monkeypatch.setenv("KUBECONFIG", str(own))
    assert bayplan("explain", "x").err.startswith("error: Pod shop/x: not found")
    assert bayplan("explain", "runs", "-n", "default").code == 0
    assert bayplan("explain").first_line == "No pod is pending in namespace shop."
    assert bayplan("explain", "-A").first_line == "1 pod of 1 workload is pending."
    assert bayplan("place").first_line == "There are no pods to place."
    assert bayplan("place", "-A", "-o", "json").json()["decisions"][0]["pod"] == "default/waits"


@pytest.mark.parametrize("command", [["explain", "x"], ["place"]])
def test_neither_files_nor_a_cluster(bayplan: Bayplan, command: list[str]) -> None:
    said = bayplan(*command)
    assert said.code == 2
    assert "There is no cluster to read: name files with -f, or a kubeconfig" in said.err


def test_a_kubeconfig_that_is_not_there(bayplan: Bayplan, tmp_path: Path) -> None:
    said = bayplan("explain", "x", "--kubeconfig", str(tmp_path / "none"))
    assert (said.code, said.err) == (2, f"error: {tmp_path / 'none'}: no such file\n")


def test_a_cluster_that_is_gone(bayplan: Bayplan, tmp_path: Path) -> None:
    with cluster(nodes=0, controllers=False) as running:
        gone = tmp_path / "kubeconfig"
        gone.write_text(running.kubeconfig.read_text())
        token = running.token
    said = bayplan("explain", "x", "--kubeconfig", str(gone))
    assert said.code == 2
    assert "connect: connection refused" in said.err
    assert token not in said.err


@pytest.mark.parametrize(
    ("files", "kubeconfig", "context", "text"),
    [
        (["a.yaml", "my files/"], None, None, "-f a.yaml -f 'my files/'"),
        ([], "k.conf", "prod", "--kubeconfig k.conf --context prod"),
        (["-"], None, "prod", "-f - --context prod"),
    ],
)
def test_the_next_command_reads_the_same_source(
    files: list[str], kubeconfig: str | None, context: str | None, text: str
) -> None:
    assert Source(tuple(files), kubeconfig, context).arguments() == text
