"""VolumeZone: a pod goes where the zone labels of its bound volumes say.

Takes claims, volumes and storage classes by name; gives a mask for each zone label found on a bound volume. Volumes
that wait for their first consumer have no zone yet and are passed over, ephemeral volumes are not considered, and a
node without any zone or region label passes: a cluster of one zone need not label its nodes.
Upstream: plugins/volumezone/volume_zone.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IntArray, Rows
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import Status, unresolvable
from bayplan.core.plugins.requeue_rules import after_named_claim, on
from bayplan.core.plugins.volume_claims import (
    CLAIM_WITHOUT_NAME,
    WAIT_FOR_FIRST_CONSUMER,
    binding_mode_not_set,
    claim_not_found,
    class_of_claim,
)
from bayplan.core.snapshot import Objects, View
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.model.well_known import BETA_REGION, BETA_ZONE, REGION, ZONE

CONFLICT = "node(s) had no available volume zone"
CLAIM_WITHOUT_CLASS = "PersistentVolumeClaim had no pv name and storageClass name"
VOLUME_WITHOUT_NAME = "PersistentVolume had no name"

TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
CURRENT_LABELS = {BETA_ZONE: ZONE, BETA_REGION: REGION}
ZONE_SEPARATOR = "__"


class VolumeTopology(NamedTuple):
    """Where a volume can be reached: nodes whose label `key` has one of the values."""

    key: str
    values: frozenset[str]


class VolumeZone:
    """Filters nodes by the zones of bound volumes."""

    name: ClassVar[str] = "VolumeZone"
    looks_up: ClassVar[frozenset[str]] = frozenset({"PersistentVolumeClaim", "PersistentVolume", "StorageClass"})
    reads: ClassVar[Reads] = Reads.NODE | Reads.CLUSTER

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.spec.volumes)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        topologies: list[VolumeTopology] = []
        for claim_name in pod.shape.claim_names:
            found = _bound_volume(view.objects, pod.namespace, claim_name)
            if isinstance(found, Status):
                return found
            if found is not None:
                topologies.extend(_topologies(found))
        return Ready(tuple(topologies)) if topologies else SKIP

    def unprepared(self, pod: PodInfo, view: View) -> tuple[VolumeTopology, ...] | Status | Skip:
        outcome = self.pre_filter(pod, view)
        return outcome.state if isinstance(outcome, Ready) else outcome

    def filter(self, state: tuple[VolumeTopology, ...] | Status, view: View, rows: Rows) -> IntArray:
        if isinstance(state, Status):  # only without PreFilter, which would have rejected the pod
            return np.ones(view.nodes.count, dtype=np.int64)[rows]
        labels = view.nodes.labels
        columns = {key: labels.column(key) for key in TOPOLOGY_LABELS}
        labeled = np.zeros(view.nodes.count, dtype=np.bool_)[rows]
        for column in columns.values():
            labeled |= column.ids[rows] != ABSENT
        reachable = np.ones_like(labeled)
        for topology in state:
            reachable &= _reaches(topology, columns, rows)
        return (labeled & ~reachable).astype(np.int64)

    def explain_failure(self, state: tuple[VolumeTopology, ...] | Status, view: View, code: int) -> Status:  # noqa: ARG002
        return state if isinstance(state, Status) else unresolvable(CONFLICT)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.STORAGE_CLASS, ActionType.ADD, after_class_added),
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            on(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE, after_named_claim),
            on(EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.UPDATE, after_volume_change),
        )


def after_class_added(pod: PodInfo, old: None, new: StorageClass) -> bool:  # noqa: ARG001
    """Hint: only claims of a class that waits for the first consumer may be unbound here."""
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def after_volume_change(pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume) -> bool:  # noqa: ARG001
    """Hint: any new volume, or one that is in other zones than before."""
    return old is None or list(_topologies(old)) != list(_topologies(new))


def _bound_volume(objects: Objects, namespace: str, claim_name: str) -> PersistentVolume | Status | None:
    """The volume of a claim; None when it waits for its first consumer; a status when the pod cannot go on."""
    if not claim_name:
        return unresolvable(CLAIM_WITHOUT_NAME)
    claim = objects.claims.get((namespace, claim_name))
    if claim is None:
        return unresolvable(claim_not_found(claim_name))
    if not claim.spec.volume_name:
        return _reject_unless_delayed(objects, claim)
    volume = objects.volumes.get(claim.spec.volume_name)
    return unresolvable(f'persistentvolume "{claim.spec.volume_name}" not found') if volume is None else volume


def _reject_unless_delayed(objects: Objects, claim: PersistentVolumeClaim) -> Status | None:
    class_name = class_of_claim(claim)
    if not class_name:
        return unresolvable(CLAIM_WITHOUT_CLASS)
    storage_class = objects.storage_classes.get(class_name)
    if storage_class is None:
        return unresolvable(f'storageclass.storage.k8s.io "{class_name}" not found')
    if storage_class.volume_binding_mode is None:
        return unresolvable(binding_mode_not_set(class_name))
    return None if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else unresolvable(VOLUME_WITHOUT_NAME)


def _topologies(volume: PersistentVolume) -> Iterator[VolumeTopology]:
    for key in TOPOLOGY_LABELS:
        value = volume.metadata.labels.get(key)
        if value is not None:
            zones = [zone.strip() for zone in value.split(ZONE_SEPARATOR)]
            if all(zones):  # As upstream: a label with an empty part does not parse and is ignored.
                yield VolumeTopology(key, frozenset(zones))


def _reaches(topology: VolumeTopology, columns: dict[str, LabelColumn], rows: Rows) -> BoolArray:
    """(rows,) nodes with one of the values, read from the label's present name where they lack the old one."""
    present = columns[CURRENT_LABELS.get(topology.key, topology.key)]
    own = columns[topology.key]
    reached: BoolArray = np.where(
        own.ids[rows] != ABSENT, _has_value(own, topology)[rows], _has_value(present, topology)[rows]
    )
    return reached


def _has_value(column: LabelColumn, topology: VolumeTopology) -> BoolArray:
    return column.where(topology.values.__contains__, absent=False)
