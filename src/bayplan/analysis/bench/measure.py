"""Decisions timed one by one, on one thread, every node looked at.

A decision is everything from a pod as an object to its place in the cache: its shape, the choice, the victims' removal,
what is reserved for it, the accounts. It is the step that `Cluster.place` takes for each pod, without keeping which
nodes tied. A calibration figure from the same run tells how fast the machine was just then; machines are
shared and noisy, so the ratio to it is what is worth comparing. Beside decisions a second there are decisions for each
second of processor time: the two are equal on a quiet machine, and the latter suffers less from others on a busy one
(but it does suffer, where they share caches or a core's two threads).
"""

from __future__ import annotations

import gc
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bayplan.analysis.bench.building import PodBatches, apply_changes, build_cache, changes_before
from bayplan.analysis.bench.workloads import Workload
from bayplan.analysis.placement import Placer
from bayplan.config.feature_gates import read_feature_gates
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import KubernetesRelease, release_of
from bayplan.core.cache import Cache
from bayplan.model.pod import Pod

CALIBRATION_ROWS = 5_000
CALIBRATION_ROUNDS = 2_000


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one workload came to."""

    workload: str
    nodes: int
    running: int
    pods: int
    decisions_per_second: float
    decisions_per_cpu_second: float
    p50_us: float
    p99_us: float
    placed: int
    preempted: int  # pods that made room for themselves
    peak_mib: float
    calibration: float  # rounds a second of a fixed array loop, measured in the same run
    ratio: float  # decisions for each thousand calibration rounds

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(workload: Workload, node_count: int, pod_count: int, release: KubernetesRelease) -> Measurement:
    cache = build_cache(workload, node_count, [], read_feature_gates(None, release))
    pods = PodBatches(workload, pod_count, cache)
    running = len(cache.pods.rows_by_key)
    calibration = calibrate()
    gc.collect()
    gc.disable()
    try:
        cpu_start = time.process_time()
        nanoseconds, placed, preempted = decide_all(cache, pods, workload)
        cpu_seconds = time.process_time() - cpu_start - pods.cpu_seconds
    finally:
        gc.enable()
    calibration = (calibration + calibrate()) / 2
    rate = pod_count / (nanoseconds.sum() / 1e9)
    return Measurement(
        workload=workload.name,
        nodes=node_count,
        running=running,
        pods=pod_count,
        decisions_per_second=round(float(rate), 1),
        decisions_per_cpu_second=round(pod_count / cpu_seconds, 1),
        p50_us=round(float(np.percentile(nanoseconds, 50)) / 1e3, 1),
        p99_us=round(float(np.percentile(nanoseconds, 99)) / 1e3, 1),
        placed=placed,
        preempted=preempted,
        peak_mib=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        calibration=round(calibration, 1),
        ratio=round(float(rate) / calibration * 1_000, 2),
    )


def decide_all(
    cache: Cache, pods: list[Pod] | PodBatches, workload: Workload
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int, int]:
    """Nanoseconds of each decision, and how many pods were placed, at once or by preemption.

    The time of a decision includes what happened to the cluster just before it.
    """
    configuration = load_configuration(None, release=release_of(cache.gates))
    placer = Placer(cache, build_profiles(configuration), keeps_ties=False, tries_gated=True)
    nanoseconds = np.zeros(len(pods), dtype=np.int64)
    placed = preempted = 0
    clock = time.perf_counter_ns
    node_count = cache.nodes.alive_count
    for position, pod in enumerate(pods):
        changes = changes_before(workload, node_count, position)
        start = clock()
        if changes is not None:
            apply_changes(cache, changes)
        decision = placer.place(pod)
        nanoseconds[position] = clock() - start
        placed += decision.node is not None
        preempted += bool(decision.victims)
    return nanoseconds, placed, preempted


def calibrate() -> float:
    """Rounds a second of a fixed loop over small arrays, as decisions make them."""
    left = np.arange(CALIBRATION_ROWS, dtype=np.int64)
    right = left[::-1].copy()
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(CALIBRATION_ROUNDS):
            (left * 3 - right).argmax()
        best = max(best, CALIBRATION_ROUNDS / (time.perf_counter() - start))
    return best
