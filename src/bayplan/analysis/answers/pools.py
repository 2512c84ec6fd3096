"""Capacity by pool: nodes that users think of as one kind.

Takes the nodes of a view and what stopped the filling; gives for each pool how many pods fit there, whether the pods
may run there at all, and what is free. A pool is what nodes have in common: instance type and taints, or the labels
that a user names. Cordoned nodes and taints that tell the state of a node make no pool of their own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.answers.headroom import Amounts
from bayplan.core.plugins.node_resources_fit import TOO_MANY_PODS, insufficient
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.well_known import INSTANCE_TYPE, NODE_STATE_TAINTS


@dataclass(frozen=True, slots=True)
class PoolAmounts:
    """One resource on all nodes of a pool; milli-cores for cpu, whole units for everything else."""

    allocatable: int
    requested: int
    free: int
    left: int  # once no more pods fit

    def to_dict(self) -> dict[str, int]:
        return {
            "allocatable": self.allocatable,
            "requested": self.requested,
            "free": self.free,
            "leftOver": self.left,
        }


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind."""

    name: str
    nodes: int
    fits: int  # pods of all kinds that were asked about
    is_open: bool  # whether the next pod would fit there if there were room
    obstacle: str  # of the next pod on most of the nodes, in the scheduler's words
    resources: Mapping[str, PoolAmounts]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "nodes": self.nodes,
            "fits": self.fits,
            "open": self.is_open,
            "obstacle": self.obstacle,
            "resources": {name: amounts.to_dict() for name, amounts in self.resources.items()},
        }


def pools(
    nodes: Sequence[Node],
    labels: Sequence[str],
    view: View,
    fits: Mapping[str, Sequence[int]],
    obstacles: Mapping[str, Sequence[str]],
    before: Mapping[str, Amounts],
    after: Mapping[str, Amounts],
) -> tuple[Pool, ...]:
    """Those that are open to the pods first, then the largest; `fits` and `obstacles` are by node."""
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for node in nodes:
        grouped[_pool_name(node, labels)].append(node.metadata.name)
    found = [_pool(name, members, view, fits, obstacles, before, after) for name, members in grouped.items()]
    return tuple(sorted(found, key=lambda pool: (not pool.is_open, -pool.nodes, pool.name)))


def _pool_name(node: Node, labels: Sequence[str]) -> str:
    """`pool=general` for labels that the user names; else instance type and taints: `m6i.4xlarge dedicated=highmem`."""
    if labels:
        return ", ".join(f"{label}={node.metadata.labels.get(label, '(none)')}" for label in labels)
    taints = [
        f"{taint.key}={taint.value}" if taint.value else taint.key
        for taint in node.spec.taints
        if not taint.key.startswith(NODE_STATE_TAINTS)
    ]
    parts = [node.metadata.labels.get(INSTANCE_TYPE, ""), *sorted(taints)]
    return " ".join(part for part in parts if part) or "without taints"


def _pool(
    name: str,
    members: Sequence[str],
    view: View,
    fits: Mapping[str, Sequence[int]],
    obstacles: Mapping[str, Sequence[str]],
    before: Mapping[str, Amounts],
    after: Mapping[str, Amounts],
) -> Pool:
    reasons = Counter(", ".join(obstacles[node]) for node in members if node in obstacles)
    rows = [
        view.nodes.rows_by_name[node] for node in members if not view.nodes.unschedulable[view.nodes.rows_by_name[node]]
    ]
    offered = {resource for resource, now in before.items() if now.offered[rows].any()}
    is_open = any(node in fits or _lacks_only_room(obstacles.get(node, ()), offered) for node in members)
    return Pool(
        name=name,
        nodes=len(members),
        fits=sum(sum(fits[node]) for node in members if node in fits),
        is_open=is_open,
        obstacle=reasons.most_common(1)[0][0] if reasons else "",
        resources={
            resource: PoolAmounts(
                allocatable=sum(now.offered[rows].tolist()),
                requested=sum(now.requested[rows].tolist()),
                free=sum(now.free[rows].tolist()),
                left=sum(after[resource].free[rows].tolist()),
            )
            for resource, now in before.items()
        },
    )


def _lacks_only_room(reasons: Sequence[str], offered: Collection[str]) -> bool:
    """Whether the pod would fit on an empty node there, as far as the pool has what it asks for at all."""
    return bool(reasons) and {TOO_MANY_PODS, *map(insufficient, offered)}.issuperset(reasons)
