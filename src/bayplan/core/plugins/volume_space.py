"""Where drivers say that they have room for a new volume.

Takes a claim, its class and the CSIStorageCapacities; gives for all nodes at once the capacity that the volume would be
taken from. Of several that would do upstream takes any; here it is the first one that was added.
Upstream: plugins/volumebinding/binder.go hasEnoughCapacity (v1.36).
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import BoolArray, IntArray
from bayplan.core.columns.node_selectors import NodeTerm, match_some
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.plugins.volume_claims import STORAGE, largest_volume_bytes
from bayplan.core.snapshot import View
from bayplan.model.quantity import parse_quantity, whole_value
from bayplan.model.selectors import SelectorError, compile_label_selector
from bayplan.model.storage import CSIStorageCapacity, PersistentVolumeClaim, StorageClass

NO_SPACE = -1


def space_for(view: View, claim: PersistentVolumeClaim, storage_class: StorageClass) -> IntArray | None:
    """(nodes,) bytes of the capacity that has room, or NO_SPACE; None where the driver does not report capacity."""
    requests = claim.spec.resources.requests
    driver = view.objects.csi_drivers.get(storage_class.provisioner)
    if STORAGE not in requests or driver is None or not driver.spec.storage_capacity:
        return None
    wanted = whole_value(parse_quantity(requests[STORAGE]))
    space = np.full(view.nodes.count, NO_SPACE, dtype=np.int64)
    for capacity in view.objects.csi_capacities.values():
        largest = largest_volume_bytes(capacity)
        if capacity.storage_class_name == storage_class.metadata.name and largest is not None and largest >= wanted:
            in_all = whole_value(parse_quantity(capacity.capacity)) if capacity.capacity is not None else 0
            space[_within_reach(view.nodes, capacity) & (space == NO_SPACE)] = in_all
    return space


def _within_reach(nodes: NodeTable, capacity: CSIStorageCapacity) -> BoolArray:
    try:
        selector = compile_label_selector(capacity.node_topology)
    except SelectorError:
        return np.zeros(nodes.count, dtype=np.bool_)
    if selector.is_empty:
        return np.ones(nodes.count, dtype=np.bool_)
    return match_some(nodes, [NodeTerm(labels=selector.requirements)], use_fields=False)
