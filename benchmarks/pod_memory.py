"""How much the core keeps for each running pod: the growth of the process while pods come and their objects go.

    python benchmarks/pod_memory.py [--nodes 5000] [--pods 500000]

Pods are made one at a time, as large_cluster.py writes them, handed to a cache and dropped; what stays is the core's.
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

import msgspec
from large_cluster import node, pods

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.model.node import Node
from bayplan.model.pod import Pod

_STATISTICS = Path("/proc/self/statm")
_PAGE_BYTES = 4096


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=500_000)
    arguments = parser.parse_args()
    cache = Cache(gates=DEFAULT_GATES)
    for number in range(arguments.nodes):
        cache.add_node(msgspec.convert(node(number), Node))
    cache.view()
    before = resident_bytes()
    for plain in pods(arguments.nodes, arguments.pods):
        cache.add_pod(msgspec.convert(plain, Pod))
    cache.view()
    gc.collect()
    grown = resident_bytes() - before
    count = len(cache.pods.rows_by_key)
    print(f"{count:,} pods, {len(cache.shapes.shapes):,} shapes: {grown / count:,.0f} bytes for each pod")


def resident_bytes() -> int:
    return int(_STATISTICS.read_text().split()[1]) * _PAGE_BYTES


if __name__ == "__main__":
    main()
