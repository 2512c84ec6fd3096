"""VolumeRestrictions: disks and claims that only one pod may use.

Takes the pod's inline disks and its claims with ReadWriteOncePod; gives two counts for each node: pods there whose
disks clash with the pod's, and uses of its claims by other pods. The second is one number for the whole cluster until
a what-if view moves pods, after which each node has its own.

Clashes are decided once for each pod shape, not for each pod. Shapes with inline disks are found by looking through
all shapes, and their pods by one array operation over the pod table; only a pod that itself has an inline disk pays
for that, and such pods are rare.
Upstream: plugins/volumerestrictions/volume_restrictions.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from bayplan.core.columns import ABSENT, IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo, PodShape
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.requeue_rules import after_named_claim, on
from bayplan.core.plugins.volume_claims import claim_not_found
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.volumes import Volume

DISK_CONFLICT = "node(s) had no available disk"
CLAIM_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
STATE_MISSING = 'cannot read "PreFilterVolumeRestrictions" from cycleState'
READ_WRITE_ONCE_POD = "ReadWriteOncePod"

CODE_DISK = 1
CODE_CLAIM = 2


@dataclass(slots=True)
class RestrictionState:
    """What the pod wants for itself, and who is in the way."""

    disks: tuple[Volume, ...]
    exclusive_claims: frozenset[str]  # names, as upstream does not compare namespaces when pods come and go
    disk_users: IntArray  # (nodes,) pods whose disks clash
    claim_users: IntArray  # (nodes,) uses of exclusive claims, as each node's world sees them
    is_prepared: bool = True


class VolumeRestrictions:
    """Filters nodes where a disk, or a claim anywhere, is taken."""

    name: ClassVar[str] = "VolumeRestrictions"
    looks_up: ClassVar[frozenset[str]] = frozenset({"PersistentVolumeClaim"})
    reads: ClassVar[Reads] = Reads.USAGE | Reads.CLUSTER

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.spec.volumes)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        exclusive = set()
        for claim_name in pod.shape.claim_names:
            claim = view.objects.claims.get((pod.namespace, claim_name))
            if claim is None:
                return unresolvable(claim_not_found(claim_name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(claim_name)
        disks = _inline_disks(pod.shape)
        conflicts = sum(_is_in_use(view, pod.namespace, claim_name) for claim_name in exclusive)
        if not disks and not conflicts:
            return SKIP
        claim_users = np.full(view.nodes.count, conflicts, dtype=np.int64)
        return Ready(RestrictionState(disks, frozenset(exclusive), _disk_users(view, disks), claim_users))

    def unprepared(self, pod: PodInfo, view: View) -> RestrictionState:
        """Upstream looks at disks without any state, and misses it only where they do not clash."""
        disks, no_users = _inline_disks(pod.shape), np.zeros(view.nodes.count, dtype=np.int64)
        return RestrictionState(disks, frozenset(), _disk_users(view, disks), no_users, is_prepared=False)

    def filter(self, state: RestrictionState, view: View, rows: Rows) -> IntArray:  # noqa: ARG002
        if not state.is_prepared and not (state.disk_users[rows] > 0).all():
            raise CycleError(self.name, STATE_MISSING)
        claimed = np.where(state.claim_users[rows] > 0, CODE_CLAIM, 0)
        return np.where(state.disk_users[rows] > 0, CODE_DISK, claimed)

    def explain_failure(self, state: RestrictionState, view: View, code: int) -> Status:  # noqa: ARG002
        return unschedulable(DISK_CONFLICT if code == CODE_DISK else CLAIM_IN_USE)

    def fork(self, state: RestrictionState, view: View) -> RestrictionState:  # noqa: ARG002
        return replace(state, disk_users=state.disk_users.copy(), claim_users=state.claim_users.copy())

    def shift(self, state: RestrictionState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        shape_ids, members = np.unique(view.pods.shape_ids[pod_rows], return_inverse=True)
        shapes = [view.shapes[shape_id] for shape_id in shape_ids]
        clashes = np.array([shape_clashes(state.disks, shape) for shape in shapes], dtype=np.int64)
        uses = np.array([_uses(state.exclusive_claims, shape) for shape in shapes], dtype=np.int64)
        np.add.at(state.disk_users, node_rows, sign * clashes[members])
        np.add.at(state.claim_users, node_rows, sign * uses[members])

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.POD, ActionType.DELETE, after_pod_deleted),
            on(EventResource.NODE, ActionType.ADD),
            on(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_named_claim),
        )

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.POD, ActionType.DELETE, after_disk_freed),
            on(EventResource.NODE, ActionType.DELETE, after_node_deleted),
        )


def after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Hint: the pod that went had a disk that clashes, or a claim that this one names, whatever its access mode.

    As upstream: only in the pod's own namespace, although disks clash across namespaces.
    """
    if old.metadata.namespace != pod.namespace:
        return False
    freed = old.spec.volumes
    if any(disks_clash(disk, volume) for disk in _inline_disks(pod.shape) for volume in freed):
        return True
    claims = (volume.persistent_volume_claim for volume in freed)
    return any(claim is not None and claim.claim_name in pod.shape.claim_names for claim in claims)


def after_disk_freed(pod: PodInfo, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Hint upstream lacks: the pod that went had a disk that clashes, in whatever namespace."""
    return any(disks_clash(disk, volume) for disk in _inline_disks(pod.shape) for volume in old.spec.volumes)


def after_node_deleted(pod: PodInfo, old: Node, new: None) -> bool:  # noqa: ARG001
    """Hint upstream lacks: pods that are left on a node that is gone no longer use their claims."""
    return bool(pod.shape.claim_names)


def shape_clashes(disks: Sequence[Volume], shape: PodShape) -> bool:
    """Whether some volume of a pod of this shape clashes with one of the disks."""
    return any(disks_clash(disk, volume) for disk in disks for volume in shape.spec.volumes)


def disks_clash(volume: Volume, other: Volume) -> bool:
    """Whether two pods on one node may not have these disks both."""
    return any(clash(volume, other) for clash in (_gce_clash, _aws_clash, _iscsi_clash, _rbd_clash))


def _gce_clash(volume: Volume, other: Volume) -> bool:
    a, b = volume.gce_persistent_disk, other.gce_persistent_disk
    return a is not None and b is not None and a.pd_name == b.pd_name and not (a.read_only and b.read_only)


def _aws_clash(volume: Volume, other: Volume) -> bool:
    a, b = volume.aws_elastic_block_store, other.aws_elastic_block_store
    return a is not None and b is not None and a.volume_id == b.volume_id


def _iscsi_clash(volume: Volume, other: Volume) -> bool:
    a, b = volume.iscsi, other.iscsi
    return a is not None and b is not None and a.iqn == b.iqn and not (a.read_only and b.read_only)


def _rbd_clash(volume: Volume, other: Volume) -> bool:
    a, b = volume.rbd, other.rbd
    if a is None or b is None or (a.read_only and b.read_only):
        return False
    return a.pool == b.pool and a.image == b.image and not set(a.monitors).isdisjoint(b.monitors)


def _inline_disks(shape: PodShape) -> tuple[Volume, ...]:
    return tuple(
        volume
        for volume in shape.spec.volumes
        if volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.rbd or volume.iscsi
    )


def _is_in_use(view: View, namespace: str, claim_name: str) -> bool:
    # Upstream counts a claim once, however many pods use it: there should be one at most.
    return any(view.nodes.alive[row] for row in view.pods.volume_users.rows_using(namespace, claim_name))


def _disk_users(view: View, disks: Sequence[Volume]) -> IntArray:
    node_count = view.nodes.count
    if not disks:
        return np.zeros(node_count, dtype=np.int64)
    clashes = np.zeros(len(view.shapes) + 1, dtype=np.bool_)  # the last entry answers for shape id -1, a free row
    clashes[[shape.id for shape in view.shapes if shape_clashes(disks, shape)]] = True
    pods = view.pods
    running = clashes[pods.shape_ids] & (pods.node_rows != ABSENT)
    return np.bincount(pods.node_rows[running], minlength=node_count).astype(np.int64)


def _uses(exclusive_claims: frozenset[str], shape: PodShape) -> int:
    return sum(name in exclusive_claims for name in shape.claim_names)
