"""One read-only instant of the cluster, and what-if views of it.

A `View` is what plugins look at. The snapshot is the cache's own columns, not a copy: the core is single-threaded
and nothing changes during a decision. `WhatIf` replaces the usage columns by a copy in which pods have moved. In it
every node stands in its own world: all nodes may have lost pods at once, yet no node sees another's loss.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bayplan.core.columns import IntArray, RowArray, all_differ
from bayplan.core.columns.counters import Counters
from bayplan.core.columns.devices import Inventory
from bayplan.core.columns.labels import NO_LABELS
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.nominated import NominatedPods
from bayplan.core.columns.pods import PodTable
from bayplan.core.columns.ports import PortTable
from bayplan.core.columns.shapes import Identity, PodShape, Shapes
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.cluster import Namespace, Service
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.workloads import ReplicaSet, ReplicationController, StatefulSet

NamespacedName = tuple[str, str]


#: Kinds whose selectors decide how pods without constraints of their own are spread.
SELECTING = (Service, ReplicationController, ReplicaSet, StatefulSet)


@dataclass(slots=True)
class Objects:
    """Objects other than nodes and pods that plugins look up, by name; dicts keep the order of arrival."""

    gates: FeatureGates
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    services: dict[NamespacedName, Service] = field(default_factory=dict)
    replication_controllers: dict[NamespacedName, ReplicationController] = field(default_factory=dict)
    replica_sets: dict[NamespacedName, ReplicaSet] = field(default_factory=dict)
    stateful_sets: dict[NamespacedName, StatefulSet] = field(default_factory=dict)
    claims: dict[NamespacedName, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: dict[str, PersistentVolume] = field(default_factory=dict)
    storage_classes: dict[str, StorageClass] = field(default_factory=dict)
    csi_nodes: dict[str, CSINode] = field(default_factory=dict)
    csi_drivers: dict[str, CSIDriver] = field(default_factory=dict)
    csi_capacities: dict[NamespacedName, CSIStorageCapacity] = field(default_factory=dict)
    attachments: dict[str, VolumeAttachment] = field(default_factory=dict)
    budgets: dict[NamespacedName, PodDisruptionBudget] = field(default_factory=dict)
    resource_claims: dict[NamespacedName, ResourceClaim] = field(default_factory=dict)
    device_classes: dict[str, DeviceClass] = field(default_factory=dict)
    resource_slices: dict[str, ResourceSlice] = field(default_factory=dict)
    taint_rules: dict[str, DeviceTaintRule] = field(default_factory=dict)
    pod_groups: dict[NamespacedName, PodGroup] = field(default_factory=dict)
    #: Claims that were given devices which nobody has written down yet.
    claims_in_flight: set[NamespacedName] = field(default_factory=set)
    devices: Inventory = field(init=False)
    now: int | None = None  # the time of the decision; None where a question has none
    version: int = 0  # grows with every change
    budgets_version: int = 0  # grows with every change of a budget
    selecting_version: int = 0  # grows with every change of a service or a controller
    #: Worked out from services and controllers; forgotten when one of them changes.
    remembered: dict[Hashable, Any] = field(default_factory=dict)
    #: Budgets by the identity of pods they cover, as far as somebody has asked; forgotten when a budget changes.
    covering: dict[Identity, Sequence[PodDisruptionBudget]] = field(default_factory=dict)
    #: During a trial: what undoes it, the last step first.
    undoing: list[Callable[[], None]] | None = None

    def __post_init__(self) -> None:
        self.devices = Inventory(self.resource_slices, self.device_classes, self.taint_rules, self.gates)

    def put(self, obj: Object) -> None:
        """Add or replace an object; kinds nobody looks up are passed over."""
        held, name = self._place(obj)
        if held is not None:
            if isinstance(obj, ResourceClaim):
                self.devices.claim_changed(self.resource_claims.get((obj.metadata.namespace, obj.metadata.name)), obj)
            old = held.get(name)
            held[name] = obj
            self._changed(obj, old)
            if self.undoing is not None:
                self.undoing.append(partial(self.remove, obj) if old is None else partial(self.put, old))

    def find(self, obj: Object) -> Object | None:
        """What is held in the place of this object."""
        held, name = self._place(obj)
        return held.get(name) if held is not None else None

    def remove(self, obj: Object) -> None:
        """Take an object out again."""
        held, name = self._place(obj)
        if held is not None:
            gone = held.pop(name, None)
            if isinstance(gone, ResourceClaim):
                self.devices.claim_changed(gone, None)
            self._changed(obj, gone)
            if self.undoing is not None and gone is not None:
                self.undoing.append(partial(self.put, gone))

    def _place(self, obj: Object) -> tuple[dict[Hashable, Object] | None, Hashable]:
        """The dict of the object's kind, None for kinds nobody looks up, and its name there."""
        attribute, namespaced = _PLACES.get(type(obj), ("", False))
        meta = obj.metadata
        name = (meta.namespace, meta.name) if namespaced else meta.name
        return getattr(self, attribute) if attribute else None, name

    def _changed(self, obj: Object, old: Object | None) -> None:
        """An object came, changed or went; `old` is what was held in its place."""
        self.version += 1
        if isinstance(obj, PodDisruptionBudget):
            self.budgets_version += 1
            self.covering.clear()
        elif isinstance(obj, SELECTING):
            self.selecting_version += 1
            self.remembered.clear()
        elif isinstance(obj, ResourceSlice):
            self.devices.slice_changed([each for each in (old, obj) if isinstance(each, ResourceSlice)])
        elif isinstance(obj, DeviceTaintRule):
            self.devices.taint_rule_changed()
        elif isinstance(obj, DeviceClass):
            self.devices.class_changed()

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        namespace = self.namespaces.get(name)
        return namespace.metadata.labels if namespace else NO_LABELS


_PLACES: dict[type, tuple[str, bool]] = {
    Namespace: ("namespaces", False),
    Service: ("services", True),
    ReplicationController: ("replication_controllers", True),
    ReplicaSet: ("replica_sets", True),
    StatefulSet: ("stateful_sets", True),
    PersistentVolumeClaim: ("claims", True),
    PersistentVolume: ("volumes", False),
    StorageClass: ("storage_classes", False),
    CSINode: ("csi_nodes", False),
    CSIDriver: ("csi_drivers", False),
    CSIStorageCapacity: ("csi_capacities", True),
    VolumeAttachment: ("attachments", False),
    PodDisruptionBudget: ("budgets", True),
    ResourceClaim: ("resource_claims", True),
    DeviceClass: ("device_classes", False),
    ResourceSlice: ("resource_slices", False),
    DeviceTaintRule: ("taint_rules", False),
    PodGroup: ("pod_groups", True),
}
#: The attributes of `Objects` that hold objects, with the names of their kinds.
HOLDING = {attribute: kind.__name__ for kind, (attribute, _) in _PLACES.items()}


@dataclass(slots=True)
class Usage:
    """What the pods take on each node."""

    requested: IntArray  # (nodes, resources)
    nonzero_requested: IntArray  # (nodes, 2)
    pod_counts: IntArray  # (nodes,)

    def copy(self) -> Usage:
        return Usage(self.requested.copy("K"), self.nonzero_requested.copy("K"), self.pod_counts.copy())

    def shift(self, pods: PodTable, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        """Pod i comes to (+1) or leaves (-1) node i; a node may be named several times."""
        requests, nonzero_requests = sign * pods.requests[pod_rows], sign * pods.nonzero_requests[pod_rows]
        if all_differ(node_rows):  # mostly, and then there is a faster way
            self.requested[node_rows] += requests
            self.nonzero_requested[node_rows] += nonzero_requests
            self.pod_counts[node_rows] += sign
            return
        np.add.at(self.requested, node_rows, requests)
        np.add.at(self.nonzero_requested, node_rows, nonzero_requests)
        np.add.at(self.pod_counts, node_rows, sign)


@dataclass(slots=True, eq=False)
class View:
    """What a plugin may look at."""

    nodes: NodeTable
    pods: PodTable
    shapes: Shapes
    counters: Counters
    ports: PortTable
    objects: Objects
    nominated: NominatedPods
    usage: Usage
    #: Nodes are as an extender returned them: nothing is known of the pods and images there. Only scoring sees them so.
    bare: bool = False

    @property
    def instant(self) -> int:
        """Grows with every change of nodes, of pods on them and of other objects: while it stays, all is as it was."""
        nodes = self.nodes
        return (
            nodes.spec_changes.position
            + nodes.usage_changes.position
            + nodes.importance_changes.position
            + self.objects.version
        )

    def shape(self, pod_row: int) -> PodShape:
        return self.pods.shape(pod_row)

    def what_if(self) -> View:
        """This instant with a copy of usage, which may be shifted."""
        return replace(self, usage=self.usage.copy())

    def without_pods(self) -> View:
        """This instant as if no pods ran: nodes are objects and nothing else."""
        usage = self.usage
        nothing = (usage.requested, usage.nonzero_requested, usage.pod_counts)
        return replace(self, usage=Usage(*map(np.zeros_like, nothing)), bare=True)
