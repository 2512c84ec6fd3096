"""How much of a GPU cluster a policy gets allocated before nothing fits any more: the published experiment on openb.

    python examples/openb/allocation.py openb:DIR [--policy BestFit] [--seeds 42-51] [--published fgd_summary.csv]

The pods of the trace, shuffled, and then random ones of them again until they ask for 130 % of all GPUs, come one by
one to 1,213 empty nodes. Nobody leaves; a pod that fits nowhere is dropped. Printed is the share of the GPUs
allocated when the pods that came ask for 50 ... 130 % of the cluster, as a mean over the seeds.
"""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from typing import TypeAlias

import bayplan
from bayplan.plugin import Node, Pod

GPU_MILLI = "alibabacloud.com/gpu-milli"
DEMAND = 1.3
SHOWN = (50, 60, 70, 80, 90, 95, 100, 105, 110, 120, 130)
CONFIGURATIONS = {"BestFit": "best_fit.yaml", "Random": "random.yaml"}

Curve: TypeAlias = Mapping[int, float]
"""The GPUs allocated by the demand that has arrived, both in percent of the cluster."""


def measure(trace: str, policy: str, seeds: Sequence[int], demand: float = DEMAND) -> Iterator[Curve]:
    """A curve for each seed; `demand` is a multiple of the GPUs there are."""
    loaded = bayplan.load_trace(trace, departures=False, qos_priority=False)
    pods = [pod for _, pod, _ in loaded.arrivals]
    cluster_milli = sum(int(node.status.allocatable.get(GPU_MILLI, 0)) for node in loaded.nodes)
    for seed in seeds:
        arriving = workload(pods, demand * cluster_milli, seed)
        yield as_curve(place(loaded.nodes, arriving, policy, seed), cluster_milli)


def workload(pods: Sequence[Pod], demand_milli: float, seed: int) -> list[Pod]:
    """All pods in random order, then random ones again up to the demand."""
    rng = Random(seed)
    chosen = rng.sample(pods, len(pods))
    milli = sum(map(gpu_milli, chosen))
    while (milli := milli + gpu_milli(again := rng.choice(pods))) <= demand_milli:
        chosen.append(again)
    # The policies draw by name: names of their own make the runs independent of each other.
    return [renamed(pod, f"run{seed}-{place}-{pod.metadata.name}") for place, pod in enumerate(chosen)]


def renamed(pod: Pod, name: str) -> Pod:
    other = copy(pod)
    other.metadata = copy(pod.metadata)
    other.metadata.name = name
    return other


def place(nodes: Sequence[Node], pods: Sequence[Pod], policy: str, seed: int) -> Iterator[tuple[int, bool]]:
    """What each pod asks of GPUs, and whether it got a node; among equally good nodes one is drawn."""
    cluster = bayplan.Cluster([*nodes, *pods])
    keys = [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods]
    configuration = Path(__file__).parent / CONFIGURATIONS[policy]
    placement = cluster.place(keys, configuration, ties=f"seed:{seed}")
    for pod, decision in zip(pods, placement.decisions, strict=True):
        yield gpu_milli(pod), decision.node is not None


def as_curve(placed: Iterator[tuple[int, bool]], cluster_milli: int) -> Curve:
    """As published: for each percent of demand, rounded, the mean over all pods that came at it."""
    shares: defaultdict[int, list[float]] = defaultdict(list)
    arrived = allocated = 0
    for milli, got_node in placed:
        arrived += milli
        allocated += milli * got_node
        shares[round(100 * arrived / cluster_milli)].append(100 * allocated / cluster_milli)
    return {percent: fmean(values) for percent, values in shares.items()}


def gpu_milli(pod: Pod) -> int:
    return int(pod.spec.containers[0].resources.requests.get(GPU_MILLI, 0))


def published_means(path: Path, policy: str) -> dict[int, float]:
    with path.open(newline="") as file:
        return {
            int(row["arrived_pct"]): float(row["gpu_alloc_pct_mean"])
            for row in csv.DictReader(file)
            if row["workload"] == "openb_pod_list_default" and row["policy"] == policy
        }


def table(policy: str, curves: Sequence[Curve], published: Mapping[int, float]) -> Iterator[str]:
    yield f"{policy}: {len(curves)} runs"
    yield f"{'arrived':>8} {'allocated':>10} {'sd':>6} {'published':>10} {'apart':>6}"
    for percent in SHOWN:
        values = [curve[percent] for curve in curves if percent in curve]
        theirs = published.get(percent)
        compared = f"{theirs:10.2f} {fmean(values) - theirs:+6.2f}" if theirs is not None else ""
        yield f"{percent:7}% {fmean(values):10.2f} {pstdev(values):6.2f} {compared}"


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--policy", action="append", choices=list(CONFIGURATIONS), help="all, if none is named")
    parser.add_argument("--seeds", default="42-51", help="the first and the last")
    parser.add_argument("--published", type=Path, help="published means to compare with")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    for policy in given.policy or CONFIGURATIONS:
        curves = list(measure(given.trace, policy, range(int(first), int(last or first) + 1)))
        published = published_means(given.published, policy) if given.published else {}
        sys.stdout.write("\n".join(table(policy, curves, published)) + "\n")


if __name__ == "__main__":
    main()
