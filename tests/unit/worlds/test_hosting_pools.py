"""Pools of nodes in a cluster with an API: nodes come when pods fit nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.testing import LiveCluster
from bayplan.worlds.hosting import Hosting


@pytest.fixture
def running(tmp_path: Path) -> Iterator[LiveCluster]:
    hosting = Hosting(token="t", configuration=load_configuration(release=DEFAULT_RELEASE), speed=100.0)
    cluster = LiveCluster(hosting, 0, tmp_path)
    yield cluster
    cluster._stop()


def wanted(name: str) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "nodeSelector": {"kubernetes.io/os": "linux"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def pool(most: int) -> dict[str, Any]:
    template = {"status": {"allocatable": {"cpu": "1", "memory": "16Gi"}}}
    spec = {"template": template, "max": most, "startTime": "1s"}
    return {"apiVersion": "bayplan/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": spec}


def nodes(cluster: LiveCluster) -> list[str]:
    return [node["metadata"]["name"] for node in cluster.list("Node")]


def test_a_pool_that_is_applied_gives_waiting_pods_nodes_and_more_when_it_may_have_more(running: LiveCluster) -> None:
    running.apply(wanted("p"))
    running.wait_until("pod/p pending", timeout=30)
    running.apply(pool(1))
    running.wait_until("pod/p running", timeout=30)
    assert nodes(running) == ["a-1"]
    running.apply(wanted("q"))
    running.advance_time(60)
    running.wait_until("pod/q pending", timeout=30)
    running.apply(pool(2))
    running.advance_time(20)
    running.wait_until("pod/q running", timeout=30)
    assert nodes(running) == ["a-1", "a-2"]
    running.wait_until(lambda cluster: cluster.get("NodePool", "a")["status"] == {"nodes": 2}, timeout=30)
