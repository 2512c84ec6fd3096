"""`Cluster.place` beside `bayplan bench`: the same pods on the same nodes, through the call that users make.

Each workload in a process of its own, in which both are measured in turn, several times; medians are reported, in
processor time. What a call costs before its first pod (columns of all nodes and running pods, profiles) is a call
without pods. The garbage collector is on in the call, as users have it, and off in the bench. Objects are read and
admitted beforehand: that is what `large_cluster.py` measures. `make bench` runs it; alone it prints its table.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from statistics import median

import msgspec

from bayplan.analysis.bench.building import build_cache, nodes_of, pods_of, running_pods
from bayplan.analysis.bench.measure import decide_all
from bayplan.analysis.bench.workloads import WORKLOADS, Workload
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.memory import keep_memory
from bayplan.config.feature_gates import read_feature_gates
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.model.kinds import object_key

MEASURED = ("basic", "mixed", "spread", "anti-affinity", "preempt")
NODES = 5_000
ROUNDS = 7
HEADER = """\
| workload | pods | bench | `place` | share | whole call | call without pods |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
#: The least share of the bench's speed that the call should reach.
SHARE_MIN = 0.8


class PublicCall(msgspec.Struct, frozen=True):
    """Decisions for each second of processor time."""

    workload: str
    pods: int
    bench: float
    place: float  # in the call, beyond what it costs without pods
    share: float  # the median of the shares of all rounds
    whole_call: float  # with all that comes before the first pod
    without_pods_ms: float


def measure_apart(workload: str) -> PublicCall:
    ended = subprocess.run([sys.executable, __file__, workload], stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(ended.stdout, type=PublicCall)


def measure(workload: Workload) -> PublicCall:
    pods = pods_of(workload, workload.count)
    cluster = Cluster([*nodes_of(workload, NODES), *running_pods(workload, NODES), *pods])
    keys = [object_key(pod) for pod in pods]
    benches, without_pods, calls = [], [], []
    for _ in range(ROUNDS):
        cache = build_cache(workload, NODES, pods, read_feature_gates(None, NEWEST_RELEASE))
        gc.collect()
        gc.disable()
        benches.append(seconds(lambda cache=cache: decide_all(cache, pods, workload)))
        gc.enable()
        without_pods.append(seconds(lambda: cluster.place([])))
        calls.append(seconds(lambda: cluster.place(keys)))
    shares = [bench / (call - fixed) for bench, fixed, call in zip(benches, without_pods, calls, strict=True)]
    fixed = median(without_pods)
    return PublicCall(
        workload.name,
        len(pods),
        bench=len(pods) / median(benches),
        place=len(pods) / (median(calls) - fixed),
        share=median(shares),
        whole_call=len(pods) / median(calls),
        without_pods_ms=fixed * 1e3,
    )


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def markdown(found: Iterable[PublicCall]) -> str:
    """A table with a row for each workload."""
    rows = (
        f"| {measured.workload} | {measured.pods:,} | {measured.bench:,.0f} | {measured.place:,.0f} "
        f"| {measured.share:.0%} | {measured.whole_call:,.0f} | {measured.without_pods_ms:,.0f} ms |"
        for measured in found
    )
    return "\n".join((HEADER, *rows))


def too_slow(found: Iterable[PublicCall]) -> list[str]:
    return [measured.workload for measured in found if measured.share < SHARE_MIN]


def main(arguments: list[str]) -> None:
    if arguments:
        keep_memory()
        sys.stdout.buffer.write(msgspec.json.encode(measure(WORKLOADS[arguments[0]])))
        return
    found = [measure_apart(workload) for workload in MEASURED]
    print(markdown(found))
    slow = too_slow(found)
    if slow:
        sys.exit(f"below {SHARE_MIN:.0%} of the bench: {', '.join(slow)}")


if __name__ == "__main__":
    main(sys.argv[1:])
