"""How much processor time each question takes on a cluster that is full, with one or several versions in turn.

    python benchmarks/questions.py [--nodes 5000] [--pods 20000] [--only audit ...] [--command bayplan ...]

Writes a dump as kubectl would print it (to a temporary file, removed at the end): Deployments of three priorities that
fill all nodes, some with budgets, and one Deployment whose pods are pending. Each question runs as a user would ask it,
in a process of its own, so that starting and reading the file count. With several `--command`s, they take turns at each
question. Prints a Markdown table of user and system seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CREATED = "2026-01-01T00:00:00Z"
CLASSES = (("low", 100), ("standard", 1_000), ("high", 10_000), ("urgent", 100_000))
PODS_PER_NODE = 4
PODS_PER_DEPLOYMENT = 100
TIMELINE = "- {at: 1m, drain: node-3}\n"
CATALOG = """
- {name: large, capacity: {cpu: 16, memory: 64Gi}, price: 10}
- {name: small, capacity: {cpu: 8, memory: 32Gi}, price: 6}
"""

#: What each question is asked with; `FOLDER` is that of the dump.
QUESTIONS = {
    "explain": "explain shop/deployment/urgent",
    "explain --optimal": "explain shop/deployment/urgent --optimal",
    "fix": "fix shop/deployment/urgent",
    "whatif": "whatif --drain node-3",
    "drain": "drain node-3",
    "exposure": "exposure shop/deployment/app-0",
    "capacity": "capacity --workload shop/deployment/app-2",
    "audit": "audit",
    "simulate": "simulate --timeline FOLDER/timeline.yaml --until 2m",
    "defrag": "defrag --for shop/deployment/urgent",
    "consolidate": "consolidate",
    "plan": "plan --nodes FOLDER/catalog.yaml",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--file", help="a dump to ask about instead; it must have what the questions name")
    parser.add_argument("--only", nargs="*", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--command", nargs="*", default=[str(Path(sys.executable).with_name("bayplan"))])
    parser.add_argument("--rounds", type=int, default=1, help="of each question; the least time counts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = Path(arguments.file) if arguments.file else folder / "cluster.json"
        if not arguments.file:
            items = list(cluster(arguments.nodes, arguments.pods))
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        (folder / "timeline.yaml").write_text(TIMELINE, encoding="utf-8")
        (folder / "catalog.yaml").write_text(CATALOG, encoding="utf-8")
        print(f"{file.stat().st_size / 1e6:,.0f} MB, load {os.getloadavg()[0]:.1f}\n")
        print("| question |", " | ".join(arguments.command), "|")
        print("| --- |", " | ".join("---:" for _ in arguments.command), "|")
        for question in arguments.only:
            asked = shlex.split(QUESTIONS[question].replace("FOLDER", name))
            times = [
                [seconds([each, *asked, "-f", str(file)]) for each in arguments.command]
                for _ in range(arguments.rounds)
            ]
            print(f"| {question} |", " | ".join(map(least, zip(*times, strict=True))), "|", flush=True)


def seconds(command: Sequence[str]) -> float | None:
    """Processor time; None if the question is not known, or the answer is an error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took if done.returncode in (0, 1) else None  # 1: the answer is no


def least(times: Sequence[float | None]) -> str:
    known = [each for each in times if each is not None]
    return f"{min(known):.1f}" if known else ""


def cluster(node_count: int, pod_count: int) -> Iterator[dict[str, Any]]:
    for name, value in CLASSES:
        yield thing("scheduling.k8s.io/v1", "PriorityClass", meta(name, ""), value=value)
    yield thing("v1", "Namespace", meta("shop", "", labels={"kubernetes.io/metadata.name": "shop"}))
    for number in range(node_count):
        yield node(number)
    for number in range(pod_count // PODS_PER_DEPLOYMENT):
        first = number * PODS_PER_DEPLOYMENT
        nodes = [f"node-{each // PODS_PER_NODE % node_count}" for each in range(first, first + PODS_PER_DEPLOYMENT)]
        yield from deployment(f"app-{number}", CLASSES[number % 3], 2, nodes)
        if not number % 5:
            yield budget(f"app-{number}")
    yield from deployment("urgent", CLASSES[3], 4, [""] * 3)


def node(number: int) -> dict[str, Any]:
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "abc"[number % 3]}
    amounts = {"cpu": str(2 * PODS_PER_NODE), "memory": f"{8 * PODS_PER_NODE}Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": amounts, "capacity": amounts, "conditions": ready}
    return thing("v1", "Node", meta(name, "", labels=labels), spec={}, status=status)


def deployment(name: str, priority: tuple[str, int], cpu: int, nodes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """With its ReplicaSet and a pod for each node; "" is that of a pending one."""
    labels = {"app": name}
    requests = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi"}
    containers = [{"name": "app", "image": f"example.com/{name}:1", "resources": {"requests": requests}}]
    spec = {"priorityClassName": priority[0], "containers": containers}
    template = {"metadata": {"labels": labels}, "spec": spec}
    wanted = {"replicas": len(nodes), "selector": {"matchLabels": labels}, "template": template}
    yield thing("apps/v1", "Deployment", meta(name, labels=labels), spec=wanted)
    replica_set = f"{name}-1"
    yield thing("apps/v1", "ReplicaSet", meta(replica_set, labels=labels, owner=("Deployment", name)), spec=wanted)
    stored = {**spec, "priority": priority[1], "schedulerName": "default-scheduler"}
    for number, each in enumerate(nodes):
        running = {"phase": "Running", "startTime": CREATED, "conditions": [{"type": "Ready", "status": "True"}]}
        yield thing(
            "v1",
            "Pod",
            meta(f"{replica_set}-{number}", labels=labels, owner=("ReplicaSet", replica_set)),
            spec={**stored, "nodeName": each} if each else stored,
            status=running if each else {"phase": "Pending"},
        )


def budget(name: str) -> dict[str, Any]:
    return thing(
        "policy/v1",
        "PodDisruptionBudget",
        meta(name),
        spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}},
        status={"disruptionsAllowed": 1, "currentHealthy": 100, "desiredHealthy": 99, "expectedPods": 100},
    )


def thing(api_version: str, kind: str, metadata: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def meta(
    name: str, namespace: str = "shop", labels: dict[str, str] | None = None, owner: tuple[str, str] | None = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED, "labels": labels or {}}
    if namespace:
        made["namespace"] = namespace
    if owner:
        kind, owner_name = owner
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "uid": f"uid-{owner_name}"}
        made["ownerReferences"] = [{**reference, "controller": True}]
    return made


if __name__ == "__main__":
    main()
