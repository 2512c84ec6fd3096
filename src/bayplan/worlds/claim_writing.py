"""Resource claims written for the scheduler, as its PreBind, Unreserve and PostFilter do upstream.

Takes a claim as the scheduler means it to be and changes the stored one accordingly: finalizer first, then the status.
Refusals name the step, as upstream's do. Upstream: plugins/dynamicresources/dynamicresources.go bindClaim (v1.36).
"""

from __future__ import annotations

from bayplan.model.pod import Pod, PodExtendedResourceClaimStatus
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    EXTENDED_RESOURCE_ANNOTATION,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.store import ApiError, Store

#: Users a claim may have at most.
RESERVED_FOR_MAX = 256


def write(store: Store, wanted: ResourceClaim, pod: str, uid: str, now: int) -> None:
    """Give the claim its devices, if it has none yet, and the pod its place among the users. Raises ApiError."""
    meta = wanted.metadata
    label = f"{meta.namespace}/{meta.name}"
    stored = store.find(ResourceClaim, meta.namespace, meta.name)
    is_new = stored is None and meta.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
    if is_new:
        stored = store.create(replace(wanted, status=ResourceClaimStatus()), now)
    elif stored is None:
        stored = store.get(ResourceClaim, meta.namespace, meta.name)
    if stored.metadata.deletion_timestamp is not None:
        raise ApiError(f"claim {label} got deleted in the meantime")
    user = next(user for user in wanted.status.reserved_for if user.uid == uid)
    allocates = CLAIM_FINALIZER in meta.finalizers and wanted.status.allocation is not None
    if stored.status.allocation is None:
        if not allocates:
            raise ApiError(f"claim {label} got deallocated elsewhere in the meantime")
        _protect(store, stored, now)
    elif stored.status.allocation != _timeless(wanted, stored):
        raise ApiError(f"claim {label} got allocated elsewhere in the meantime")
    what = "add reservation" if stored.status.allocation is not None else "add allocation and reservation"
    try:
        store.modify_status(
            ResourceClaim, meta.namespace, meta.name, lambda claim: _reserved(claim, wanted, user, now), now
        )
    except ApiError as error:
        raise ApiError(f"{what} to claim {label}: {error}") from error
    if is_new:
        _tell_pod(store, pod, meta.name, now)


def _timeless(wanted: ResourceClaim, stored: ResourceClaim) -> object:
    """The allocation as meant, with the time at which the stored one was made."""
    allocation, known = wanted.status.allocation, stored.status.allocation
    if allocation is None or known is None:
        return allocation
    return replace(allocation, allocation_timestamp=known.allocation_timestamp)


def _protect(store: Store, claim: ResourceClaim, now: int) -> None:
    meta = claim.metadata
    if CLAIM_FINALIZER not in meta.finalizers:
        finalizers = [*meta.finalizers, CLAIM_FINALIZER]
        store.modify(
            ResourceClaim,
            meta.namespace,
            meta.name,
            lambda stored: replace(stored, metadata=replace(stored.metadata, finalizers=finalizers)),
            now,
        )


def _reserved(
    stored: ResourceClaim, wanted: ResourceClaim, user: ResourceClaimConsumerReference, now: int
) -> ResourceClaim:
    status = stored.status
    users = status.reserved_for
    if not any(known.uid == user.uid for known in users):
        users = [*users, user]
    if len(users) > RESERVED_FOR_MAX:
        fault = f"status.reservedFor: Too many: {len(users)}: must have at most {RESERVED_FOR_MAX} items"
        raise ApiError(f'ResourceClaim.resource.k8s.io "{stored.metadata.name}" is invalid: {fault}')
    allocation = status.allocation or wanted.status.allocation
    if allocation is not None and allocation.allocation_timestamp is None:
        allocation = replace(allocation, allocation_timestamp=format_time(now))
    return replace(stored, status=replace(status, allocation=allocation, reserved_for=users))


def _tell_pod(store: Store, pod: str, claim_name: str, now: int) -> None:
    namespace, name = pod.split("/")
    told = PodExtendedResourceClaimStatus(resource_claim_name=claim_name)
    store.modify_status(
        Pod,
        namespace,
        name,
        lambda stored: replace(stored, status=replace(stored.status, extended_resource_claim_status=told)),
        now,
    )


def release(store: Store, claim: str, uid: str, delete: bool, now: int) -> None:
    """Take the pod with that uid off the claim's users. Raises ApiError."""
    namespace, name = claim.split("/")
    stored = store.find(ResourceClaim, namespace, name)
    if stored is None:
        return
    if delete:
        finalizers = [finalizer for finalizer in stored.metadata.finalizers if finalizer != CLAIM_FINALIZER]
        store.modify(
            ResourceClaim,
            namespace,
            name,
            lambda known: replace(known, metadata=replace(known.metadata, finalizers=finalizers)),
            now,
        )
        store.delete(ResourceClaim, namespace, name, now)
        return
    users = [user for user in stored.status.reserved_for if user.uid != uid]
    if len(users) < len(stored.status.reserved_for):
        status = replace(stored.status, reserved_for=users)
        store.modify_status(ResourceClaim, namespace, name, lambda known: replace(known, status=status), now)


def deallocate(store: Store, claim: str, uid: str, now: int) -> None:
    """Take the claim's devices away, unless somebody else than that pod uses it by now. Raises ApiError."""
    namespace, name = claim.split("/")
    stored = store.find(ResourceClaim, namespace, name)
    if stored is not None and all(user.uid == uid for user in stored.status.reserved_for):
        store.modify_status(
            ResourceClaim, namespace, name, lambda known: replace(known, status=ResourceClaimStatus()), now
        )
