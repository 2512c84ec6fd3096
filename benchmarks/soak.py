"""Months in minutes: pods and nodes, each unlike all others, come and go through one scheduler, and all leave at last.

    PYTHONPATH=. python benchmarks/soak.py [--pods 200000] [--node-turns 20000]

Every pod has labels, requests and either spread constraints, anti-affinity or a host port of its own; every node that
leaves is tainted before, as a cluster autoscaler does, with the time. The cluster grows from 50 to 2,000 nodes and
shrinks again. Prints the time of a decision, memory, and what the cache holds; at the end what is left of it. Then a
cluster of the first size comes back, and the scheduler decides in turns with one that has just started: on a machine
whose speed varies from minute to minute, this is the comparison that counts. The figures to look at: the decision time
beside that of the new scheduler, memory once everything has left, and that every vocabulary holds what the cluster has
and nothing else, which is checked (exit code 1).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import time
from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any

from tests.support.vocabularies import vocabularies, worked_out

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind
from bayplan.core.cache import Cache
from bayplan.core.events import BindAnswered, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.scheduler import Scheduler
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.well_known import HOSTNAME as HOST
from bayplan.model.well_known import TO_BE_DELETED, ZONE
from bayplan.testing.builders import node, pod

SMALLEST, LARGEST = 50, 2_000
PODS_ALIVE = 300
SECOND = 10**9


def resident_mb(*, without_idle: bool = False) -> float:
    """Memory of this process; without what the C library keeps for later, where it can be asked to give that back."""
    if without_idle and sys.platform.startswith("linux"):
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def a_pod(number: int) -> Pod:
    """One like no other: of a Job of its own, asking for an amount of its own."""
    own = {"job-name": f"job-{number}", "controller-uid": f"uid-{number}"}
    built = pod(f"p{number}").labels(own).request(cpu=f"{100 + number % 977}m", memory=f"{100_000_000 + number}")
    match number % 6:
        case 0:
            built.spread(ZONE, own, when="ScheduleAnyway")
        case 1:
            built.spread(HOST, own)
        case 2:
            built.pod_anti_affinity(HOST, own)
        case 3:
            built.pod_anti_affinity(ZONE, own, weight=5)
        case 4:
            built.port(host=30_000 + number % 20_000)
        case _:
            built.request({f"example.com/for-{number}": "0"}).tolerates(f"for-{number}")
    return built.obj()


def a_node(number: int) -> Node:
    name = f"node-{number}"
    built = node(name).capacity(cpu="64", memory=f"{256 * 2**30 + number}", pods=110).zone(f"zone-{number % 3}")
    return built.label(HOST, name).image(f"registry.example/{name}:1", size_bytes=10**8 + number).obj()


class Cluster:
    """The pods and nodes that are there, and the scheduler that hears of them."""

    def __init__(self) -> None:
        self.scheduler: Scheduler = build_scheduler(load_configuration(release=DEFAULT_RELEASE), started_at=0)
        self.now = SECOND
        self.nodes: deque[Node] = deque()
        self.pods: deque[Pod] = deque()
        self.pods_seen = self.nodes_seen = self.unplaced = 0

    def add_node(self) -> None:
        self.nodes.append(a_node(self.nodes_seen))
        self.nodes_seen += 1
        self.scheduler.observe(ObjectAdded(self.nodes[-1]), self.now)

    def remove_node(self) -> None:
        """The oldest one, tainted first."""
        going = self.nodes.popleft()
        taint = node("x").taint(TO_BE_DELETED, str(1_700_000_000 + self.now // SECOND)).obj().spec.taints
        tainted = replace(going, spec=replace(going.spec, taints=taint))
        self.scheduler.observe(ObjectChanged(going, tainted), self.now)
        for each in [each for each in self.pods if each.spec.node_name == going.metadata.name]:
            self.remove_pod(each)
        self.scheduler.observe(ObjectRemoved(tainted), self.now)

    def add_pod(self) -> float:
        """Seconds of processor time that it took to decide on the next pod and to bind it."""
        waiting = a_pod(self.pods_seen)
        self.pods_seen += 1
        self.now += SECOND // 50
        started = time.process_time()
        self.scheduler.observe(ObjectAdded(waiting), self.now)
        bound = self._decide(waiting)
        took = time.process_time() - started
        self.unplaced += not bound.spec.node_name
        self.pods.append(bound)
        return took

    def replace_pod(self) -> float:
        """The same, and the oldest pod leaves unless pods have left with their node."""
        took = self.add_pod()
        if len(self.pods) > PODS_ALIVE:
            self.remove_pod(self.pods[0])
        return took

    def _decide(self, waiting: Pod) -> Pod:
        bound = waiting
        while (decision := self.scheduler.decide(self.now)) is not None:
            for action in decision.actions:
                if isinstance(action, Bind):
                    self.scheduler.observe(BindAnswered(action.pod, action.uid), self.now)
                    bound = replace(waiting, spec=replace(waiting.spec, node_name=action.node))
                    self.scheduler.observe(ObjectChanged(waiting, bound), self.now)
        return bound

    def remove_pod(self, gone: Pod) -> None:
        self.pods.remove(gone)
        self.scheduler.observe(ObjectRemoved(gone), self.now)

    def check(self) -> None:
        """What is in use is what a new cache uses that is given the same pods and nodes.

        In a process of its own, as the new cache would leave traces in the memory that is measured.
        """
        child = os.fork()
        if child == 0:
            os._exit(0 if self._holds_nothing_else() else 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(1)

    def _holds_nothing_else(self) -> bool:
        fresh = Cache(gates=DEFAULT_GATES)
        infos = [fresh.info(each) for each in self.pods]  # as they were when they waited
        for each in self.nodes:
            fresh.add(each)
        for each, info in zip(self.pods, infos, strict=True):
            if each.spec.node_name:
                fresh.add_pod(each, info=info)
        kept, made = comparable(self.scheduler.cache), comparable(fresh)
        wrong = [name for name, values in kept.items() if values != made[name]]
        for name in wrong:
            print(f"{name}: {len(kept[name])} in use, {len(made[name])} in the cluster", file=sys.stderr, flush=True)
        return not wrong


def comparable(cache: Cache) -> Mapping[str, Any]:
    """Without what depends on when something was first seen, or on what was asked for."""
    found = dict(vocabularies(cache))
    found["shapes"] = frozenset(range(len(found["shapes"])))
    del found["label values"], found["constraints"]
    return found


def wanted_nodes(progress: float) -> int:
    """From the smallest to the largest cluster and back, with a quiet tenth at both ends."""
    height = min(max((0.5 - abs(progress - 0.5) - 0.1) / 0.3, 0.0), 1.0)
    return int(SMALLEST + height * (LARGEST - SMALLEST))


def fill(cluster: Cluster) -> None:
    for _ in range(SMALLEST):
        cluster.add_node()
    for _ in range(PODS_ALIVE):
        cluster.add_pod()


def in_turns(clusters: tuple[Cluster, Cluster], pod_count: int = 4_000, turn: int = 50) -> list[float]:
    """The median time of a decision of each; a node is replaced before each turn."""
    took: list[list[float]] = [[], []]
    for _ in range(pod_count // turn):
        for cluster, times in zip(clusters, took, strict=True):
            cluster.add_node()
            cluster.remove_node()
            for _ in range(turn):
                times.append(cluster.replace_pod())
    return [median(times) for times in took]


def run(pod_count: int, node_turns: int) -> None:
    cluster = Cluster()
    fill(cluster)
    gc.collect()
    before_mb, before_sizes = resident_mb(without_idle=True), worked_out(cluster.scheduler.cache)
    took: list[float] = []
    by_tenth: list[float] = []
    turns = 0
    for number in range(pod_count):
        progress = number / pod_count
        took.append(cluster.replace_pod())
        while turns < progress * node_turns:
            turns += 1
            cluster.add_node()
            cluster.remove_node()
        while len(cluster.nodes) < wanted_nodes(progress):
            cluster.add_node()
        while len(cluster.nodes) > wanted_nodes(progress):
            cluster.remove_node()
        if (number + 1) % (pod_count // 10) == 0:
            by_tenth.append(median(took))
            took.clear()
            cluster.check()
            print(
                f"{number + 1:>8,} pods  {cluster.nodes_seen:>6,} nodes seen  {len(cluster.nodes):>5,} there  "
                f"{1e6 * by_tenth[-1]:7.0f} µs a pod (median)  {resident_mb():5.0f} MB  {cluster.unplaced} unplaced",
                flush=True,
            )
    while cluster.pods:
        cluster.remove_pod(cluster.pods[0])
    while cluster.nodes:
        cluster.remove_node()
    cluster.scheduler.decide(cluster.now)  # there is no pod, as it finds out
    cluster.check()
    gc.collect()
    left = {name: count for name, count in worked_out(cluster.scheduler.cache).items() if count}
    print(f"last tenth against the first: {by_tenth[-1] / by_tenth[0] - 1:+.0%} time a pod")
    kept_mb = resident_mb()
    in_use_mb = resident_mb(without_idle=True)
    print(f"all has left: {in_use_mb - before_mb:+.1f} MB against the beginning ({before_mb:.0f} MB), ", end="")
    print(f"and {kept_mb - in_use_mb:.1f} MB that the C library kept for later")
    print(f"still worked out: {left or 'nothing'} (at the beginning: {dict(before_sizes)})")
    new = Cluster()
    fill(cluster)
    fill(new)
    old_time, new_time = in_turns((cluster, new))
    print(f"in turns with a new scheduler: {1e6 * old_time:.0f} µs a pod against {1e6 * new_time:.0f}", end="")
    print(f" ({old_time / new_time - 1:+.0%})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pods", type=int, default=200_000)
    parser.add_argument("--node-turns", type=int, default=20_000)
    options = parser.parse_args()
    run(options.pods, options.node_turns)
