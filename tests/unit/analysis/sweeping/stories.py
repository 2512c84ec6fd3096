"""A small story to sweep: a node too few, an urgent pod, and a trace-like load of two classes."""

from __future__ import annotations

from typing import Any

from tests.unit.analysis.simulation.worlds import after, cluster, nodes, objects, pattern, workload

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.commands import Apply, PlannedCommand
from bayplan.analysis.sweeping.axes import read_axes
from bayplan.analysis.sweeping.design import design, read_sampling
from bayplan.analysis.sweeping.preparing import Base, Preparation

MOST = "args.NodeResourcesFit.scoringStrategy.type"


def story_cluster() -> Cluster:
    return cluster(*nodes(3), workload("web", 4, "2", "low"), workload("api", 2, "1", "low"))


def urgent() -> list[PlannedCommand]:
    return [after(2, Apply(objects(pattern("urgent", "4", "high"))))]


def prepared(axes: dict[str, Any], base_cluster: Cluster | None = None, **base: Any) -> Preparation:
    usual = {"timeline": urgent(), "until": "5m"}
    given = Base(story_cluster() if base_cluster is None else base_cluster, **{**usual, **base})
    return Preparation(given, design(read_axes(axes), read_sampling("grid")))
