"""What claims and volumes must be like to be bound, and what they look like before and after.

Takes stored objects and gives new ones that share what stays the same; looks nothing up and writes nothing.
"""

from __future__ import annotations

from typing import TypeVar

from bayplan.controllers.ownership import object_reference
from bayplan.controllers.writes import with_metadata
from bayplan.core.plugins.volume_claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    class_of_claim,
    class_of_volume,
    nano_amount,
)
from bayplan.core.plugins.volume_matching import AVAILABLE, FILESYSTEM, is_bound_to
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.structs import replace

BOUND = "Bound"

ObjectT = TypeVar("ObjectT", PersistentVolume, PersistentVolumeClaim)


def is_free(volume: PersistentVolume) -> bool:
    """Whether any claim may have the volume."""
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == AVAILABLE
        and volume.metadata.deletion_timestamp is None
    )


def satisfies(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """What must hold even of a volume kept for the claim; its class need not be the claim's."""
    return (
        nano_amount(volume.spec.capacity) >= nano_amount(claim.spec.resources.requests)
        and set(claim.spec.access_modes).issubset(volume.spec.access_modes)
        and (volume.spec.volume_mode or FILESYSTEM) == (claim.spec.volume_mode or FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def may_bind_by_name(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether the claim gets the volume that it asks for by name."""
    if volume.spec.claim_ref is not None:
        return is_bound_to(volume, claim)
    return class_of_volume(volume) == class_of_claim(claim) and satisfies(claim, volume)


def bind_volume_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume with its side of the binding."""
    annotations = volume.metadata.annotations
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    bound = replace(volume, spec=replace(volume.spec, claim_ref=object_reference(claim)))
    return with_metadata(bound, annotations=annotations)


def unbind_volume(volume: PersistentVolume) -> PersistentVolume:
    """The volume without its claim."""
    return _without_annotation(replace(volume, spec=replace(volume.spec, claim_ref=None)), BOUND_BY_CONTROLLER)


def release_volume(volume: PersistentVolume) -> PersistentVolume:
    """The volume when its claim got another one; whoever made it for that claim by hand still finds it so."""
    reference = volume.spec.claim_ref
    if reference is None or BOUND_BY_CONTROLLER in volume.metadata.annotations:
        return unbind_volume(volume)
    return replace(volume, spec=replace(volume.spec, claim_ref=replace(reference, uid="")))


def bind_claim_to_volume(claim: PersistentVolumeClaim, volume_name: str) -> PersistentVolumeClaim:
    """The claim with its side of the binding."""
    annotations = dict(claim.metadata.annotations)
    if claim.spec.volume_name != volume_name:
        annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
    annotations.setdefault(BIND_COMPLETED, "yes")
    return with_metadata(replace(claim, spec=replace(claim.spec, volume_name=volume_name)), annotations=annotations)


def with_bound_status(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    """The claim with what its volume offers in its status."""
    status = replace(
        claim.status,
        phase=BOUND,
        access_modes=volume.spec.access_modes,
        capacity=volume.spec.capacity,
        current_volume_attributes_class_name=volume.spec.volume_attributes_class_name,
    )
    return replace(claim, status=status)


def with_unbound_status(claim: PersistentVolumeClaim, phase: str) -> PersistentVolumeClaim:
    """The claim with a status that says it has none, or none any more."""
    status = replace(claim.status, phase=phase, access_modes=[], capacity={}, current_volume_attributes_class_name=None)
    return replace(claim, status=status)


def without_selected_node(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    return _without_annotation(claim, SELECTED_NODE)


def _without_annotation(obj: ObjectT, name: str) -> ObjectT:
    return with_metadata(obj, annotations={key: text for key, text in obj.metadata.annotations.items() if key != name})
