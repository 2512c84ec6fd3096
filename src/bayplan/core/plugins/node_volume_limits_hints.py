"""What may help a pod that NodeVolumeLimits has rejected.

Takes the pod and one changed object. Which driver stands behind a claim is not known here, so that any volume of a
claim counts as one that may need attaching. From `after_limit_lifted` on they are about what
upstream sleeps through.
Upstream: plugins/nodevolumelimits/csi.go isSchedulableAfterPodDeleted and its like (v1.36).
"""

from __future__ import annotations

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.columns.volume_users import attachable_count
from bayplan.core.plugins.csi_migration import TranslationError, inline_disk
from bayplan.core.plugins.requeue_rules import has_place
from bayplan.core.plugins.volume_claims import class_of_claim
from bayplan.model.pod import Pod
from bayplan.model.storage import CSIDriver, CSINode, CSINodeDriver, PersistentVolumeClaim, VolumeAttachment
from bayplan.model.volumes import Volume

# Disks that could be translated but never count against a limit; upstream's hints take note of them all the same.
VSPHERE_DRIVER = "csi.vsphere.vmware.com"
AZURE_FILE_DRIVER = "file.csi.azure.com"


def after_csi_node_update(pod: PodInfo, old: CSINode, new: CSINode) -> bool:  # noqa: ARG001
    """Some driver may attach more than before. As upstream: a limit that is gone counts as 0, not as endless."""
    before = _limits(old)
    return any(limit > before.get(driver, 0) for driver, limit in _limits(new).items())


def after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> bool:  # noqa: ARG001
    """The pod that went had volumes that may have been attached, on its node or on the one kept for it."""
    if not has_place(old):
        return False
    return attachable_count(old.spec) > 0 or any(_untranslated_driver(volume) for volume in old.spec.volumes)


def after_attachment_deleted(pod: PodInfo, old: VolumeAttachment, new: None) -> bool:  # noqa: ARG001
    """The pod names a claim, or has a disk of its own that the driver of this attachment has taken over.

    As upstream: generic ephemeral volumes are not looked at.
    """
    attacher = old.spec.attacher
    return bool(pod.shape.claim_names) or any(_may_use_driver(volume, attacher) for volume in pod.spec.volumes)


def after_limit_lifted(pod: PodInfo, old: CSINode, new: CSINode) -> bool:  # noqa: ARG001
    """Some driver had a limit and has none any more."""
    limited = {driver.name for driver in new.spec.drivers if _has_limit(driver)}
    return any(_has_limit(driver) and driver.name not in limited for driver in old.spec.drivers)


def after_driver_installed(pod: PodInfo, old: CSINode, new: CSINode) -> bool:  # noqa: ARG001
    """The node has a driver that it lacked, perhaps without a limit. Matters where a missing driver is a reason."""
    return not {driver.name for driver in new.spec.drivers} <= {driver.name for driver in old.spec.drivers}


def after_driver_dispensable(pod: PodInfo, old: CSIDriver, new: CSIDriver | None) -> bool:  # noqa: ARG001
    """A driver that nodes had to have need not be there any more."""
    still_needed = new is not None and new.spec.prevent_pod_scheduling_if_missing
    return bool(old.spec.prevent_pod_scheduling_if_missing) and not still_needed


def after_volumes_shared(pod: PodInfo, old: None, new: Pod) -> bool:  # noqa: ARG001
    """A pod came with volumes that this one may share, so that they need no attaching where it is."""
    return attachable_count(new.spec) > 0


def after_claim_rebound(pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:  # noqa: ARG001
    """A claim, of this pod or a running one, stands for another volume, which may be attached already or never is."""
    if old is None:
        return bool(new.spec.volume_name)
    return old.spec.volume_name != new.spec.volume_name or class_of_claim(old) != class_of_claim(new)


def _has_limit(driver: CSINodeDriver) -> bool:
    return driver.allocatable is not None and driver.allocatable.count is not None


def _limits(csi_node: CSINode) -> dict[str, int]:
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in csi_node.spec.drivers
    }


def _may_use_driver(volume: Volume, driver: str) -> bool:
    try:
        disk = inline_disk(volume)
    except TranslationError:
        return True  # As upstream: a hint that fails means that an attempt is worth it.
    known = disk.driver if disk is not None else _untranslated_driver(volume)
    return known == driver


def _untranslated_driver(volume: Volume) -> str | None:
    if volume.vsphere_volume is not None:
        return VSPHERE_DRIVER
    return AZURE_FILE_DRIVER if volume.azure_file is not None else None
