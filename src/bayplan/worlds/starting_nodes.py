"""The nodes that a new cluster starts with."""

from __future__ import annotations

from bayplan.apiserver.storage.entries import Document
from bayplan.model.well_known import HOSTNAME, OPERATING_SYSTEM, ZONE

_ZONES = ("zone-a", "zone-b", "zone-c")


def starting_nodes(number: str) -> list[Document]:
    """Plain nodes in three zones."""
    return [_node(f"node-{position + 1}", _ZONES[position % len(_ZONES)]) for position in range(int(number))]


def _node(name: str, zone: str) -> Document:
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: zone, OPERATING_SYSTEM: "linux"}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
