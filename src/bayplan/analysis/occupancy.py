"""Who takes what on a node: each pod's share of the resources that somebody asks about, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import IntArray
from bayplan.core.snapshot import View


@dataclass(frozen=True, slots=True)
class Occupant:
    """A pod on a node, and how much of each resource it takes."""

    pod: str
    priority: int
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What a node offers of each resource, and its pods: those of the highest priority first, then by name."""

    node: str
    allocatable: tuple[int, ...]
    pods: tuple[Occupant, ...]


def occupancies(view: View, nodes: Iterable[str], resources: Sequence[str]) -> list[Occupancy]:
    """One for each of the nodes, in their order; amounts are in the order of the resources."""
    ids = [view.nodes.resources.find(name) for name in resources]
    return [_occupancy(view, node, ids) for node in nodes]


def _occupancy(view: View, node: str, ids: Sequence[int]) -> Occupancy:
    row = view.nodes.rows_by_name[node]
    pods = view.pods
    occupants = [
        Occupant(pods.keys[pod], int(pods.priorities[pod]), _amounts(pods.requests[pod], ids))
        for pod in np.flatnonzero(pods.node_rows == row).tolist()
    ]
    occupants.sort(key=lambda occupant: (-occupant.priority, occupant.pod))
    return Occupancy(node, _amounts(view.nodes.allocatable[row], ids), tuple(occupants))


def _amounts(by_resource: IntArray, ids: Sequence[int]) -> tuple[int, ...]:
    """Nothing of a resource that no node and no pod has mentioned yet."""
    return tuple(int(by_resource[each]) if 0 <= each < len(by_resource) else 0 for each in ids)
