"""The resource claims of a pod: which they are, whether they may be used, and who they are kept for.

Claims are named in the pod's spec or, where they are made from a template, in its status. A claim that is missing, on
its way out or somebody else's is a `ClaimError` with upstream's words.
Upstream: dynamic-resource-allocation/resourceclaim/resourceclaim.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.columns.shapes import PodInfo
from bayplan.model.groups import POD_GROUPS, SCHEDULING_GROUP, PodGroup
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
        if is_generated and not _is_made_for(claim, pod):
            owners = "Pod is not owner"
            if takes_group_claims(pod):
                owners = f"neither Pod nor PodGroup {_group_name(pod)} is the owner"
            raise ClaimError(f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} ({owners})")
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


def takes_group_claims(pod: PodInfo) -> bool:
    """Whether claims of its PodGroup are the pod's, too."""
    return bool(pod.group) and pod.claims is not None and pod.claims.inventory.gates.dra_workload_resource_claims


def _group_name(pod: PodInfo) -> str:
    return pod.group.partition("/")[2]


def _is_made_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    """For the pod itself or, as pods do not know its uid, a group of that name."""
    if is_owned_by(claim, pod):
        return True
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    if owner is None or not takes_group_claims(pod):
        return False
    of_group = owner.kind == PodGroup.__name__ and owner.api_version.startswith(f"{SCHEDULING_GROUP}/")
    return of_group and owner.name == _group_name(pod)


def is_reserved_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    by_group = takes_group_claims(pod)
    return any(
        user.uid == pod.uid or (by_group and is_group(user) and user.name == _group_name(pod))
        for user in claim.status.reserved_for
    )


def is_group(user: ResourceClaimConsumerReference) -> bool:
    return user.api_group == SCHEDULING_GROUP and user.resource == POD_GROUPS


def user_of(claim: ResourceClaim, pod: PodInfo, group: PodGroup | None) -> ResourceClaimConsumerReference:
    """Who is to be named as the claim's user: the pod's group if the claim is one of the group's."""
    if group is not None and takes_group_claims(pod) and pod.claims is not None:
        for entry in pod.claims.entries:
            if claim_name(pod, entry)[0] == claim.metadata.name and _is_of_group(entry, group):
                meta = group.metadata
                return ResourceClaimConsumerReference(
                    api_group=SCHEDULING_GROUP, resource=POD_GROUPS, name=meta.name, uid=meta.uid
                )
    return ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def _is_of_group(entry: PodResourceClaim, group: PodGroup) -> bool:
    """Whether the group has a claim of that name from the same source."""
    return any(
        (each.name, each.resource_claim_name, each.resource_claim_template_name)
        == (entry.name, entry.resource_claim_name, entry.resource_claim_template_name)
        for each in group.spec.resource_claims
    )


def reserved_for(claim: ResourceClaim, user: ResourceClaimConsumerReference) -> ResourceClaim:
    """The claim as it is with one more user."""
    return with_status(
        claim,
        ResourceClaimStatus(
            allocation=claim.status.allocation,
            reserved_for=[*claim.status.reserved_for, user],
            devices=claim.status.devices,
        ),
    )
