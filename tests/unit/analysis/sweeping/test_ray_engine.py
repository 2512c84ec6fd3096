"""Runs on a Ray cluster of one node, and of several, one of which is killed: the table that processes give."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.unit.analysis.sweeping.stories import MOST, story_cluster, urgent

import bayplan
from bayplan.analysis.sweeping.ray_engine import RayEngine

ray = pytest.importorskip("ray", reason="Ray is not installed (bayplan[ray])")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed (bayplan[ray])")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # warnings are Ray's own business


@contextmanager
def machines(count: int) -> Iterator[Any]:
    """A Ray cluster of so many nodes with one CPU each; the last of them can be killed."""
    # Workers unpickle by importing, which needs the path of this process.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else they wait until no other test wants a CPU
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(count - 1):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def swept(engine: Any, progress: Any = None) -> list[tuple[str, ...]]:
    axes = {"seed": "1..12", MOST: ["LeastAllocated", "MostAllocated", "NoSuchStrategy"]}
    result = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", engine=engine, progress=progress)
    return [tuple(map(str, row)) for row in zip(*result.table.values(), strict=True)]


def alive() -> int:
    return sum(node["Alive"] for node in ray.nodes())


def test_one_node_and_three_of_which_one_is_killed_give_the_table_that_processes_give() -> None:
    expected = swept("local")
    with machines(1):
        assert swept(RayEngine()) == expected
    with machines(3) as cluster:
        doomed = list(cluster.worker_nodes)[-1]

        def kill(done: int, _total: int, _failed: int) -> None:
            if done == 5:
                assert alive() == 3
                cluster.remove_node(doomed, allow_graceful=False)

        assert swept(RayEngine(), kill) == expected
        until = time.monotonic() + 60  # Ray takes a while to believe it
        while alive() == 3 and time.monotonic() < until:
            time.sleep(0.1)
        assert alive() == 2
