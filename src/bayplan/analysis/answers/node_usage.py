"""How full nodes are in two caches: which of them are fuller or emptier, and which come or go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bayplan.core.cache import Cache
from bayplan.core.columns.resources import BASIC_NAMES


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """A node at one time: pods, what they ask for, and what the node has; milli-cores for cpu, else whole units."""

    pods: int
    requested: dict[str, int]
    allocatable: dict[str, int]

    def share(self, resource: str) -> float:
        """Of what the node has, how much is asked for; 0 to 1, more if it is overcommitted."""
        has = self.allocatable.get(resource, 0)
        return self.requested.get(resource, 0) / has if has else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"pods": self.pods, "requested": self.requested, "allocatable": self.allocatable}


@dataclass(frozen=True, slots=True)
class NodeChange:
    """One node before and after; None: there is no such node."""

    node: str
    before: NodeUsage | None
    after: NodeUsage | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "before": self.before.to_dict() if self.before is not None else None,
            "after": self.after.to_dict() if self.after is not None else None,
        }


def node_changes(before: Cache, after: Cache) -> Iterator[NodeChange]:
    """Nodes on which something is different, by name."""
    for name in sorted({*_alive(before), *_alive(after)}):
        change = NodeChange(name, _usage(before, name), _usage(after, name))
        if change.before != change.after:
            yield change


def _alive(cache: Cache) -> list[str]:
    nodes = cache.nodes
    return [name for name, row in nodes.rows_by_name.items() if nodes.alive[row]]


def _usage(cache: Cache, name: str) -> NodeUsage | None:
    nodes = cache.nodes
    row = nodes.rows_by_name.get(name)
    if row is None or not nodes.alive[row]:
        return None
    names = cache.resources.values
    requested, allocatable = nodes.requested[row].tolist(), nodes.allocatable[row].tolist()
    shown = [column for column, resource in enumerate(names) if resource in BASIC_NAMES or allocatable[column]]
    return NodeUsage(
        int(nodes.pod_counts[row]),
        {names[column]: requested[column] for column in shown if requested[column] or allocatable[column]},
        {names[column]: allocatable[column] for column in shown if allocatable[column]},
    )
