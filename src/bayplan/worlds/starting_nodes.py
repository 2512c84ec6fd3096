"""The nodes that a new cluster starts with: as documents, with all that a kubelet reports of itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from bayplan.apiserver.admitting.plugins.resizes import INIT_CONTAINER_RESIZE, POD_LEVEL_RESIZE
from bayplan.apiserver.statuses.nodes import node_info
from bayplan.apiserver.storage.entries import Document
from bayplan.config.releases import KubernetesRelease
from bayplan.core.plugins.node_declared_features import RESTART_ALL_CONTAINERS
from bayplan.model.node import Node
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import ARCHITECTURE, HOSTNAME, OPERATING_SYSTEM, READY, ZONE

_ZONES: Final = ("zone-a", "zone-b", "zone-c")
_AMOUNTS: Final = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_LABELS: Final = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux"}
#: What kubelets declare where the gates of these names are on.
#: Upstream: component-helpers/nodedeclaredfeatures/features/registry.go (v1.36).
_FEATURES: Final = (
    "ExtendWebSocketsToKubelet",
    INIT_CONTAINER_RESIZE,
    POD_LEVEL_RESIZE,
    RESTART_ALL_CONTAINERS,
)
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def plain_nodes(number: int, now: int, release: KubernetesRelease) -> list[Document]:
    """So many nodes of one size, spread over three zones; their kubelets are of that release."""
    names = [f"node-{position + 1}" for position in range(number)]
    return [
        _node(name, {ZONE: _ZONES[position % len(_ZONES)]}, _AMOUNTS, position, now, release)
        for position, name in enumerate(names)
    ]


def documents_of(nodes: Iterable[Node], now: int, release: KubernetesRelease) -> list[Document]:
    """Nodes that were described, as kubelets would report them."""
    return [
        _node(
            node.metadata.name,
            {ZONE: _ZONES[position % len(_ZONES)], **node.metadata.labels},
            {name: str(amount) for name, amount in node.status.allocatable.items()},
            position,
            now,
            release,
            taints=[msgspec.to_builtins(taint) for taint in node.spec.taints],
        )
        for position, node in enumerate(nodes)
    ]


def _node(
    name: str,
    labels: dict[str, str],
    amounts: dict[str, str],
    position: int,
    now: int,
    release: KubernetesRelease,
    taints: Sequence[Document] = (),
) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**_LABELS, HOSTNAME: name, **labels}},
        "spec": {"taints": [*taints]} if taints else {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": _conditions(format_time(now)),
            "addresses": [
                {"type": "InternalIP", "address": _address(position)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": node_info(release),
            "declaredFeatures": sorted(name for name in _FEATURES if release.gates[name].default),
        },
    }


def _conditions(time: str) -> list[Document]:
    said = [
        *((kind, "False", reason, message) for kind, reason, message in _PRESSURES),
        (READY, "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": time,
            "lastTransitionTime": time,
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in said
    ]


def _address(position: int) -> str:
    """An address of a network that is nobody's."""
    return f"172.16.{position // 254 % 256}.{position % 254 + 1}"
