"""Pools of nodes in one line each, and clusters that grow and shrink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import PlannedCommand, ScaleWorkload
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.running import Options, Simulation
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import NodeSpec, NodeStatus, Taint
from bayplan.model.node_pools import Autoscaler, AutoscalerSpec, NodePool, NodePoolSpec, NodeTemplate
from bayplan.model.time_units import MINUTE
from bayplan.worlds.delays import Latencies

#: Nothing is left to chance.
EXACT = Latencies(jitter=0.0)


def pool(
    name: str, cpu: str = "4", taints: Sequence[Taint] = (), labels: dict[str, str] | None = None, **fields: Any
) -> NodePool:
    """Nodes with so many CPUs and 16Gi; one at a time costs 1 an hour."""
    template = NodeTemplate(
        metadata=ObjectMeta(labels=labels or {}),
        spec=NodeSpec(taints=list(taints)),
        status=NodeStatus(allocatable={"cpu": cpu, "memory": "16Gi"}),
    )
    spec = NodePoolSpec(template=template, **{"max": 10, "price": 1.0, **fields})
    return NodePool(metadata=ObjectMeta(name=name), spec=spec)


def autoscaler(**fields: Any) -> Autoscaler:
    return Autoscaler(metadata=ObjectMeta(name="default"), spec=AutoscalerSpec(**fields))


def scaled(minutes: float, workload: str, replicas: int) -> PlannedCommand:
    """A Deployment gets so many replicas."""
    target = Reference("Deployment", "default", workload)
    return PlannedCommand(round(minutes * MINUTE), ScaleWorkload((target,), replicas))


def simulated(
    things: Sequence[Any], minutes: float, plans: Sequence[PlannedCommand] = (), seed: int = 0
) -> SimulationResult:
    """The life of objects, and of what builders make."""
    objects = [thing.manifest().obj() if hasattr(thing, "manifest") else thing for thing in things]
    options = Options(seed=seed, until_ns=round(minutes * MINUTE), latencies=EXACT)
    return Simulation(Cluster(objects), plans, options).run()


def sizes(result: SimulationResult, minute: float) -> dict[str, int]:
    """How many nodes each pool has at that time."""
    at, counts = minute * 60, dict.fromkeys(result.summary.pools, 0)
    for node in result.run.nodes:
        if node.pool and node.since <= at and (node.until is None or node.until > at):
            counts[node.pool] += 1
    return counts
