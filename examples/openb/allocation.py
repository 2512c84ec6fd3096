"""How much of a GPU cluster a policy gets allocated before nothing fits any more: the published experiment on openb.

    python examples/openb/allocation.py openb:DIR [--policy BestFit] [--seeds 42-51] [--published fgd_summary.csv]

The pods of the trace, shuffled, and then random ones of them again until they ask for 130 % of all GPUs, come one by
one to 1,213 empty nodes. Nobody leaves; a pod that fits nowhere is dropped. Printed is the share of the GPUs
allocated when the pods that came ask for 50 ... 130 % of the cluster, as a mean over the seeds.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from typing import TypeAlias

import click
from msgspec.structs import replace

from bayplan.admission import admit
from bayplan.analysis.simulation.inputs.traces import load_trace
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.quantity import parse_quantity, whole_value

GPU_MILLI = "alibabacloud.com/gpu-milli"
DEMAND = 1.3
SHOWN = (50, 60, 70, 80, 90, 95, 100, 105, 110, 120, 130)
CONFIGURATIONS = {"BestFit": "best_fit.yaml", "Random": "random.yaml"}

Curve: TypeAlias = Mapping[int, float]
"""The GPUs allocated by the demand that has arrived, both in percent of the cluster."""


def measure(trace: str, policy: str, seeds: Sequence[int], demand: float = DEMAND) -> Iterator[Curve]:
    """A curve for each seed, up to a demand of so many times the GPUs there are."""
    loaded = load_trace(trace, departures=False, qos_priority=False)
    pods = [pod for _, pod, _ in loaded.arrivals]
    admit([*loaded.nodes, *pods])
    cluster_milli = sum(_amount(node.status.allocatable.get(GPU_MILLI, 0)) for node in loaded.nodes)
    for seed in seeds:
        arriving = workload(pods, demand * cluster_milli, seed)
        # Ties have their own draws, so that a run with less demand is the beginning of one with more.
        yield as_curve(place(loaded.nodes, arriving, policy, Random(f"ties {seed}")), cluster_milli)


def workload(pods: Sequence[Pod], demand_milli: float, seed: int) -> list[Pod]:
    """All pods in random order, then random ones again up to the demand."""
    rng = Random(seed)
    chosen = rng.sample(pods, len(pods))
    milli = sum(map(gpu_milli, chosen))
    while (milli := milli + gpu_milli(again := rng.choice(pods))) <= demand_milli:
        chosen.append(again)
    # The policies draw by name: names of their own make the runs independent of each other.
    return [
        replace(pod, metadata=replace(pod.metadata, name=f"run{seed}-{place}-{pod.metadata.name}"))
        for place, pod in enumerate(chosen)
    ]


def place(nodes: Sequence[Node], pods: Sequence[Pod], policy: str, rng: Random) -> Iterator[tuple[int, bool]]:
    """What each pod asks of GPUs, and whether it got a node; among equally good nodes one is drawn."""
    cache = Cache()
    for node in nodes:
        cache.add_node(node)
    configuration = load_configuration(Path(__file__).parent / CONFIGURATIONS[policy])
    decider = Decider(build_profiles(configuration))
    for pod in pods:
        info = cache.info(pod)
        view = cache.view()
        choice = decider.decide(info, view)
        if isinstance(choice, Fits):
            cache.add_pod(pod, rng.choice(sorted(view.nodes.names[row] for row in choice.tied_rows)), info)
        yield gpu_milli(pod), isinstance(choice, Fits)


def as_curve(placed: Iterator[tuple[int, bool]], cluster_milli: int) -> Curve:
    """As published: the mean over all pods that came while the demand, rounded, was so many percent."""
    shares: defaultdict[int, list[float]] = defaultdict(list)
    arrived = allocated = 0
    for milli, got_node in placed:
        arrived += milli
        allocated += milli * got_node
        shares[round(100 * arrived / cluster_milli)].append(100 * allocated / cluster_milli)
    return {percent: fmean(values) for percent, values in shares.items()}


def gpu_milli(pod: Pod) -> int:
    return _amount(pod.spec.containers[0].resources.requests.get(GPU_MILLI, 0))


def _amount(quantity: str | int | float) -> int:
    return whole_value(parse_quantity(quantity))


def published_means(path: Path, policy: str) -> dict[int, float]:
    with path.open(newline="") as file:
        return {
            int(row["arrived_pct"]): float(row["gpu_alloc_pct_mean"])
            for row in csv.DictReader(file)
            if row["workload"] == "openb_pod_list_default" and row["policy"] == policy
        }


@click.command(help=__doc__)
@click.argument("trace")
@click.option("--policy", "policies", multiple=True, type=click.Choice(list(CONFIGURATIONS)))
@click.option("--seeds", default="42-51", help="The first and the last.")
@click.option("--published", type=click.Path(path_type=Path, exists=True), help="Published means to compare with.")
def main(trace: str, policies: Sequence[str], seeds: str, published: Path | None) -> None:
    first, _, last = seeds.partition("-")
    for policy in policies or CONFIGURATIONS:
        curves = list(measure(trace, policy, range(int(first), int(last or first) + 1)))
        theirs = published_means(published, policy) if published else {}
        click.echo(
            f"{policy}: {len(curves)} runs\n{'arrived':>8} {'allocated':>10} {'sd':>6} {'published':>10} {'apart':>6}"
        )
        for percent in SHOWN:
            values = [curve[percent] for curve in curves if percent in curve]
            there = f"{theirs[percent]:10.2f} {fmean(values) - theirs[percent]:+6.2f}" if percent in theirs else ""
            click.echo(f"{percent:7}% {fmean(values):10.2f} {pstdev(values):6.2f} {there}")


if __name__ == "__main__":
    main()
