"""A large cluster from a JSON file: how long loading takes, what it needs, and how fast decisions are then.

    python benchmarks/large_cluster.py [--nodes 50000] [--pods 500000] [--decisions 5000]

Writes nodes and pods as kubectl would print them (to a temporary file, removed at the end), and reads it in a
process of its own. The pods come from 2,000 ReplicaSets and a DaemonSet; each has a token volume with a name of its
own, tolerations, conditions and container statuses, as running pods have.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

REPLICA_SETS = 2_000
ZONES = ("zone-a", "zone-b", "zone-c")
CREATED = "2026-01-01T00:00:00Z"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--pods", type=int, default=500_000)
    parser.add_argument("--decisions", type=int, default=5_000)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        load(Path(arguments.load), arguments.decisions)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.json"
        with file.open("w", encoding="utf-8") as stream:
            write_cluster(stream, arguments.nodes, arguments.pods)
        print(f"file: {file.stat().st_size / 1e6:,.0f} MB, {arguments.nodes:,} nodes, {arguments.pods:,} pods")
        again = [sys.executable, __file__, "--load", str(file), "--decisions", str(arguments.decisions)]
        subprocess.run(again, check=True)


def load(file: Path, decisions: int) -> None:
    """Load, build the columns, decide on pods of 120 templates."""
    from bayplan.analysis.bench.building import pods_of  # noqa: PLC0415
    from bayplan.analysis.bench.measure import decide_all  # noqa: PLC0415  # the writing process needs none of it
    from bayplan.analysis.bench.workloads import WORKLOADS  # noqa: PLC0415
    from bayplan.analysis.cluster import Cluster  # noqa: PLC0415

    start = time.perf_counter()
    cluster = Cluster.load(file)
    loaded = time.perf_counter()
    print(f"read and admitted: {loaded - start:.1f} s, peak {peak_gib():.2f} GiB", flush=True)
    cache = cluster.build_cache()
    built = time.perf_counter()
    print(
        f"columns: {built - loaded:.1f} s, peak {peak_gib():.2f} GiB, {len(cache.shapes.shapes):,} shapes", flush=True
    )
    print(f"loaded in {built - start:.1f} s")
    nanoseconds, placed, _ = decide_all(cache, pods_of(WORKLOADS["mixed"], decisions), WORKLOADS["mixed"])
    rate = decisions / (nanoseconds.sum() / 1e9)
    print(f"mixed decisions: {rate:,.0f} a second, {placed:,} of {decisions:,} placed, peak {peak_gib():.2f} GiB")


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def write_cluster(stream: TextIO, node_count: int, pod_count: int) -> None:
    stream.write('{"apiVersion": "v1", "kind": "List", "items": [')
    for position, obj in enumerate(objects(node_count, pod_count)):
        stream.write(",\n" if position else "\n")
        json.dump(obj, stream)
    stream.write("\n]}\n")


def objects(node_count: int, pod_count: int) -> Iterator[dict[str, Any]]:
    for number in range(node_count):
        yield node(number)
    yield from pods(node_count, pod_count)


def pods(node_count: int, pod_count: int) -> Iterator[dict[str, Any]]:
    daemons = min(node_count, pod_count // 4)
    for number in range(daemons):
        yield daemon_pod(number)
    for number in range(pod_count - daemons):
        yield replica(number, number % node_count)


def node(number: int) -> dict[str, Any]:
    name = f"node-{number:06}"
    amounts = {"cpu": "32", "memory": "131072Mi", "ephemeral-storage": "1000Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": CREATED,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
                "pool": f"pool-{number % 10}",
            },
        },
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [
                {"names": [f"registry.example.com/app-{number % 50 + offset}:1"], "sizeBytes": 100_000_000}
                for offset in range(5)
            ],
        },
    }


def replica(number: int, node_number: int) -> dict[str, Any]:
    which = number % REPLICA_SETS
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{which}-5d9c"}
    labels = {"app": f"app-{which}", "pod-template-hash": "5d9c"}
    return running_pod(f"app-{which}-5d9c-{number:06x}", labels, owner, which, node_number)


def daemon_pod(node_number: int) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"}
    made = running_pod(f"agent-{node_number:06x}", {"name": "agent"}, owner, 0, node_number)
    own_node = {"key": "metadata.name", "operator": "In", "values": [f"node-{node_number:06}"]}
    wanted = {"nodeSelectorTerms": [{"matchFields": [own_node]}]}
    made["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}}
    return made


def running_pod(
    name: str, labels: dict[str, str], owner: dict[str, str], which: int, node_number: int
) -> dict[str, Any]:
    requests = {"cpu": f"{10 + which % 40}m", "memory": f"{16 + which % 64}Mi"}
    token = f"kube-api-access-{name[-6:]}"
    image = f"registry.example.com/app-{which % 50}:1"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{owner['name']}-",
            "namespace": f"team-{which % 100}",
            "uid": f"uid-{name}",
            "creationTimestamp": CREATED,
            "labels": labels,
            "ownerReferences": [{**owner, "uid": f"uid-{owner['name']}", "controller": True}],
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "resources": {"requests": requests},
                    "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets"}],
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                }
            ],
            "nodeName": f"node-{node_number:06}",
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{state}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for state in ("not-ready", "unreachable")
            ],
            "volumes": [{"name": token, "projected": {"defaultMode": 420, "sources": []}}],
        },
        "status": {
            "phase": "Running",
            "startTime": CREATED,
            "podIP": "10.0.0.1",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": CREATED}
                for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {
                    "name": "main",
                    "image": image,
                    "ready": True,
                    "restartCount": 0,
                    "allocatedResources": requests,
                    "resources": {"requests": requests},
                }
            ],
        },
    }


if __name__ == "__main__":
    main()
