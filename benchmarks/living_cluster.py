"""A cluster in virtual time whose pods come, run for a minute and go: pods a second end to end, and memory.

    python benchmarks/living_cluster.py [--nodes 1000] [--pods 100000] [--templates 1] [--group 50]

Each pod is created, scheduled, bound, started and ended by the kubelet, and collected by somebody who sweeps up
finished pods: five writes, of which the scheduler hears through its watch. Pods come in groups, as workloads bring
them; on average 200 a second. Memory is printed along the way, so that one sees whether it stays flat. The calibration
is that of `bayplan bench`, measured before and after: figures of different machines, or hours, compare by the ratio.
"""

from __future__ import annotations

import argparse
import time

from pod_memory import resident_bytes

from bayplan.analysis.bench.measure import calibrate
from bayplan.analysis.memory import keep_memory
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.controllers.nodes.kubelet import RUN_SECONDS, Kubelet
from bayplan.model.meta import ObjectMeta, RawQuantity
from bayplan.model.node import Node, NodeStatus
from bayplan.model.pod import Container, Pod, PodSpec, ResourceRequirements
from bayplan.store import Store
from bayplan.worlds.delays import MILLISECOND, SECOND, Draws, Latencies
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND
ARRIVES_EVERY = 5 * MILLISECOND
SWEPT_EVERY = 30 * SECOND
STEPS = 10


class LivingCluster:
    """Nodes, and pods that come and go."""

    def __init__(self, nodes: int, pods: int, templates: int, group: int) -> None:
        self._pods = pods
        self._group = group
        self._templates = templates
        self._made = 0
        self.store = Store()
        for number in range(nodes):
            self.store.create(_node(number), STARTED_AT)
        scheduler = build_scheduler(load_configuration(None, release=DEFAULT_RELEASE), started_at=STARTED_AT)
        self.world = SimulatedWorld(self.store, scheduler, [Kubelet()], Draws(1, Latencies()), started_at=STARTED_AT)
        self.world.at(STARTED_AT, self._arrive)
        self.world.at(STARTED_AT + SWEPT_EVERY, self._sweep)

    def _arrive(self, now: int) -> None:
        for _ in range(min(self._group, self._pods - self._made)):
            self.store.create(_pod(self._made, self._made % self._templates), now)
            self._made += 1
        if self._made < self._pods:
            self.world.at(now + self._group * ARRIVES_EVERY, self._arrive)

    def _sweep(self, now: int) -> None:
        for pod in self.store.list(Pod):
            if pod.status.phase == "Succeeded":
                self.store.delete(Pod, pod.metadata.namespace, pod.metadata.name, now, grace_seconds=0)
        if self._made < self._pods or self.store.count(Pod):
            self.world.at(now + SWEPT_EVERY, self._sweep)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--templates", type=int, default=1)
    parser.add_argument("--group", type=int, default=50)
    arguments = parser.parse_args()
    keep_memory()
    cluster = LivingCluster(arguments.nodes, arguments.pods, arguments.templates, arguments.group)
    calibration = calibrate()
    began, cpu_began = time.perf_counter(), time.process_time()
    span = arguments.pods * ARRIVES_EVERY + 4 * SWEPT_EVERY
    for step in range(1, STEPS + 1):
        cluster.world.run_until(STARTED_AT + span * step // STEPS)
        taken = time.perf_counter() - began
        print(f"{step * 100 // STEPS:3} %  {taken:6.1f} s  {resident_bytes() / (1 << 20):5.0f} MiB")
    cpu_taken = time.process_time() - cpu_began
    left = cluster.store.count(Pod)
    assert left == 0, f"{left} pods are still there"
    calibration = (calibration + calibrate()) / 2
    rate, cpu_rate = arguments.pods / taken, arguments.pods / cpu_taken
    print(f"{rate:,.0f} pods a second, {cpu_rate:,.0f} in a second of processor time")
    print(f"calibration {calibration:,.0f}, {1_000 * cpu_rate / calibration:.1f} pods in the time of 1,000 rounds")


def _node(number: int) -> Node:
    name = f"node-{number:05}"
    allocatable: dict[str, RawQuantity] = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    return Node(
        metadata=ObjectMeta(name=name, labels={"kubernetes.io/hostname": name}),
        status=NodeStatus(allocatable=allocatable),
    )


def _pod(number: int, template: int) -> Pod:
    requests: dict[str, RawQuantity] = {"cpu": f"{100 + 10 * template}m", "memory": "256Mi"}
    container = Container(name="main", image="app:1", resources=ResourceRequirements(requests=requests))
    return Pod(
        metadata=ObjectMeta(
            name=f"pod-{number}",
            namespace="default",
            labels={"app": f"app-{template}"},
            annotations={RUN_SECONDS: "60"},
        ),
        spec=PodSpec(containers=[container]),
    )


if __name__ == "__main__":
    main()
