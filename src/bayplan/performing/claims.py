"""Resource claims written for a pod: devices and users added, taken back, and claims for extended resources made.

Takes a claim as the scheduler means it to be and changes the stored one accordingly: finalizer first, then the status.
A conflict is nothing to worry about: the claim is read again and it is seen whether it still will do. Refusals name the
step, as upstream's do. Upstream: plugins/dynamicresources/dynamicresources.go bindClaim, Unreserve, PostFilter (v1.36).
"""

from __future__ import annotations

from typing import Final

from bayplan.core.actions import DeallocateClaim, ReleaseClaim, WriteVolumes
from bayplan.model.groups import POD_GROUPS
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, PodExtendedResourceClaimStatus
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    ResourceClaim,
    ResourceClaimStatus,
)
from bayplan.model.structs import replace
from bayplan.model.time_units import MILLISECOND
from bayplan.model.timestamps import format_time
from bayplan.performing.extended_claims import request_mappings
from bayplan.performing.requests import (
    CONFLICT,
    NOT_FOUND,
    Delete,
    Get,
    Known,
    PatchStatus,
    Pause,
    Post,
    Put,
    RefusedError,
    RemoveUser,
    Request,
    Steps,
    find,
)

_KIND: Final = "ResourceClaim"
#: Tries after conflicts, and the pause between them. Upstream: client-go/util/retry DefaultRetry (v1.36).
_TRIES: Final = 5
_PAUSE: Final = Pause(10 * MILLISECOND)


def write_claim(wanted: ResourceClaim, action: WriteVolumes, known: Known, now: int) -> Steps[ResourceClaim]:
    """Give the claim its devices, if it has none yet, and the pod its place among the users; the claim then."""
    key = object_key(wanted)
    is_own = wanted.is_for_extended_resources
    stored: ResourceClaim | None = (yield from _find_claim(key)) if is_own else (yield Get(_KIND, key))
    if stored is None:
        created = replace(wanted.metadata, finalizers=[], resource_version="", uid="")
        made = Post(ResourceClaim(metadata=created, spec=wanted.spec))
        stored = yield from _in_step(f"create claim for extended resources {key}: ", made)
    for tries in range(_TRIES):
        assert stored is not None
        try:
            stored = yield from _reserve(stored, wanted, action.uid, now)
            break
        except RefusedError as error:
            if error.status != CONFLICT or tries == _TRIES - 1:
                raise
        yield _PAUSE
        stored = yield Get(_KIND, key)
    if is_own:
        yield from _tell_pod(action.pod, wanted, known)
    assert stored is not None
    return stored


def release(action: ReleaseClaim, known: Known) -> Steps[None]:
    """Take the pod off the claim's users, or delete a claim that was made for it alone."""
    if action.delete:
        yield from _delete(action.claim)
        return
    claim = known(_KIND, action.claim)
    yield from _if_there(RemoveUser(action.claim, "" if claim is None else claim.metadata.uid, action.uid))


def deallocate(action: DeallocateClaim) -> Steps[None]:
    """Take the claim's devices away, unless somebody else than that pod uses it by now."""
    stored = yield from _find_claim(action.claim)
    if stored is not None and all(user.uid == action.uid for user in stored.status.reserved_for):
        yield Put(stored, replace(stored, status=ResourceClaimStatus()), "status")


def _find_claim(key: str) -> Steps[ResourceClaim | None]:
    found = yield from find(_KIND, key)
    return found if isinstance(found, ResourceClaim) else None


def _reserve(stored: ResourceClaim, wanted: ResourceClaim, uid: str, now: int) -> Steps[ResourceClaim]:
    label = object_key(stored)
    if stored.metadata.deletion_timestamp is not None:
        raise RefusedError(f"claim {label} got deleted in the meantime")
    allocates = stored.status.allocation is None
    if not allocates and not _is_allocated_as(stored, wanted):
        raise RefusedError(f"claim {label} got allocated elsewhere in the meantime")
    if allocates:
        if CLAIM_FINALIZER not in wanted.metadata.finalizers or wanted.status.allocation is None:
            raise RefusedError(f"claim {label} got deallocated elsewhere in the meantime")
        stored = yield from _protect(stored, label)
    status = _status(stored, wanted, uid, now)
    if status == stored.status:
        return stored  # an earlier request, whose answer was lost, has done it
    what = "add allocation and reservation" if allocates else "add reservation"
    return (yield from _in_step(f"{what} to claim {label}: ", Put(stored, replace(stored, status=status), "status")))


def _protect(stored: ResourceClaim, label: str) -> Steps[ResourceClaim]:
    finalizers = stored.metadata.finalizers
    if CLAIM_FINALIZER in finalizers:
        return stored
    protected = replace(stored, metadata=replace(stored.metadata, finalizers=[*finalizers, CLAIM_FINALIZER]))
    return (yield from _in_step(f"add finalizer to claim {label}: ", Put(stored, protected)))


def _status(stored: ResourceClaim, wanted: ResourceClaim, uid: str, now: int) -> ResourceClaimStatus:
    allocation, users = stored.status.allocation or wanted.status.allocation, stored.status.reserved_for
    if allocation is not None and allocation.allocation_timestamp is None:
        allocation = replace(allocation, allocation_timestamp=format_time(now))
    known = {user.uid for user in users}
    new = [user for user in wanted.status.reserved_for if user.uid == uid or user.resource == POD_GROUPS]
    users = [*users, *(user for user in new if user.uid not in known)]
    return replace(stored.status, allocation=allocation, reserved_for=users)


def _tell_pod(key: str, claim: ResourceClaim, known: Known) -> Steps[None]:
    """The kubelet finds the devices by the pod's status."""
    pod = known("Pod", key)
    if isinstance(pod, Pod):
        told = PodExtendedResourceClaimStatus(
            request_mappings=request_mappings(pod, claim), resource_claim_name=claim.metadata.name
        )
        after = replace(pod, status=replace(pod.status, extended_resource_claim_status=told))
        yield from _if_there(PatchStatus(pod, after), f"update pod {key} ExtendedResourceClaimStatus: ")


def _delete(key: str) -> Steps[None]:
    """The finalizer goes first, or it would hold the claim."""
    for _ in range(_TRIES):
        stored = yield from _find_claim(key)
        if stored is None:
            return
        kept = [finalizer for finalizer in stored.metadata.finalizers if finalizer != CLAIM_FINALIZER]
        if len(kept) == len(stored.metadata.finalizers):
            break
        try:
            yield Put(stored, replace(stored, metadata=replace(stored.metadata, finalizers=kept)))
            break
        except RefusedError as error:
            if error.status != CONFLICT:
                raise
        yield _PAUSE
    yield from _if_there(Delete(_KIND, key))


def _if_there(request: Request, context: str = "") -> Steps[None]:
    """That there is nothing to do it to is fine."""
    try:
        yield from _in_step(context, request)
    except RefusedError as error:
        if error.status != NOT_FOUND:
            raise


def _in_step(context: str, request: Request) -> Steps[ResourceClaim]:
    """The answer; a refusal names the step."""
    try:
        answer: ResourceClaim = yield request
    except RefusedError as error:
        raise RefusedError(f"{context}{error}", error.status) from error
    return answer


def _is_allocated_as(claim: ResourceClaim, wanted: ResourceClaim) -> bool:
    """Whether the claim has the devices that the scheduler counts on; when it got them does not matter."""
    allocation, expected = claim.status.allocation, wanted.status.allocation
    if allocation is None or expected is None:
        return False
    return replace(allocation, allocation_timestamp=None) == replace(expected, allocation_timestamp=None)
