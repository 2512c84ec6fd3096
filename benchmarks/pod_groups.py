"""How long the scheduler takes to decide on a pod group, on a cluster in memory.

    python benchmarks/pod_groups.py [--nodes 5000] [--racks 200]

Places gangs one after another: small and large ones, one that has to be in a single rack, one that does not fit. Prints
a Markdown table of milliseconds for each group, the first of its kind apart, since nothing is known of its pods yet.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

from bayplan.config.loading import load_configuration
from bayplan.config.releases import RELEASES
from bayplan.config.scheduling import build_scheduler
from bayplan.core.events import ObjectAdded
from bayplan.core.scheduler import Scheduler
from bayplan.testing.builders import node, pod, pod_group

GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
MILLISECOND = 1_000_000


class Case(NamedTuple):
    what: str
    groups: int
    size: int
    cpu: str = "1"
    within: str = ""


CASES = (
    Case("64 pods", 10, 64),
    Case("1,000 pods", 4, 1_000),
    Case("64 pods in one rack", 5, 64, within="rack"),
    Case("64 pods that do not fit", 5, 64, cpu="40"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--racks", type=int, default=200)
    given = parser.parse_args()
    print("| group | first, ms | others, ms |\n| --- | ---: | ---: |")
    for case in CASES:
        first, *others = measured(case, given.nodes, given.racks)
        print(f"| {case.what} | {first:.1f} | {sum(others) / len(others):.1f} |", flush=True)


def measured(case: Case, nodes: int, racks: int) -> list[float]:
    """Milliseconds for each group."""
    scheduler = filled(case, nodes, racks)
    taken = []
    for _ in range(case.groups):
        started = time.perf_counter_ns()
        decision = scheduler.decide(1)
        taken.append((time.perf_counter_ns() - started) / MILLISECOND)
        assert decision is not None
        assert decision.group
    return taken


def filled(case: Case, nodes: int, racks: int) -> Scheduler:
    configuration = load_configuration(None, GATES, release=RELEASES["1.37"], with_groups=True)
    scheduler = build_scheduler(configuration, started_at=0)
    for number in range(nodes):
        made = node(f"n{number:05}").labels(rack=f"r{number % racks}").capacity(cpu="32", memory="128Gi", pods=110)
        scheduler.observe(ObjectAdded(made.obj()), 0)
    for number in range(case.groups):
        group = pod_group(f"g{number}").gang(case.size)
        made_group = group.within(case.within) if case.within else group
        scheduler.observe(ObjectAdded(made_group.obj()), 0)
        for member in range(case.size):
            waiting = pod(f"g{number}-{member}").cpu(case.cpu).request(memory="1Gi").in_group(f"g{number}")
            scheduler.observe(ObjectAdded(waiting.obj()), 0)
    return scheduler


if __name__ == "__main__":
    main()
