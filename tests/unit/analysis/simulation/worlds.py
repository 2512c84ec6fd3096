"""Small clusters for simulations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.commands import Command, PlannedCommand
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.testing import builders as make
from bayplan.testing.pods import PodBuilder

MINUTE = 60 * 1_000_000_000
CLASSES = (make.priority_class("high", value=1000), make.priority_class("low", value=10))
HOSTNAME = "kubernetes.io/hostname"
#: A timeline: a pod that takes a whole small node.
URGENT = """
- at: 1m
  apply:
    apiVersion: v1
    kind: Pod
    metadata: {name: urgent}
    spec: {priorityClassName: high, containers: [{name: a, resources: {requests: {cpu: 4}}}]}
"""


def nodes(number: int, cpu: str = "4") -> list[Any]:
    return [
        make.node(f"n{place}").capacity(cpu=cpu, memory="8Gi", pods=20).label(HOSTNAME, f"n{place}")
        for place in range(1, number + 1)
    ]


def pattern(app: str, cpu: str, class_name: str) -> PodBuilder:
    return make.pod(app).labels(app=app).cpu(cpu).priority(None, class_name=class_name)


def workload(app: str, replicas: int, cpu: str, class_name: str) -> Any:
    return make.deployment(app).replicas(replicas).selects(app=app).template(pattern(app, cpu, class_name))


def cluster(*things: Any) -> Cluster:
    return Cluster([builder.manifest().obj() for builder in (*CLASSES, *things)])


def after(minutes: float, command: Command) -> PlannedCommand:
    return PlannedCommand(round(minutes * MINUTE), command, "test")


def objects(*things: Any) -> tuple[Any, ...]:
    return tuple(builder.manifest().obj() for builder in things)


def ends(result: SimulationResult, app: str) -> Sequence[str]:
    return [pod.end for pod in result.run.pods if pod.key.startswith(f"default/{app}")]
