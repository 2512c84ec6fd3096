"""Pods, workloads and nodes that a shell completes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from bayplan.cli.main import cli
from bayplan.testing import builders as make
from bayplan.testing import cluster

FileOf = Callable[..., str]


def completed(*words: str) -> list[str]:
    *before, incomplete = words
    found = ShellComplete(cli, {}, "bayplan", "_BAYPLAN_COMPLETE").get_completions(before, incomplete)
    return [item.value for item in found]


@pytest.fixture
def file(file_of: FileOf) -> str:
    return file_of(
        make.node("node-1"),
        make.node("other"),
        make.pod("web-1"),
        make.pod("api-1"),
        make.pod("db").namespace("shop"),
        make.deployment("web"),
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["explain", "w"], ["web-1"]),
        (["explain", "shop/"], ["shop/db"]),
        (["explain", "-n", "shop", "d"], ["daemonset/", "db", "deployment/"]),
        (["fix", "deployment/"], ["deployment/web"]),
        (["place", "web-1", "a"], ["api-1"]),
        (["exposure", "a"], ["api-1"]),
        (["drain", "n"], ["node-1"]),
        (["whatif", "--drain", "o"], ["other"]),
    ],
)
def test_names_from_files(file: str, words: list[str], expected: list[str]) -> None:
    command, *rest = words
    assert completed(command, "-f", file, *rest) == expected


def test_names_from_a_cluster_and_contexts() -> None:
    with cluster(nodes=2, scheduler=False, controllers=False) as running:
        kubeconfig = str(running.kubeconfig)
        running.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": SPEC})
        assert completed("explain", "--kubeconfig", kubeconfig, "w") == ["web"]
        assert completed("drain", "--kubeconfig", kubeconfig, "") == ["node-1", "node-2"]
        assert completed("drain", "--kubeconfig", kubeconfig, "--context", "") == ["bayplan"]


SPEC = {"containers": [{"name": "main", "image": "main"}]}


def test_without_a_cluster_there_is_nothing_to_complete(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert completed("explain", "-f", missing, "w") == []
    assert completed("explain", "--kubeconfig", missing, "w") == []
    assert completed("explain", "--kubeconfig", missing, "--context", "w") == []
