"""A cluster of 300 nodes and some 5,700 pods, as `kubectl get` would have dumped it: five pools, three zones, 95 % full
where ordinary workloads run, and a handful of workloads that are pending for one reason each.

Everything has a uid and pods have their nodes, so that `bayplan up` takes it as it is. What runs is placed with a plain
rule (the emptiest of three nodes drawn at random, always the same ones); the scheduler has no part in it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.answers.manifests import (
    HOST,
    ZONE,
    Document,
    apart,
    budget,
    deployment,
    manifest,
    node,
    pod_spec,
    priority_class,
    spread,
    tolerating,
)

CREATED = "2026-01-01T00:00:00Z"
#: Name, nodes, cores, taint, further resources.
_POOLS: tuple[tuple[str, int, int, str, dict[str, Any]], ...] = (
    ("general", 180, 16, "", {}),
    ("highmem", 40, 16, "dedicated=highmem", {}),
    ("gpu", 30, 96, "nvidia.com/gpu=present", {"nvidia_com__gpu": "8"}),
    ("spot", 45, 8, "", {}),
    ("infra", 5, 8, "node-role=infra", {}),
)
_CORDONED = frozenset({"general-77", "general-120"})
INFRA = tolerating("node-role", "infra")
GPU = tolerating("nvidia.com/gpu", "present")


@dataclass
class _Place:
    name: str
    pool: str
    free: int  # millicores
    free_devices: int
    apps: set[str] = field(default_factory=set)


class _Cluster:
    def __init__(self) -> None:
        self._random = random.Random(7)
        self._numbers = 0
        self.objects: list[Document] = []
        self._places: list[_Place] = []

    def add(self, document: Document) -> Document:
        """As a server would have stored it."""
        self._numbers += 1
        document["metadata"] |= {"uid": f"00000000-0000-4000-8000-{self._numbers:012}", "creationTimestamp": CREATED}
        self.objects.append(document)
        return document

    def add_nodes(self) -> None:
        for pool, count, cores, taint, others in _POOLS:
            for number in range(count):
                name = f"{pool}-{number}"
                labels = {"pool": pool, ZONE: f"zone-{'abc'[number % 3]}"}
                made = node(name, str(cores), taint=taint, cordoned=name in _CORDONED, labels=labels, **others)
                self.add(made)
                if name not in _CORDONED:
                    self._places.append(_Place(name, pool, cores * 1000, 8 if others else 0))

    def add_workload(
        self, made: Document, pools: Sequence[str] = (), *, devices: int = 0, spread_out: bool = False, running: int = 0
    ) -> None:
        """A Deployment with its ReplicaSet and so many running pods; the rest is for the cluster to create."""
        self.add(made)
        name, namespace, spec = made["metadata"]["name"], made["metadata"]["namespace"], made["spec"]
        labels = {"app": name, "pod-template-hash": "5d8f9c7b6"}
        template = {"metadata": {"labels": labels}, "spec": spec["template"]["spec"]}
        selector = {"matchLabels": labels}
        owned = manifest("ReplicaSet", f"{name}-5d8f9c7b6", namespace, spec={**spec, "selector": selector})
        owned["spec"] = {"replicas": spec["replicas"], "selector": selector, "template": template}
        owned["metadata"] |= {"labels": labels, "ownerReferences": [_owner(made)]}
        owned["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
        self.add(owned)
        cores = _millicores(spec["template"]["spec"])
        for number in range(running):
            place = self._choose(cores, pools, devices, name if spread_out else "")
            if place is None:
                spec["replicas"] = owned["spec"]["replicas"] = number
                break
            self._add_pod(f"{name}-5d8f9c7b6-{number:05}", namespace, owned, template["spec"], place)

    def _choose(self, cores: int, pools: Sequence[str], devices: int, app: str) -> _Place | None:
        fitting = [
            place
            for place in self._places
            if place.pool in pools and place.free >= cores and place.free_devices >= devices and app not in place.apps
        ]
        if not fitting:
            return None
        chosen = max(self._random.sample(fitting, min(3, len(fitting))), key=lambda place: place.free)
        chosen.free -= cores
        chosen.free_devices -= devices
        chosen.apps |= {app} - {""}
        return chosen

    def _add_pod(self, name: str, namespace: str, owner: Document, spec: Document, place: _Place) -> None:
        labels = dict(owner["spec"]["template"]["metadata"]["labels"])
        priority = _CLASSES[spec.get("priorityClassName", "standard")]
        whole = {"schedulerName": "default-scheduler", "priority": priority, **spec, "restartPolicy": "Always"}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
        status = {"phase": "Running", "startTime": CREATED, "conditions": [ready]}
        made = manifest("Pod", name, namespace, spec={**whole, "nodeName": place.name}, status=status)
        made["metadata"] |= {"labels": labels, "ownerReferences": [_owner(owner)]}
        self.add(made)


_CLASSES = {"critical": 1_000_000, "high": 100_000, "standard": 10_000, "low": 100}


def _owner(document: Document) -> dict[str, Any]:
    named = {"name": document["metadata"]["name"], "uid": document["metadata"]["uid"]}
    return {"apiVersion": "apps/v1", "kind": document["kind"], **named, "controller": True}


def _millicores(spec: Document) -> int:
    cpu = spec["containers"][0]["resources"]["requests"]["cpu"]
    return int(cpu.removesuffix("m")) if cpu.endswith("m") else int(cpu) * 1000


def big_cluster() -> list[Document]:
    cluster = _Cluster()
    for name, value in _CLASSES.items():
        cluster.add(priority_class(name, value))
    cluster.add_nodes()
    _add_running(cluster)
    _add_pending(cluster)
    return cluster.objects


def _add_running(cluster: _Cluster) -> None:
    draw = random.Random(11)
    for number in range(30):
        spec = pod_spec("500m", priorityClassName="critical")
        replicas = draw.randint(8, 24)
        name = f"pay-{number}"
        cluster.add_workload(deployment(name, replicas, spec, "payments"), ["general"], running=replicas)
        cluster.add(budget(name, "payments", minAvailable="80%"))
    for number in range(150):
        spec = pod_spec(
            draw.choice(["250m", "400m", "600m"]), priorityClassName=draw.choice(["high", "standard", "low"])
        )
        replicas = draw.randint(20, 50)
        pools = ["general", "spot"]
        cluster.add_workload(deployment(f"svc-{number}", replicas, spec, "web"), pools, running=replicas)
    for number in range(10):
        spec = pod_spec("4", {"nvidia.com/gpu": "1"}, priorityClassName="low", tolerations=GPU)
        made = deployment(f"train-{number}", 8, spec, "ml")
        cluster.add_workload(made, ["gpu"], devices=1, running=8)


def _add_pending(cluster: _Cluster) -> None:
    """One workload for each reason."""
    small = "200m"
    standard: dict[str, Any] = {"priorityClassName": "standard"}
    add = cluster.add_workload
    add(deployment("typo-pool", 2, pod_spec(small, nodeSelector={"pool": "generall"}, **standard), "team"))
    add(deployment("no-toleration", 1, pod_spec("1", {"nvidia.com/gpu": "1"}, **standard), "ml"))
    add(
        deployment(
            "too-large",
            2,
            pod_spec(
                "20", nodeSelector={"pool": "highmem"}, tolerations=tolerating("dedicated", "highmem"), **standard
            ),
            "data",
        )
    )
    add(deployment("nightly", 4, pod_spec("9", priorityClassName="low"), "batch"))
    add(deployment("gated", 2, pod_spec(small, schedulingGates=[{"name": "example.com/quota"}], **standard), "team"))
    one_per_node = pod_spec(
        small, nodeSelector={"pool": "infra"}, tolerations=INFRA, affinity=apart("dns-cache"), **standard
    )
    add(deployment("dns-cache", 7, one_per_node, "infra"), ["infra"], spread_out=True, running=5)
    quorum = pod_spec(
        small,
        nodeSelector={"pool": "gpu", ZONE: "zone-a"},
        tolerations=GPU,
        topologySpreadConstraints=spread("quorum", HOST),
        **standard,
    )
    add(deployment("quorum", 3, quorum, "data"))
    add(
        deployment(
            "probe",
            0,
            pod_spec("2", nodeSelector={"pool": "highmem"}, tolerations=tolerating("dedicated", "highmem")),
            "data",
        )
    )
