"""How the cost of a decision grows: with the nodes, and with the pods that run on them.

Takes names of workloads; gives measurements, and how many times the cost more nodes are. The cost is the median of all
decisions, so that the first pod of a template, which has every node to look at, counts like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bayplan.analysis.bench.isolation import measure_apart
from bayplan.analysis.bench.measure import Measurement
from bayplan.analysis.bench.workloads import WORKLOADS
from bayplan.config.releases import KubernetesRelease

NODE_COUNTS = (500, 2_000, 5_000, 20_000, 50_000)
#: Pods that run on each of `NODES_UNDER_PODS` nodes before the first decision.
PODS_PER_NODE = (10, 50)
NODES_UNDER_PODS = 5_000
#: Enough for a steady figure, few enough to measure 50,000 nodes in minutes.
PODS_BY_DEFAULT = 2_000
#: A node has room for one pod of these: more pods than nodes would be another workload.
ONE_PER_NODE = frozenset({"anti-affinity", "preempt", "preempt-spread", "preempt-apart"})

#: Measures a workload with this many nodes and pods to place, the release that decides, and bystanders on each node.
Measure = Callable[[str, int, int, KubernetesRelease, int], Measurement]


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """One measurement, and what was varied to get it."""

    varied: str  # "nodes" or "running"
    measured: Measurement


@dataclass(frozen=True, slots=True)
class Growth:
    """How many times the cost of a decision so many times the nodes are."""

    workload: str
    nodes: float
    cost: float


def measure_scaling(
    workloads: Sequence[str],
    pod_count: int,
    release: KubernetesRelease,
    node_counts: Sequence[int] = NODE_COUNTS,
    pods_per_node: Sequence[int] = PODS_PER_NODE,
    measure: Measure = measure_apart,
) -> Iterator[ScalePoint]:
    """Each workload over the nodes, then over the running pods; points come as they are measured."""
    for workload in workloads:
        for node_count in node_counts:
            found = measure(workload, node_count, _pods(workload, pod_count, node_count), release, 0)
            yield ScalePoint("nodes", found)
            if node_count == NODES_UNDER_PODS:
                yield ScalePoint("running", found)
        for count in pods_per_node:
            pods = _pods(workload, pod_count, NODES_UNDER_PODS)
            yield ScalePoint("running", measure(workload, NODES_UNDER_PODS, pods, release, count))


def _pods(workload: str, pod_count: int, node_count: int) -> int:
    """Half of what a benchmark places is enough here."""
    room = node_count * 4 // 5 if workload in ONE_PER_NODE else pod_count
    return max(1, min(pod_count, WORKLOADS[workload].count // 2, room))


def growths(points: Sequence[ScalePoint]) -> list[Growth]:
    """From the fewest nodes to the most, for each workload."""
    found: dict[str, list[Measurement]] = {}
    for point in points:
        if point.varied == "nodes":
            found.setdefault(point.measured.workload, []).append(point.measured)
    return [
        Growth(workload, line[-1].nodes / line[0].nodes, line[-1].p50_us / max(line[0].p50_us, 0.1))
        for workload, line in found.items()
    ]
