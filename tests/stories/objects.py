"""The objects of a story, from what its actions say; what they leave out is as the recording's setting has it.

Nodes have 4 cpu, 8Gi and room for 110 pods, and a hostname label. The recording shortens objects: what a story's pods
and nodes must have had beyond that follows from what was seen, and stands in `BEYOND` with the reason.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bayplan.model.kinds import KINDS, Object
from bayplan.testing.builders import claim, priority_class, storage_class, volume

HOSTNAME = "kubernetes.io/hostname"
IMAGE = "registry.example/pause:1"
PRIORITY_CLASSES = (
    priority_class("low", 100),
    priority_class("mid", 500),
    priority_class("high", 1000),
    priority_class("never", 1000, policy="Never"),
)

Details = dict[str, Any]

#: Story and object -> what the recording does not say of it.
BEYOND: dict[tuple[str, str], Details] = {
    ("i_misc", "n1"): {"pods": "2"},  # full with two small pods: "Too many pods"
    ("i_misc", "port1"): {"host_port": 8080},  # the second finds no free port
    ("i_misc", "port2"): {"host_port": 8080},
    ("j", "p3"): {"finalizers": ["example.com/hold"]},  # "kept by a finalizer"
}


def made(story: str, action: Details) -> list[Object]:
    """What a `create …` action creates."""
    kind = action["do"].removeprefix("create ")
    match kind:
        case "node":
            return [_node(story, action)]
        case "pod":
            return [_pod(story, action)]
        case "replicaset":
            return [_workload("ReplicaSet", action)]
        case "deployment":
            return [_workload("Deployment", action)]
        case "pdb":
            return [_budget(action)]
        case "storageclass":
            mode = action["volumeBindingMode"]
            return [
                storage_class(action["name"], mode=mode, provisioner="kubernetes.io/no-provisioner").manifest().obj()
            ]
        case "pv":
            held = volume(action["name"]).manifest().obj()
            held.spec.capacity = {"storage": "1Gi"}
            held.spec.access_modes = ["ReadWriteOnce"]
            held.spec.storage_class_name = action["class"]
            held.spec.volume_mode = "Filesystem"
            on_node = volume("x").node_affinity(f"{HOSTNAME} in ({action['node']})").obj()
            held.spec.node_affinity = on_node.spec.node_affinity
            return [held]
        case "pvc":
            namespace, name = action["name"].split("/")
            asked = claim(name, namespace).manifest().obj()
            asked.spec.storage_class_name = action["class"]
            asked.spec.access_modes = ["ReadWriteOnce"]
            asked.spec.resources.requests = {"storage": "1Gi"}
            return [asked]
    raise AssertionError(f"unknown: {action}")


def _node(story: str, action: Details) -> Object:
    name = action["name"]
    beyond = BEYOND.get((story, name), {})
    room = {"cpu": action["cpu"], "memory": action["memory"], "pods": beyond.get("pods", "110")}
    return _converted(
        "Node",
        {
            "metadata": {"name": name, "labels": {HOSTNAME: name, **action.get("labels", {})}},
            "spec": {"taints": action.get("taints", []), "unschedulable": action.get("unschedulable", False)},
            "status": {"capacity": room, "allocatable": room},
        },
    )


def _pod(story: str, action: Details) -> Object:
    namespace, name = action["pod"].split("/")
    beyond = BEYOND.get((story, name), {})
    container: Details = {"name": "main", "image": IMAGE, "resources": _resources(action["requests"])}
    if "host_port" in beyond:
        container["ports"] = [{"containerPort": beyond["host_port"], "hostPort": beyond["host_port"]}]
    meta = {
        "namespace": namespace,
        "name": name,
        "labels": action.get("labels", {}),
        "finalizers": beyond.get("finalizers", []),
    }
    return _converted("Pod", {"metadata": meta, "spec": {**action["spec"], "containers": [container]}})


def _workload(kind: str, action: Details) -> Object:
    namespace, name = action["name"].split("/")
    labels = {"app": name}
    container = {"name": "main", "image": IMAGE, "resources": _resources(action["requests"])}
    spec = {"terminationGracePeriodSeconds": 3, **action.get("template", {}), "containers": [container]}
    return _converted(
        kind,
        {
            "metadata": {"namespace": namespace, "name": name},
            "spec": {
                "replicas": action["replicas"],
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        },
    )


def _budget(action: Details) -> Object:
    namespace, name = action["name"].split("/")
    spec = {"minAvailable": action["minAvailable"], "selector": {"matchLabels": action["selector"]}}
    return _converted("PodDisruptionBudget", {"metadata": {"namespace": namespace, "name": name}, "spec": spec})


def _resources(requests: dict[str, str]) -> Details:
    extended = {name: amount for name, amount in requests.items() if "/" in name}
    return {"requests": requests, "limits": extended}


def _converted(kind: str, plain: Details) -> Object:
    made: Object = msgspec.convert({"kind": kind, **plain}, KINDS[kind].struct)
    return made
