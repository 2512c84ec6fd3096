"""The fixtures as a user's tests see them, in runs of pytest of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bayplan.testing import LiveCluster

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def kubernetes_cluster_options():
    return {"nodes": 2}
"""
TESTS = """
import pytest

def test_given_by_the_options(kubernetes_cluster):
    assert len(kubernetes_cluster.list("nodes")) == 2

@pytest.mark.kubernetes_cluster(nodes=4, scheduler=False)
class TestMarked:
    def test_given_by_the_class(self, kubernetes_cluster):
        assert len(kubernetes_cluster.list("nodes")) == 4

    @pytest.mark.kubernetes_cluster(nodes=5)
    def test_given_by_the_test(self, kubernetes_cluster):
        assert len(kubernetes_cluster.list("nodes")) == 5

def test_one_for_all(session_kubernetes_cluster):
    session_kubernetes_cluster.delete("node", "node-1")

def test_is_the_same(session_kubernetes_cluster):
    assert [node["metadata"]["name"] for node in session_kubernetes_cluster.list("nodes")] == ["node-2"]
"""


def test_each_test_has_its_own_cluster(kubernetes_cluster: LiveCluster) -> None:
    assert len(kubernetes_cluster.list("nodes")) == 3
    kubernetes_cluster.delete("node", "node-1")


def test_no_other_test_was_here(kubernetes_cluster: LiveCluster) -> None:
    assert len(kubernetes_cluster.list("nodes")) == 3


def test_options_come_from_markers_and_from_a_fixture(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess("--strict-markers", "-p", "no:cacheprovider").assert_outcomes(passed=5)


def test_who_asks_for_no_cluster_pays_for_none(tmp_path: Path) -> None:
    loads = (
        "import sys, bayplan.pytest_plugin; print(sorted(name for name in sys.modules if name.startswith('bayplan')))"
    )
    loaded = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['bayplan', 'bayplan.pytest_plugin']"
