"""What DynamicResources does when no node fits: take back devices that the pod's claims cannot use where they are.

Takes the state that PreFilter left and the verdicts; gives the status of upstream's PostFilter and the one claim that
has to be written, or deleted, for it. Of several claims upstream takes any; here it is the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.actions import DeallocateClaim, ReleaseClaim
from bayplan.core.columns import IntArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.verdict import Status, unschedulable
from bayplan.core.plugins.dynamic_resources import CLAIM_BITS, NOT_AVAILABLE, DeviceState
from bayplan.core.plugins.dynamic_resources.claims import with_status
from bayplan.core.release import Release
from bayplan.model.kinds import object_key
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimStatus


@dataclass(frozen=True, slots=True)
class Deallocation:
    """What PostFilter says, and what is to be done for it."""

    status: Status
    write: ResourceClaim | None = None
    delete: ResourceClaim | None = None

    def action(self, pod: PodInfo) -> DeallocateClaim | ReleaseClaim | None:
        """What the world is to do about it."""
        if self.write is not None:
            return DeallocateClaim(pod.key, pod.uid, object_key(self.write))
        if self.delete is not None:
            return ReleaseClaim(pod.key, pod.uid, object_key(self.delete), delete=True)
        return None


_SILENT = Deallocation(unschedulable())
_NO_CLAIMS = Deallocation(unschedulable("no new claims to deallocate"))
_NO_USE = Deallocation(unschedulable("still not schedulable"))


def nothing_to_deallocate(release: Release) -> Deallocation:
    """For a pod without claims."""
    return _NO_CLAIMS if release.says_nothing_to_deallocate else _SILENT


def deallocate(pod: PodInfo, state: DeviceState, codes: IntArray, release: Release) -> Deallocation:
    """`codes` are the failure codes of the nodes that DynamicResources itself rejected."""
    bits = int(np.bitwise_or.reduce(codes[codes & NOT_AVAILABLE != 0] >> CLAIM_BITS, initial=0))
    for position, claim in enumerate(state.claims):
        if bits >> position & 1 and all(consumer.uid == pod.uid for consumer in claim.status.reserved_for):
            freed = with_status(claim, ResourceClaimStatus())
            return Deallocation(unschedulable("deallocation of ResourceClaim completed"), write=freed)
    if state.is_stale:
        return Deallocation(unschedulable("deletion of ResourceClaim completed"), delete=state.extended)
    return _NO_USE if release.says_nothing_to_deallocate else _SILENT
