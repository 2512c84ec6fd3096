"""NodeVolumeLimits: a CSI driver attaches no more volumes to a node than the node's CSINode says.

Takes the pod's volumes as (driver, handle) and the limits of those drivers; gives the nodes where the volumes would
be too many. A bound on what is attached, kept for each node and shifted in what-if views, clears most nodes at
once; only nodes that the bound cannot clear are counted volume by volume, in a loop, because handles are text and
volumes are shared. The limits and the VolumeAttachments are read in a loop over their objects, once for a pod with
such volumes. A running pod's volumes that cannot be counted end the attempt, on any node with a limit for any driver.
With the gate VolumeLimitScaling a driver that the node lacks is a reason, too, if the driver says that it is one.
Upstream: plugins/nodevolumelimits/csi.go (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.columns.volume_users import attachable_count, is_doubtful
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.csi_migration import (
    DRIVERS,
    UNTRANSLATED_PLUGINS,
    Disk,
    TranslationError,
    inline_disk,
    volume_disk,
)
from bayplan.core.plugins.node_volume_limits_hints import (
    after_attachment_deleted,
    after_claim_rebound,
    after_csi_node_update,
    after_driver_dispensable,
    after_driver_installed,
    after_limit_lifted,
    after_pod_deleted,
    after_volumes_shared,
)
from bayplan.core.plugins.requeue_rules import after_own_claim, on
from bayplan.core.plugins.volume_claims import (
    CLAIM_WITHOUT_NAME,
    PodIdentity,
    claim_not_found,
    claim_use,
    class_of_claim,
    is_owned_by,
    not_owner,
)
from bayplan.core.snapshot import Objects, View
from bayplan.model.storage import PersistentVolumeClaim, VolumeAttachment
from bayplan.model.volumes import Volume

NAME = "NodeVolumeLimits"
EXCEEDED = "node(s) exceed max volume count"

CODE_EXCEEDED = 1
CODE_CLAIM_MISSING = 2
CODE_DRIVER_MISSING = 3  # and more: one for each of the drivers that say so

NO_LIMIT = np.iinfo(np.int64).max

_NOTHING_MOVED: Counter[int] = Counter()

#: Volumes by the name upstream compares, `driver/handle`, each with its driver.
Attached = dict[str, str]


class _ClaimMissing(Exception):  # noqa: N818 - it says what is missing, and never leaves this module
    """The new pod names a claim that does not exist."""


class _InlineDiskError(CycleError):
    """A pod's own disk that its driver could not be told about."""


@dataclass(slots=True)
class LimitState:
    """The pod's volumes and what stands on each node."""

    volumes: Attached = field(default_factory=dict)
    required: tuple[tuple[str, BoolArray], ...] = ()  # drivers that say so, and (nodes,) nodes that lack them
    missing: str = ""  # the claim that does not exist, in words; fails every node
    fault: CycleError | None = None  # why the volumes cannot be counted; ends the attempt where they must be
    limits: dict[str, IntArray] = field(default_factory=dict)  # driver -> (nodes,)
    doubtful: set[int] = field(default_factory=set)  # rows of nodes with limits, to be counted whatever the bound says
    at_most: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (nodes,) bound on attached
    attachments: dict[int, Attached] = field(default_factory=dict)  # by node row
    moved: dict[int, Counter[int]] = field(default_factory=dict)  # node row -> pod row -> came minus left
    resolved: dict[int, Attached] = field(default_factory=dict)  # by pod row; the same in every what-if


class NodeVolumeLimits:
    """Filters nodes by how many volumes each driver may attach there."""

    name: ClassVar[str] = NAME
    looks_up: ClassVar[frozenset[str]] = frozenset(
        {"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment"}
    )
    reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE | Reads.CLUSTER

    def __init__(self, gates: FeatureGates) -> None:
        self._needs_drivers = gates.volume_limit_scaling

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.spec.volumes)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        if not attachable_count(pod.spec):
            return SKIP
        state = LimitState()
        try:
            state.volumes = _volumes_of(view.objects, PodIdentity.of(pod), pod.spec.volumes, is_new=True)
        except _ClaimMissing as problem:
            state.missing = str(problem)
        except CycleError as problem:
            state.fault = problem
        if state.volumes:
            drivers = frozenset(state.volumes.values())
            state.limits = _limits(view, drivers)
            if self._needs_drivers:
                state.required = _required(view, pod, drivers)
            state.doubtful = {row for row in view.pods.volume_users.doubtful if _has_limits(view, row)}
            if state.limits:
                state.attachments = _attachments(view, drivers)
                state.at_most = _bound(view, state.attachments)
        return Ready(state)

    def unprepared(self, pod: PodInfo, view: View) -> LimitState | Skip:
        """Upstream's PreFilter leaves nothing; it only finds out whether there is anything to do."""
        outcome = self.pre_filter(pod, view)
        return outcome.state if isinstance(outcome, Ready) else SKIP

    def filter(self, state: LimitState, view: View, rows: Rows) -> IntArray:
        codes = np.zeros(view.nodes.count, dtype=np.int64)[rows]
        for code, (_, lacking) in enumerate(state.required, CODE_DRIVER_MISSING):
            codes[lacking[rows] & (codes == 0)] = code
        if state.missing:
            codes[:] = CODE_CLAIM_MISSING
        elif state.fault is not None:
            _raise_where_counted(state.fault, view, rows)
        elif state.limits or state.doubtful:
            looked_at = np.arange(view.nodes.count)[rows]
            uncertain = _uncertain(state, looked_at)
            for position in np.flatnonzero(uncertain & view.nodes.alive[rows] & (codes == 0)):
                if _exceeds(state, view, int(looked_at[position])):
                    codes[position] = CODE_EXCEEDED
        return codes

    def explain_failure(self, state: LimitState, view: View, code: int) -> Status:  # noqa: ARG002
        if code >= CODE_DRIVER_MISSING:
            driver, _ = state.required[code - CODE_DRIVER_MISSING]
            return unschedulable(f"{driver} CSI driver is not installed on the node")
        return unschedulable(EXCEEDED) if code == CODE_EXCEEDED else unresolvable(state.missing)

    def fork(self, state: LimitState, view: View) -> LimitState:  # noqa: ARG002
        moved = {row: Counter(pods) for row, pods in state.moved.items()}
        return replace(state, at_most=state.at_most.copy(), moved=moved, doubtful=set(state.doubtful))

    def shift(self, state: LimitState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        if not state.volumes:
            return
        counts = view.pods.attachable_volumes[pod_rows]
        with_volumes = np.flatnonzero(counts)
        if state.limits:
            np.add.at(state.at_most, node_rows[with_volumes], sign * counts[with_volumes])
        moves = zip(node_rows[with_volumes].tolist(), pod_rows[with_volumes].tolist(), strict=True)
        for node_row, pod_row in moves:
            state.moved.setdefault(node_row, Counter())[pod_row] += sign
            if sign > 0 and is_doubtful(view.shape(pod_row).spec) and _has_limits(view, node_row):
                state.doubtful.add(node_row)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.CSI_NODE, ActionType.ADD),
            on(EventResource.CSI_NODE, ActionType.UPDATE, after_csi_node_update),
            on(EventResource.POD, ActionType.DELETE, after_pod_deleted),
            on(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_own_claim),
            on(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, after_attachment_deleted),
        )

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        about_drivers = (
            on(EventResource.CSI_NODE, ActionType.UPDATE, after_driver_installed),
            on(EventResource.CSI_DRIVER, ActionType.UPDATE | ActionType.DELETE, after_driver_dispensable),
        )
        return (
            *(about_drivers if self._needs_drivers else ()),
            on(EventResource.NODE, ActionType.ADD),
            on(EventResource.CSI_NODE, ActionType.UPDATE, after_limit_lifted),
            on(EventResource.CSI_NODE, ActionType.DELETE),
            on(EventResource.POD, ActionType.ADD, after_volumes_shared),
            on(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE, after_claim_rebound),
            # What a claim or volume that is gone stood for no longer counts, or counts for another driver.
            on(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.DELETE),
            on(EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.DELETE),
            on(EventResource.STORAGE_CLASS, ActionType.DELETE),
            on(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE),
        )


def _limits(view: View, drivers: frozenset[str]) -> dict[str, IntArray]:
    """driver -> (nodes,) how many volumes each node takes; drivers without a limit anywhere are left out."""
    limits: dict[str, IntArray] = {}
    rows_by_name = view.nodes.rows_by_name
    for name, csi_node in view.objects.csi_nodes.items():
        row = rows_by_name.get(name)
        if row is None:
            continue
        for driver in csi_node.spec.drivers:
            if driver.name in drivers and driver.allocatable is not None and driver.allocatable.count is not None:
                column = limits.setdefault(driver.name, np.full(view.nodes.count, NO_LIMIT, dtype=np.int64))
                column[row] = driver.allocatable.count
    return limits


def _required(view: View, pod: PodInfo, drivers: frozenset[str]) -> tuple[tuple[str, BoolArray], ...]:
    """Drivers without which a node is no good; of several that a node lacks the first by name is reported."""
    known, csi_nodes = view.objects.csi_drivers, view.objects.csi_nodes
    required = [
        name for name in sorted(drivers) if name in known and known[name].spec.prevent_pod_scheduling_if_missing
    ]
    if not required:
        return ()
    migrates = view.nodes.named(csi_nodes)
    # Without a CSINode a disk of the old kinds is not left to a driver.
    native = frozenset(
        _volumes_of(view.objects, PodIdentity.of(pod), pod.spec.volumes, is_new=True, migrates=False).values()
    )
    having = {
        driver: view.nodes.named(
            name for name, it in csi_nodes.items() if any(each.name == driver for each in it.spec.drivers)
        )
        for driver in required
    }
    return tuple((driver, ~having[driver] & (migrates | (driver in native))) for driver in required)


def _has_limits(view: View, row: int) -> bool:
    """Whether the node says of any driver how many volumes it takes."""
    csi_node = view.objects.csi_nodes.get(view.nodes.names[row])
    return csi_node is not None and any(
        driver.allocatable is not None and driver.allocatable.count is not None for driver in csi_node.spec.drivers
    )


def _attachments(view: View, drivers: frozenset[str]) -> dict[int, Attached]:
    """By node row, what the VolumeAttachments of these drivers say."""
    attachments: dict[int, Attached] = {}
    for attachment in view.objects.attachments.values():
        row = view.nodes.rows_by_name.get(attachment.spec.node_name)
        disk = _attached_disk(view.objects, attachment)
        if row is not None and disk is not None and disk.driver in drivers:
            attachments.setdefault(row, {})[_unique_name(disk)] = disk.driver
    return attachments


def _attached_disk(objects: Objects, attachment: VolumeAttachment) -> Disk | None:
    attacher, volume_name = attachment.spec.attacher, attachment.spec.source.persistent_volume_name
    if not attacher or volume_name is None:
        return None
    volume = objects.volumes.get(volume_name)
    if volume is None or volume.spec.csi is None:
        return None
    return Disk(attacher, volume.spec.csi.volume_handle)


def _bound(view: View, attachments: dict[int, Attached]) -> IntArray:
    """(nodes,) at least as many as the volumes attached there by any one driver."""
    bound = np.zeros(view.nodes.count, dtype=np.int64)
    on_nodes = view.pods.volume_users.attachable
    bound[list(on_nodes.keys())] = list(on_nodes.values())
    for row, attached in attachments.items():
        bound[row] += len(attached)
    return bound


def _uncertain(state: LimitState, rows: RowArray) -> BoolArray:
    """(rows,) nodes that the bound cannot clear, and those that have to be counted anyway."""
    wanted = Counter(state.volumes.values())
    uncertain = np.isin(rows, list(state.doubtful)) if state.doubtful else np.zeros(len(rows), dtype=np.bool_)
    at_most = state.at_most[rows] if state.limits else 0
    for driver, limits in state.limits.items():
        uncertain |= at_most > limits[rows] - wanted[driver]
    return uncertain


def _exceeds(state: LimitState, view: View, row: int) -> bool:
    attached: Attached = {}
    for pod_row in _pods_on(state, view, row):
        attached.update(_resolved(state, view, pod_row))
    counts = Counter(attached.values())
    counts.update(driver for name, driver in state.attachments.get(row, {}).items() if name not in attached)
    new = Counter(driver for name, driver in state.volumes.items() if name not in attached)
    return any(
        counts[driver] + count > state.limits[driver][row] for driver, count in new.items() if driver in state.limits
    )


def _pods_on(state: LimitState, view: View, row: int) -> list[int]:
    moved = state.moved.get(row, _NOTHING_MOVED)
    stayed = [pod_row for pod_row in view.nodes.pod_rows[row] if moved[pod_row] >= 0]
    return stayed + [pod_row for pod_row, change in moved.items() if change > 0]


def _resolved(state: LimitState, view: View, pod_row: int) -> Attached:
    volumes = state.resolved.get(pod_row)
    if volumes is None:
        volumes = {}
        if view.pods.attachable_volumes[pod_row]:
            pod = PodIdentity.in_row(view, pod_row)
            volumes = _volumes_of(view.objects, pod, view.shape(pod_row).spec.volumes, is_new=False)
        state.resolved[pod_row] = volumes
    return volumes


def _raise_where_counted(fault: CycleError, view: View, rows: Rows) -> None:
    alive_rows = np.arange(view.nodes.count)[rows][view.nodes.alive[rows]]
    if isinstance(fault, _InlineDiskError):
        # Without a CSINode nothing counts as migrated, so there the faulty disk is not even looked at.
        counted = any(view.nodes.names[row] in view.objects.csi_nodes for row in alive_rows)
    else:
        counted = len(alive_rows) > 0
    if counted:
        raise fault


def _volumes_of(
    objects: Objects, pod: PodIdentity, volumes: Sequence[Volume], *, is_new: bool, migrates: bool = True
) -> Attached:
    """What the pod needs attached, on a node that `migrates` old kinds of disks: one with a CSINode.

    Raises CycleError, for a new pod _ClaimMissing.
    """
    attached: Attached = {}
    for volume in volumes:
        use = claim_use(volume, pod.name)
        if use is None:
            disk = _inline(volume) if migrates else None
        else:
            if not use.claim_name:
                raise CycleError(NAME, CLAIM_WITHOUT_NAME)
            claim = objects.claims.get((pod.namespace, use.claim_name))
            if claim is None:
                if is_new:
                    where = f"looking up PVC {pod.namespace}/{use.claim_name}"
                    raise _ClaimMissing(f"{where}: {claim_not_found(use.claim_name)}")
                continue
            if use.is_ephemeral and not is_owned_by(claim, pod):
                raise CycleError(NAME, not_owner(claim, pod))
            disk = _disk_of_claim(objects, claim, migrates=migrates)
        if disk is not None:
            attached[_unique_name(disk)] = disk.driver
    return attached


def _inline(volume: Volume) -> Disk | None:
    try:
        return inline_disk(volume)
    except TranslationError as problem:
        raise _InlineDiskError(NAME, f"converting volume({volume.name}) from inline to csi: {problem}") from problem


def _disk_of_claim(objects: Objects, claim: PersistentVolumeClaim, *, migrates: bool) -> Disk | None:
    volume = objects.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is None:
        return _disk_to_be(objects, claim, migrates=migrates)
    if volume.spec.csi is None and not migrates:
        return None
    try:
        disk = volume_disk(volume)
    except TranslationError:
        return None
    return disk if disk is not None and disk.driver and disk.handle else None


def _disk_to_be(objects: Objects, claim: PersistentVolumeClaim, *, migrates: bool) -> Disk | None:
    """What the class's provisioner will make of the claim, under a handle that no real disk has."""
    storage_class = objects.storage_classes.get(class_of_claim(claim))
    if storage_class is None or storage_class.provisioner in UNTRANSLATED_PLUGINS:
        return None
    if storage_class.provisioner in DRIVERS and not migrates:
        return None
    driver = DRIVERS.get(storage_class.provisioner, storage_class.provisioner)
    handle = f"\0unbound-{claim.metadata.namespace}/{claim.metadata.name}"
    return Disk(driver, handle) if driver else None


def _unique_name(disk: Disk) -> str:
    return f"{disk.driver}/{disk.handle}"
