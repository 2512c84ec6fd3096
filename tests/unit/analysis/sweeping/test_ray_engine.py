"""Runs on a Ray cluster of several nodes, one of which is killed: the table that processes give."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from tests.unit.analysis.sweeping.stories import MOST, story_cluster, urgent

import bayplan
from bayplan.analysis.sweeping.ray_engine import RayEngine

ray = pytest.importorskip("ray", reason="Ray is not installed (bayplan[ray])")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed (bayplan[ray])")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # warnings are Ray's own business


def swept(engine: Any, progress: Any = None) -> list[tuple[str, ...]]:
    axes = {"seed": "1..12", MOST: ["LeastAllocated", "MostAllocated", "NoSuchStrategy"]}
    result = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", engine=engine, progress=progress)
    return [tuple(map(str, row)) for row in zip(*result.table.values(), strict=True)]


def test_a_cluster_that_loses_a_node_gives_the_same_table() -> None:
    # Workers unpickle by importing, which needs the path of this process.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    machines = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    doomed = machines.add_node(num_cpus=1)
    machines.add_node(num_cpus=1)
    ray.init(address=machines.address, log_to_driver=False)
    try:

        def kill(done: int, _total: int, _failed: int) -> None:
            if done == 5:
                machines.remove_node(doomed, allow_graceful=False)

        found = swept(RayEngine(), kill)
        assert sum(node["Alive"] for node in ray.nodes()) == 2
    finally:
        ray.shutdown()
        machines.shutdown()
    assert found == swept("local")
