"""What may help a pod that VolumeBinding has rejected.

Takes the pod and one changed storage object. Claims are known by name alone, so that their class, and hence the driver
that would make their volumes, is not known here: what would need it is left as upstream leaves it. The last three are
about what upstream sleeps through.
Upstream: plugins/volumebinding/volume_binding.go EventsToRegister (v1.36).
"""

from __future__ import annotations

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.core.plugins.volume_claims import claim_uses, largest_volume_bytes
from bayplan.model.storage import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolume, StorageClass


def after_class_change(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:  # noqa: ARG001
    """Any new class, or one that may make volumes elsewhere than before; nothing else of a class can change."""
    return old is None or old.allowed_topologies != new.allowed_topologies


def after_csi_node_change(pod: PodInfo, old: CSINode | None, new: CSINode) -> bool:  # noqa: ARG001
    """Any new one, or one whose kubelet leaves other disks to CSI than before."""
    if old is None:
        return True
    before, after = old.metadata.annotations, new.metadata.annotations
    return before.get(MIGRATED_PLUGINS_ANNOTATION, "") != after.get(MIGRATED_PLUGINS_ANNOTATION, "")


def after_driver_update(pod: PodInfo, old: CSIDriver, new: CSIDriver) -> bool:
    """A driver that no longer tells its capacity. As upstream: only for pods with an inline volume of that driver."""
    if not old.spec.storage_capacity or new.spec.storage_capacity:
        return False
    return any(volume.csi is not None and volume.csi.driver == new.metadata.name for volume in pod.spec.volumes)


def after_capacity_change(
    pod: PodInfo,  # noqa: ARG001
    old: CSIStorageCapacity | None,
    new: CSIStorageCapacity,
) -> bool:
    """Any new capacity, or one that allows larger volumes than before."""
    if old is None:
        return True
    before, after = largest_volume_bytes(old), largest_volume_bytes(new)
    return after is not None and (before is None or after > before)


def after_kept_volume_deleted(pod: PodInfo, old: PersistentVolume, new: None) -> bool:  # noqa: ARG001
    """A volume, perhaps out of reach, was kept for a claim of the pod, which may now have another."""
    kept_for = old.spec.claim_ref
    return (
        kept_for is not None
        and kept_for.namespace == pod.namespace
        and any(use.claim_name == kept_for.name for use in claim_uses(pod))
    )


def after_capacity_untold(pod: PodInfo, old: CSIDriver, new: CSIDriver) -> bool:  # noqa: ARG001
    """A driver, which may be the one behind a claim of the pod, no longer tells its capacity."""
    return bool(old.spec.storage_capacity) and not new.spec.storage_capacity


def after_capacity_moved(pod: PodInfo, old: CSIStorageCapacity, new: CSIStorageCapacity) -> bool:  # noqa: ARG001
    """The capacity is now that of other nodes, or of another class."""
    return old.node_topology != new.node_topology or old.storage_class_name != new.storage_class_name
