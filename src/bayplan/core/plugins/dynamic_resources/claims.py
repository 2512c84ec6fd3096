"""The resource claims of a pod: which they are, whether they may be used, and who they are kept for.

Claims are named in the pod's spec or, where they are made from a template, in its status. A claim that is missing, on
its way out or somebody else's is a `ClaimError` with upstream's words.
Upstream: dynamic-resource-allocation/resourceclaim/resourceclaim.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.columns.shapes import PodInfo
from bayplan.model.pod import PodResourceClaim
from bayplan.model.resource_claims import (
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    with_status,
)


class ClaimError(Exception):
    """Why the pod cannot be scheduled until something happens to its claims."""


def claims_of(pod: PodInfo) -> Iterator[ResourceClaim]:
    """The pod's claims in the order of its spec. Raises ClaimError."""
    if pod.claims is None:
        return
    for entry in pod.claims.entries:
        name, is_generated = claim_name(pod, entry)
        if name is None:
            continue  # nobody needed to make one
        claim = pod.claims.stored.get((pod.namespace, name))
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if is_generated and not is_owned_by(claim, pod):
            raise ClaimError(
                f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)"
            )
        yield claim


def claim_name(pod: PodInfo, entry: PodResourceClaim) -> tuple[str | None, bool]:
    """The name of the claim an entry stands for, and whether it was made for this pod. Raises ClaimError."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name, False
    if entry.resource_claim_template_name is None:
        fault = "none of the supported fields are set"
        raise ClaimError(f'pod "{pod.key}", spec.resourceClaim "{entry.name}": {fault}')
    assert pod.claims is not None
    for status in pod.claims.statuses:
        if status.name == entry.name:
            return status.resource_claim_name, True
    raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


def is_owned_by(claim: ResourceClaim, pod: PodInfo) -> bool:
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return owner is not None and owner.uid == pod.uid


def is_reserved_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


def reserved_for(claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
    """The claim as it is once the pod is among its users."""
    user = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
    return with_status(
        claim,
        ResourceClaimStatus(
            allocation=claim.status.allocation,
            reserved_for=[*claim.status.reserved_for, user],
            devices=claim.status.devices,
        ),
    )
