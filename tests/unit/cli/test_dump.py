"""`bayplan dump`: what is in the file, and what is not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.testing import cluster
from bayplan.testing.live_cluster import LiveCluster

from .conftest import Bayplan

OBJECTS = """
apiVersion: v1
kind: Secret
metadata: {name: acme-secret}
stringData: {password: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: acme-settings}
data: {password: hunter2}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: acme-none}
spec:
  replicas: 0
  selector: {matchLabels: {acme: none}}
  template:
    metadata: {labels: {acme: none}, annotations: {acme: hunter2}}
    spec: {containers: [{name: main, image: main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: acme-web, labels: {acme: shop}, annotations: {acme: hunter2}}
spec:
  containers:
  - name: main
    image: registry.example.com/acme:1
    args: [hunter2]
    env: [{name: PASSWORD, value: hunter2}]
    resources: {requests: {cpu: "2"}}
"""


@pytest.fixture(scope="module")
def live() -> Iterator[LiveCluster]:
    with cluster(nodes=2, scheduler=False, controllers=False) as running:
        running.apply(OBJECTS)
        yield running


def placed(bayplan: Bayplan, file: str) -> list[tuple[str, int]]:
    decisions = bayplan("place", "-f", file, "-o", "json").json()["decisions"]
    return [(decision["node"], decision["total"]) for decision in decisions]


def test_a_dump_is_read_by_the_other_commands(bayplan: Bayplan, live: LiveCluster, tmp_path: Path) -> None:
    file = str(tmp_path / "cluster.json")
    said = bayplan("dump", "--kubeconfig", str(live.kubeconfig), "--output-file", file)
    assert said.code == 0
    assert said.err.endswith(f"written to {file}\n")
    from_cluster = bayplan("place", "--kubeconfig", str(live.kubeconfig), "-o", "json").json()
    assert bayplan("place", "-f", file, "-o", "json").json() == from_cluster


def test_secrets_and_what_does_not_affect_scheduling_are_not_in_it(
    bayplan: Bayplan, live: LiveCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(live.kubeconfig))
    bayplan("dump", "--output-file", str(tmp_path / "cluster.json"))
    text = (tmp_path / "cluster.json").read_text()
    assert {item["kind"] for item in json.loads(text)["items"]}.isdisjoint({"Secret", "ConfigMap"})
    assert "acme-web" in text
    assert "hunter2" not in text
    pod = next(item for item in json.loads(text)["items"] if item["kind"] == "Pod")
    assert pod["spec"]["containers"] == [
        {"name": "main", "image": "registry.example.com/acme:1", "resources": {"requests": {"cpu": "2"}}}
    ]


def test_without_names(bayplan: Bayplan, live: LiveCluster, tmp_path: Path) -> None:
    plain, renamed = str(tmp_path / "plain.json"), str(tmp_path / "renamed.json.gz")
    bayplan("dump", "--kubeconfig", str(live.kubeconfig), "--output-file", plain)
    assert bayplan("dump", "--kubeconfig", str(live.kubeconfig), "--anonymize", "--output-file", renamed).code == 0
    text = gzip.decompress(Path(renamed).read_bytes()).decode()
    assert not any(word in text for word in ("acme", "shop", "hunter2", "registry", "node-1", "zone-a"))
    ((_, total),) = placed(bayplan, plain)
    assert [new for _, new in placed(bayplan, renamed)] == [total]


def test_to_standard_output(live: LiveCluster, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from bayplan.cli.main import run

    assert run(["dump", "--kubeconfig", str(live.kubeconfig)]) == 0
    assert json.loads(capfdbinary.readouterr().out)["kind"] == "List"


def test_a_file_that_cannot_be_written_is_reported_first(bayplan: Bayplan, tmp_path: Path) -> None:
    said = bayplan("dump", "--kubeconfig", "nowhere", "--output-file", str(tmp_path / "none" / "x.json"))
    assert said.code == 2
    assert "-o" in said.err
