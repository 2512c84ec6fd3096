"""Pools of nodes in a cluster with an API: nodes come when pods fit nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.support.node_pools import pool

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.testing import LiveCluster
from bayplan.worlds.hosting import Hosting


def wanted() -> dict[str, object]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "nodeSelector": {"kubernetes.io/os": "linux"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def test_a_pod_gets_a_node_of_its_pool(tmp_path: Path) -> None:
    running = LiveCluster(
        Hosting(
            token="t",
            configuration=load_configuration(release=DEFAULT_RELEASE),
            speed=100.0,
            node_pools=[pool("a", start_time="1s")],
        ),
        0,
        tmp_path,
    )
    try:
        running.apply(wanted())
        running.wait_until("pod/p running", timeout=30)
        assert [node["metadata"]["name"] for node in running.list("Node")] == ["a-1"]
        assert running.get("Pod", "p")["spec"]["nodeName"] == "a-1"
    finally:
        running._stop()
