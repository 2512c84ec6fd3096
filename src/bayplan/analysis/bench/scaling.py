"""How the cost of a decision grows: with the nodes, and with the pods that run on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bayplan.analysis.bench.isolation import measure_apart
from bayplan.analysis.bench.measure import Measurement

NODE_COUNTS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
#: Pods that run on each of `NODES_UNDER_PODS` nodes before the first decision.
PODS_PER_NODE = (0, 5, 10, 20, 50)
NODES_UNDER_PODS = 5_000
WORKLOADS_BY_DEFAULT = ("basic", "mixed", "spread", "anti-affinity")
#: Enough for a steady figure, few enough for a machine with 50,000 nodes to measure in minutes.
PODS_BY_DEFAULT = 2_000

#: Measures a workload with so many nodes, pods to place, and bystanders on each node.
Measure = Callable[[str, int, int, int], Measurement]


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """One measurement, and what was varied to get it."""

    varied: str  # "nodes" or "running"
    measured: Measurement


def measure_scaling(
    workloads: Sequence[str],
    pod_count: int,
    node_counts: Sequence[int] = NODE_COUNTS,
    pods_per_node: Sequence[int] = PODS_PER_NODE,
    measure: Measure = measure_apart,
) -> Iterator[ScalePoint]:
    """Every workload over the nodes, then over the running pods; points come as they are measured."""
    for workload in workloads:
        for node_count in node_counts:
            yield ScalePoint("nodes", measure(workload, node_count, pod_count, 0))
    for workload in workloads:
        for count in pods_per_node:
            yield ScalePoint("running", measure(workload, NODES_UNDER_PODS, pod_count, count))
