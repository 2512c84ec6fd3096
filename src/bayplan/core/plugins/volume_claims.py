"""What the volume plugins all need to know of claims: names, classes, owners, and how a missing one is reported.

Takes plain objects and gives plain values; looks nothing up and knows nothing of nodes.
Upstream: component-helpers/storage/ephemeral/ephemeral.go, component-helpers/storage/volume/helpers.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.snapshot import View
from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import parse_quantity, whole_value
from bayplan.model.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from bayplan.model.volumes import Volume
from bayplan.model.well_known import BETA_STORAGE_CLASS

CLAIM_WITHOUT_NAME = "PersistentVolumeClaim had no name"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
STORAGE = "storage"


class PodIdentity(NamedTuple):
    """Which pod it is: claims of ephemeral volumes are named after it and owned by it."""

    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, pod: PodInfo) -> PodIdentity:
        return cls(pod.namespace, pod.name, pod.uid)

    @classmethod
    def in_row(cls, view: View, pod_row: int) -> PodIdentity:
        namespace, _, name = view.pods.keys[pod_row].partition("/")
        return cls(namespace, name, view.pods.uids[pod_row])


class ClaimUse(NamedTuple):
    """A volume of a pod that stands for a claim."""

    claim_name: str
    is_ephemeral: bool


def claim_use(volume: Volume, pod_name: str) -> ClaimUse | None:
    """The claim behind a volume of this pod; None when there is none."""
    if volume.persistent_volume_claim is not None:
        return ClaimUse(volume.persistent_volume_claim.claim_name, is_ephemeral=False)
    if volume.ephemeral is not None:
        return ClaimUse(f"{pod_name}-{volume.name}", is_ephemeral=True)
    return None


def claim_uses(pod: PodInfo) -> Iterator[ClaimUse]:
    """The claims of a pod, one for each volume that has one, in the order of its volumes."""
    for volume in pod.spec.volumes:
        use = claim_use(volume, pod.name)
        if use is not None:
            yield use


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    annotated = claim.metadata.annotations.get(BETA_STORAGE_CLASS)
    return claim.spec.storage_class_name or "" if annotated is None else annotated


def class_of_volume(volume: PersistentVolume) -> str:
    return volume.metadata.annotations.get(BETA_STORAGE_CLASS, volume.spec.storage_class_name)


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_owned_by(claim: PersistentVolumeClaim, pod: PodIdentity) -> bool:
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return owner is not None and owner.uid == pod.uid and claim.metadata.namespace == pod.namespace


def nano_amount(quantities: dict[str, RawQuantity]) -> int:
    """The storage among the quantities, in nano units; 0 when it is not mentioned."""
    return parse_quantity(quantities.get(STORAGE, 0))


def largest_volume_bytes(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume that can be made there; None where the driver does not say."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if limit is None else whole_value(parse_quantity(limit))


def claim_not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def binding_mode_not_set(class_name: str) -> str:
    return f'VolumeBindingMode not set for StorageClass "{class_name}"'


def not_owner(claim: PersistentVolumeClaim, pod: PodIdentity) -> str:
    meta = claim.metadata
    return f"PVC {meta.namespace}/{meta.name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"
