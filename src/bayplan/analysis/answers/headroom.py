"""What is free, by resource and zone, and in how large pieces.

Takes the columns of a cache at an instant; gives for each resource what nodes offer, what pods there request and what
is left, in all and on the one node that has most. A pod needs its piece on one node: a large total in small pieces is
of no use to a large pod. Cordoned nodes are left out. Amounts are milli-cores for cpu, whole units for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME, PODS_NAME
from bayplan.core.snapshot import View
from bayplan.model.well_known import BETA_ZONE, ZONE

ALL_ZONES = ""


@dataclass(frozen=True, slots=True)
class Headroom:
    """One resource in one zone, or in all of them."""

    resource: str
    zone: str  # "" for all together
    nodes: int
    allocatable: int
    requested: int
    free: int
    largest_free: int  # on one node
    largest_on: str
    left: int  # what is still free once no more of the pods fit

    def to_dict(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "zone": self.zone or None,
            "nodes": self.nodes,
            "allocatable": self.allocatable,
            "requested": self.requested,
            "free": self.free,
            "largestFree": self.largest_free,
            "largestFreeOn": self.largest_on,
            "leftOver": self.left,
        }


@dataclass(frozen=True, slots=True)
class Amounts:
    """Of one resource, for each row of the node table."""

    offered: IntArray  # (nodes,)
    requested: IntArray  # (nodes,)

    @property
    def free(self) -> IntArray:
        free: IntArray = np.maximum(self.offered - self.requested, 0)
        return free


def amounts(view: View, resources: Iterable[str]) -> dict[str, Amounts]:
    """What there is now; cpu, memory and the number of pods are always among them. The view knows the resources."""
    found = {}
    for resource in dict.fromkeys((CPU_NAME, MEMORY_NAME, *resources)):
        column = view.nodes.resources.find(resource)
        offered, requested = view.nodes.allocatable[:, column], view.usage.requested[:, column]
        found[resource] = Amounts(offered.copy(), requested.copy())
    found[PODS_NAME] = Amounts(view.nodes.allowed_pods.copy(), view.usage.pod_counts.copy())
    return found


def headroom(view: View, before: dict[str, Amounts], after: dict[str, Amounts]) -> tuple[Headroom, ...]:
    """For each resource first all zones together, then each of them where there are several."""
    open_rows = np.flatnonzero(view.nodes.alive & ~view.nodes.unschedulable)
    zones = rows_by_zone(view, open_rows)
    found = []
    for resource, now in before.items():
        for zone, rows in [(ALL_ZONES, open_rows), *(zones if len(zones) > 1 else ())]:
            found.append(_in_zone(view, resource, zone, rows, now, after[resource]))
    return tuple(found)


def rows_by_zone(view: View, rows: RowArray) -> list[tuple[str, RowArray]]:
    """Zones by name; nodes that name none are in a zone called `-`."""
    by_zone: dict[str, list[int]] = {}
    for row in rows.tolist():
        by_zone.setdefault(zone_of(view, row), []).append(row)
    return [(zone, np.array(by_zone[zone], dtype=np.intp)) for zone in sorted(by_zone)]


def zone_of(view: View, row: int) -> str:
    labels = view.nodes.labels[row]
    return labels.get(ZONE) or labels.get(BETA_ZONE) or "-"


def _in_zone(view: View, resource: str, zone: str, rows: RowArray, before: Amounts, after: Amounts) -> Headroom:
    free = before.free[rows]
    best = int(free.argmax()) if len(rows) else -1
    return Headroom(
        resource=resource,
        zone=zone,
        nodes=len(rows),
        allocatable=_sum(before.offered[rows]),
        requested=_sum(before.requested[rows]),
        free=_sum(free),
        largest_free=int(free[best]) if best >= 0 else 0,
        largest_on=view.nodes.names[int(rows[best])] if best >= 0 else "",
        left=_sum(after.free[rows]),
    )


def _sum(values: IntArray) -> int:
    """Of many nodes it may be beyond an int64."""
    return sum(values.tolist())
