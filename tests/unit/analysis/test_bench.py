"""The workloads do what they say: each places, preempts or refuses as its name promises."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bayplan.analysis.bench import building
from bayplan.analysis.bench.building import PodBatches, build_cache, nodes_of, pods_of
from bayplan.analysis.bench.machine import this_machine
from bayplan.analysis.bench.measure import decide_all
from bayplan.analysis.bench.workloads import WORKLOADS
from bayplan.analysis.memory import keep_memory
from bayplan.config.feature_gates import DEFAULT_GATES

NODES, PODS = 24, 12


@pytest.mark.parametrize(
    ("name", "placed", "preempted"),
    [(name, PODS, 0) for name in WORKLOADS if not name.startswith(("preempt", "unschedulable"))]
    + [(name, PODS, PODS) for name in WORKLOADS if name.startswith("preempt")]
    + [("unschedulable", 0, 0)],
)
def test_outcome(name: str, placed: int, preempted: int) -> None:
    workload = WORKLOADS[name]
    pods = pods_of(workload, PODS)
    nanoseconds, placed_count, preempted_count = decide_all(
        build_cache(workload, NODES, pods, DEFAULT_GATES), pods, workload
    )
    assert (placed_count, preempted_count) == (placed, preempted)
    assert (nanoseconds > 0).all()


@pytest.mark.parametrize("name", ["volumes", "devices", "services"])
def test_pods_that_arrive_in_batches_are_the_same_and_bring_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = WORKLOADS[name]
    pods = pods_of(workload, PODS)
    at_once = build_cache(workload, NODES, pods, DEFAULT_GATES).objects
    monkeypatch.setattr(building, "PODS_AT_ONCE", 5)
    cache = build_cache(workload, NODES, [], DEFAULT_GATES)
    arrivals = PodBatches(workload, PODS, cache)
    assert (list(arrivals), len(arrivals)) == (pods, PODS)
    assert (cache.objects.claims, cache.objects.volumes) == (at_once.claims, at_once.volumes)
    assert cache.objects.resource_claims == at_once.resource_claims


def test_each_preemption_evicts_three() -> None:
    workload = WORKLOADS["preempt"]
    pods = pods_of(workload, 2)
    cache = build_cache(workload, NODES, pods, DEFAULT_GATES)
    running = len(cache.pods.rows_by_key)
    decide_all(cache, pods, workload)
    assert len(cache.pods.rows_by_key) == running + 2 - 2 * 3


def test_replicas_of_a_template_come_in_a_row() -> None:
    workload = WORKLOADS["services"]
    pods = pods_of(workload, 41)
    assert [pod.metadata.labels["template"] for pod in pods] == ["t0"] * 20 + ["t1"] * 20 + ["t2"]


def test_a_node_changes_now_and_then() -> None:
    workload = replace(WORKLOADS["mixed-relabeled"], relabel_every=5)
    pods = pods_of(workload, PODS)
    cache = build_cache(workload, NODES, pods, DEFAULT_GATES)
    before = cache.nodes.spec_changes.position
    decide_all(cache, pods, workload)
    assert cache.nodes.spec_changes.position == before + 3


def test_nominated_pods_are_counted_on_their_nodes() -> None:
    workload = WORKLOADS["mixed-nominated"]
    assert len(build_cache(workload, NODES, [], DEFAULT_GATES).view().nominated) == NODES


def test_variants_are_distinct_shapes() -> None:
    workload = WORKLOADS["mixed"]
    pods = pods_of(workload, 2 * workload.pods.variants)
    cache = build_cache(workload, 3, pods, DEFAULT_GATES)
    infos = [cache.info(pod) for pod in pods]
    assert len({info.shape.id for info in infos}) == workload.pods.variants


def test_nodes_are_spread_over_the_zones() -> None:
    zones = [node.metadata.labels["topology.kubernetes.io/zone"] for node in nodes_of(WORKLOADS["basic"], 9)]
    assert {zones.count(zone) for zone in zones} == {3}


def test_machine_facts() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.memory_gib > 0
    assert machine.date[:2] == "20"


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_memory_is_kept_where_the_system_can(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux three parameters of malloc are set, each time the same; elsewhere the C library is not even loaded."""
    calls: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda parameter, value: calls.append((parameter, value)))
    monkeypatch.setattr("bayplan.analysis.memory.ctypes.CDLL", lambda _: library)
    monkeypatch.setattr(sys, "platform", platform)
    keep_memory()
    assert [parameter for parameter, _ in calls] == ([-1, -2, -3] if platform == "linux" else [])
    assert all(value > 0 for _, value in calls)
