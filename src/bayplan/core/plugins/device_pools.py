"""Resource pools as a node sees them, and devices as arrays over all nodes.

`pools_of_node` follows upstream's rules for one node: only slices of the newest generation, a pool whose slices are
not all there is incomplete, one that contradicts itself invalid. `DeviceColumns` holds the devices of pools in which
nothing of that can happen (*simple* pools) as arrays; nodes that see any other pool are named by `odd`, and have to be
looked at one by one. Upstream: structured/internal/incubating/pools_incubating.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bayplan.core.columns import BoolArray, IdArray, RowArray, row_array
from bayplan.core.columns.devices import (
    Amounts,
    DeviceEntry,
    DeviceId,
    Inventory,
    PoolId,
    SliceIndex,
    pool_id_of,
    slice_index,
)
from bayplan.core.columns.node_selectors import NodeTerm, compile_term, match_some
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.pod import NodeSelector
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import Device, ResourceSlice, ResourceSliceSpec
from bayplan.model.selectors import SelectorError


class PoolError(Exception):
    """What the slices say cannot be understood; the attempt ends."""


@dataclass(slots=True, eq=False)
class DevicePool:
    """A pool as one node sees it; an incomplete or invalid one offers nothing."""

    id: PoolId
    is_incomplete: bool = False
    is_invalid: bool = False
    entries: list[DeviceEntry] = field(default_factory=list)  # in the order in which they are tried
    elsewhere: list[DeviceEntry] = field(default_factory=list)  # devices that only other nodes see
    counter_sets: dict[str, Amounts] = field(default_factory=dict)

    @property
    def has_binding_conditions(self) -> bool:
        return any(entry.device.binding_conditions for entry in self.entries)


# ---------------------------------------------------------------- one node


def pools_of_node(inventory: Inventory, nodes: NodeTable, row: int) -> list[DevicePool]:
    """The pools the node can use devices of, in the order in which they are tried. Raises PoolError."""
    index = slice_index(inventory)
    seen: dict[PoolId, list[ResourceSlice]] = {}
    for resource_slice in (*index.on_node.get(nodes.names[row], ()), *index.shared):
        if _is_relevant(inventory, resource_slice, nodes, row):
            _take_newest(seen, resource_slice)
    pools = [pool for pool_id, slices in seen.items() if (pool := _pool(inventory, index, pool_id, slices)) is not None]
    # Pools with devices that have to be prepared first come last.
    return sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id))


def _is_relevant(inventory: Inventory, resource_slice: ResourceSlice, nodes: NodeTable, row: int) -> bool:
    spec = resource_slice.spec
    if not inventory.gates.dra_partitionable_devices and _is_of_partitions(spec):
        return False
    if spec.shared_counters and not inventory.gates.release.counter_slices_follow_nodes:
        return True
    try:
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            return node_matches(spec, nodes, row)
        if spec.per_device_node_selection:
            return any(node_matches(device, nodes, row) for device in spec.devices)
    except PoolError as problem:
        name = resource_slice.metadata.name
        fault = f"failed to perform node selection for slice {name}: {problem}"
        raise PoolError(f"gather pool information: {fault}") from problem
    return False


def _is_of_partitions(spec: ResourceSliceSpec) -> bool:
    """Whether the slice has anything that only partitionable devices have."""
    return spec.per_device_node_selection is not None or bool(spec.shared_counters)


def node_matches(where: ResourceSliceSpec | Device, nodes: NodeTable, row: int) -> bool:
    """Whether a slice, or a device, is there for the node. Raises PoolError."""
    if where.node_name:
        return nodes.names[row] == where.node_name
    if where.all_nodes:
        return True
    if where.node_selector is None:
        return False
    terms = _terms(where.node_selector)
    return any(term.matches(nodes.labels[row], nodes.names[row]) for term in terms)


def _terms(selector: NodeSelector) -> list[NodeTerm]:
    try:
        return [
            compile_term(term, f"nodeSelectorTerms[{place}]") for place, term in enumerate(selector.node_selector_terms)
        ]
    except SelectorError as problem:
        raise PoolError(f"failed to parse node selector: {problem}") from problem


def _take_newest(seen: dict[PoolId, list[ResourceSlice]], resource_slice: ResourceSlice) -> None:
    pool_id = pool_id_of(resource_slice)
    known = seen.get(pool_id)
    generation = resource_slice.spec.pool.generation
    if known is None or generation > known[0].spec.pool.generation:
        seen[pool_id] = [resource_slice]
    elif generation == known[0].spec.pool.generation:
        known.append(resource_slice)


def _pool(inventory: Inventory, index: SliceIndex, pool_id: PoolId, slices: list[ResourceSlice]) -> DevicePool | None:
    """None for a pool of which a newer generation exists that has nothing for the node."""
    first = slices[0].spec.pool
    if len(slices) == first.resource_slice_count:
        return _build(inventory, pool_id, slices, slices)
    everything = index.by_pool[pool_id]
    if any(other.spec.pool.generation > first.generation for other in everything):
        return None
    same_generation = [other for other in everything if other.spec.pool.generation == first.generation]
    if len(same_generation) != first.resource_slice_count:
        return DevicePool(pool_id, is_incomplete=True)
    return _build(inventory, pool_id, slices, same_generation)


def _build(
    inventory: Inventory, pool_id: PoolId, slices: Sequence[ResourceSlice], whole_pool: Sequence[ResourceSlice]
) -> DevicePool:
    pool = DevicePool(pool_id)
    names = {resource_slice.metadata.name for resource_slice in slices}
    for resource_slice in sorted(slices, key=lambda s: s.metadata.name):
        if not resource_slice.spec.shared_counters:
            pool.entries += inventory.entries_of(resource_slice)
    if not inventory.gates.dra_partitionable_devices:
        return pool if _has_unique_names(pool) else DevicePool(pool_id, is_invalid=True)
    for resource_slice in whole_pool:
        if resource_slice.metadata.name not in names:
            pool.elsewhere += inventory.entries_of(resource_slice)
    follows = inventory.gates.release.counter_slices_follow_nodes
    with_counters = [each for each in (whole_pool if follows else slices) if each.spec.shared_counters]
    consistent = (
        _has_unique_names(pool)
        and _collect_counters(with_counters, pool.counter_sets)
        and _counters_exist(pool, (*pool.entries, *pool.elsewhere))
        and all(_counters_exist(pool, inventory.entries_of(resource_slice)) for resource_slice in with_counters)
    )
    return pool if consistent else DevicePool(pool_id, is_invalid=True)


def _has_unique_names(pool: DevicePool) -> bool:
    return len({entry.id for entry in pool.entries}) == len(pool.entries)


def _collect_counters(slices: Iterable[ResourceSlice], into: dict[str, Amounts]) -> bool:
    """False where two sets of counters have the same name."""
    for resource_slice in slices:
        for counter_set in resource_slice.spec.shared_counters:
            if counter_set.name in into:
                return False
            into[counter_set.name] = {name: parse_quantity(c.value) for name, c in counter_set.counters.items()}
    return True


def _counters_exist(pool: DevicePool, entries: Iterable[DeviceEntry]) -> bool:
    return all(
        consumption.counter_set in pool.counter_sets
        and consumption.counters.keys() <= pool.counter_sets[consumption.counter_set].keys()
        for entry in entries
        for consumption in entry.device.consumes_counters
    )


# ---------------------------------------------------------------- all nodes


@dataclass(slots=True)
class SharedSlice:
    """Devices that several nodes see."""

    visible: BoolArray  # (nodes,)
    entries: list[DeviceEntry]
    content_ids: IdArray  # (devices of the slice,)


class DeviceColumns:
    """Devices of simple pools as arrays, for one instant of slices and nodes. Who holds them is looked up."""

    def __init__(self, inventory: Inventory, nodes: NodeTable) -> None:
        self.node_of_pool: dict[PoolId, int] = {}  # rows, of simple pools that one node has to itself
        self.shared: list[SharedSlice] = []
        self.odd: BoolArray = np.zeros(nodes.count, dtype=np.bool_)
        self._entries: list[DeviceEntry] = []
        self._rows: list[int] = []
        for pool_id, slices in slice_index(inventory).by_pool.items():
            if not self._add_pool(inventory, nodes, pool_id, slices):
                for resource_slice in slices:
                    self.odd |= visible_to(resource_slice, nodes)
        self.node_rows: RowArray = row_array(self._rows)
        self.content_ids: IdArray = np.fromiter((e.content_id for e in self._entries), np.int32, len(self._entries))
        self._places: dict[DeviceId, int] = {entry.id: place for place, entry in enumerate(self._entries)}

    def free(self, inventory: Inventory) -> BoolArray:
        """(devices,) devices of `node_rows` that nobody holds."""
        free = np.ones(len(self._entries), dtype=np.bool_)
        held = [self._places[device_id] for device_id in inventory.holders if device_id in self._places]
        free[held] = False
        return free

    def _add_pool(self, inventory: Inventory, nodes: NodeTable, pool_id: PoolId, slices: list[ResourceSlice]) -> bool:
        """False for a pool that is not simple."""
        entries = [entry for resource_slice in slices for entry in inventory.entries_of(resource_slice)]
        first = slices[0].spec
        if (
            any(s.spec.pool.generation != first.pool.generation or s.spec.shared_counters for s in slices)
            or len(slices) != first.pool.resource_slice_count
            or len({entry.id.device for entry in entries}) < len(entries)
            or any(entry.device.consumes_counters or entry.device.allow_multiple_allocations for entry in entries)
            or _needs_a_gate_that_is_off(inventory.gates, slices)
        ):
            return False
        owners = {resource_slice.spec.node_name or "" for resource_slice in slices}
        if len(owners) == 1 and "" not in owners:
            row = nodes.rows_by_name.get(owners.pop())
            if row is not None:
                self.node_of_pool[pool_id] = row
                self._entries += entries
                self._rows += [row] * len(entries)
            return True
        if any(_is_complicated(resource_slice.spec) for resource_slice in slices):
            return False
        for resource_slice in slices:
            of_slice = inventory.entries_of(resource_slice)
            content_ids = np.fromiter((entry.content_id for entry in of_slice), np.int32, len(of_slice))
            self.shared.append(SharedSlice(visible_to(resource_slice, nodes), of_slice, content_ids))
        return True


def _needs_a_gate_that_is_off(gates: FeatureGates, slices: Iterable[ResourceSlice]) -> bool:
    return (not gates.dra_partitionable_devices and any(_is_of_partitions(each.spec) for each in slices)) or (
        not gates.binds_devices_by_conditions
        and any(device.binding_conditions for each in slices for device in each.spec.devices)
    )


def _is_complicated(spec: ResourceSliceSpec) -> bool:
    """Whether devices differ in who sees them, or whether an allocation might fail for the node selector alone."""
    selector = spec.node_selector
    return bool(spec.per_device_node_selection) or (
        selector is not None and (len(selector.node_selector_terms) != 1 or not _parses(selector))
    )


def _parses(selector: NodeSelector) -> bool:
    try:
        _terms(selector)
    except PoolError:
        return False
    return True


def visible_to(resource_slice: ResourceSlice, nodes: NodeTable) -> BoolArray:
    """(nodes,) nodes that may see something of the slice; all of them where that is not easy to tell."""
    spec = resource_slice.spec
    visible = np.zeros(nodes.count, dtype=np.bool_)
    if spec.shared_counters or spec.per_device_node_selection:
        visible |= nodes.alive
    elif spec.node_name:
        row = nodes.rows_by_name.get(spec.node_name)
        if row is not None:
            visible[row] = True
    elif spec.all_nodes:
        visible |= nodes.alive
    elif spec.node_selector is not None:
        if not _parses(spec.node_selector):
            return nodes.alive.copy()
        visible |= match_some(nodes, _terms(spec.node_selector))
    return visible


def device_columns(inventory: Inventory, nodes: NodeTable) -> DeviceColumns:
    """The columns of this instant, made anew when slices or nodes have changed."""
    instant = (nodes.spec_changes.position, nodes.count)
    known: tuple[tuple[int, int], DeviceColumns] | None = inventory.remembered.get("columns")
    if known is None or known[0] != instant:
        known = inventory.remembered["columns"] = (instant, DeviceColumns(inventory, nodes))
    return known[1]
