"""Extended resources that come as devices, as the scores of resources count them.

A node that offers none of a resource for which a device class stands is judged by its devices instead: all that the
class selects, and those of them that are in use. As upstream, which counts the devices of every slice, whatever its
generation. Upstream: plugins/noderesources/resource_allocation.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.devices import FAILS, MATCHES, DeviceEntry
from bayplan.core.framework.args import ResourceWeight
from bayplan.core.plugins.device_pools import PoolError, node_matches, visible_to
from bayplan.core.plugins.dynamic_resources.extended import may_be_backed
from bayplan.core.plugins.dynamic_resources.requests import expressions_of
from bayplan.core.snapshot import View


class ResourceColumn(Protocol):
    """A resource that counts in a score."""

    @property
    def resource(self) -> int:
        """Its column."""


class DeviceBacked(NamedTuple):
    """A scored resource that may come as devices."""

    position: int  # among the scored resources
    name: str


class DeviceCounts(NamedTuple):
    """Devices of one class on every node."""

    offered: IntArray  # (nodes,)
    taken: IntArray  # (nodes,)


def device_backed(
    configured: Iterable[ResourceWeight], scored: Iterable[ResourceColumn], view: View
) -> tuple[DeviceBacked, ...]:
    """Which of the configured resources that are scored a device class stands for."""
    inventory, resources = view.objects.devices, view.nodes.resources
    if not inventory.classes:
        return ()
    columns = [entry.resource for entry in scored]
    names = [entry.name for entry in configured]
    backed = [name for name in names if may_be_backed(name) and inventory.class_of_resource(name) is not None]
    return tuple(
        DeviceBacked(columns.index(resources.find(name)), name) for name in backed if resources.find(name) in columns
    )


def count_devices(
    backed: Iterable[DeviceBacked], view: View, rows: Rows, capacities: list[IntArray], taken: list[IntArray]
) -> None:
    """Put devices in the place of resources that a node has none of; both lists hold (rows,) for each resource."""
    for position, name in backed:
        counts = device_counts(view, name)
        offered = counts.offered[rows]
        instead = (capacities[position] == 0) & (offered > 0)
        capacities[position] = np.where(instead, offered, capacities[position])
        taken[position] = np.where(instead, counts.taken[rows], taken[position])


def device_counts(view: View, resource_name: str) -> DeviceCounts:
    """Devices that stand for the resource; recomputed when any device has changed hands."""
    inventory, nodes = view.objects.devices, view.nodes
    instant = (inventory.changes_end, nodes.spec_changes.position, nodes.count)
    key = ("counts", resource_name)
    known: tuple[tuple[int, int, int], DeviceCounts] | None = inventory.remembered.get(key)
    if known is None or known[0] != instant:
        known = (instant, _count(view, resource_name))
        inventory.remember(key, known)
    return known[1]


def _count(view: View, resource_name: str) -> DeviceCounts:
    inventory, nodes = view.objects.devices, view.nodes
    offered: IntArray = np.zeros(nodes.count, dtype=np.int64)
    taken: IntArray = np.zeros(nodes.count, dtype=np.int64)
    failed = np.zeros(nodes.count, dtype=np.bool_)
    device_class = inventory.class_of_resource(resource_name)
    assert device_class is not None
    selectors = tuple(e for e in expressions_of(device_class.spec.selectors) if e is not None)
    for resource_slice in inventory.slices.values():
        entries = inventory.entries_of(resource_slice)
        outcomes = inventory.outcomes(selectors)
        if resource_slice.spec.per_device_node_selection:
            seen = [(entry, _rows_of(entry, view)) for entry in entries]
        else:
            rows = np.flatnonzero(visible_to(resource_slice, nodes))
            seen = [(entry, rows) for entry in entries]
        for entry, rows in seen:
            outcome = outcomes[entry.content_id]
            if outcome == MATCHES:
                offered[rows] += 1
                taken[rows] += inventory.is_allocated(entry.id)
            elif outcome == FAILS:
                failed[rows] = True  # then the node's devices do not count at all
    offered[failed] = taken[failed] = 0
    return DeviceCounts(offered, taken)


def _rows_of(entry: DeviceEntry, view: View) -> RowArray:
    def matches(row: int) -> bool:
        try:
            return node_matches(entry.device, view.nodes, row)
        except PoolError:
            return False

    return np.array([row for row in range(view.nodes.count) if matches(row)], dtype=np.intp)
