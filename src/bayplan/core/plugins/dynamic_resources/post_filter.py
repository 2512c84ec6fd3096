"""What DynamicResources does when no node fits: take back devices that the pod's claims cannot use where they are.

Takes the state that PreFilter left and the verdicts; gives the status of upstream's PostFilter and what is to be done
about the one claim that loses its devices, or is deleted. Of several claims upstream takes any; here it is the first.
Upstream: plugins/dynamicresources/dynamicresources.go PostFilter (v1.36).
"""

from __future__ import annotations

import numpy as np

from bayplan.core.actions import DeallocateClaim, ReleaseClaim
from bayplan.core.columns import IntArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import PostFiltered
from bayplan.core.framework.verdict import unschedulable
from bayplan.core.plugins.dynamic_resources.state import CLAIM_BITS, NOT_AVAILABLE, DeviceState
from bayplan.core.release import Release
from bayplan.model.kinds import object_key

_SILENT = PostFiltered(unschedulable())
_NO_CLAIMS = PostFiltered(unschedulable("no new claims to deallocate"))
_NO_USE = PostFiltered(unschedulable("still not schedulable"))


def nothing_to_deallocate(release: Release) -> PostFiltered:
    """For a pod without claims."""
    return _NO_CLAIMS if release.says_nothing_to_deallocate else _SILENT


def deallocate(pod: PodInfo, state: DeviceState, codes: IntArray, release: Release) -> PostFiltered:
    """`codes` are the failure codes of the nodes that DynamicResources itself rejected."""
    bits = int(np.bitwise_or.reduce(codes[codes & NOT_AVAILABLE != 0] >> CLAIM_BITS, initial=0))
    for position, claim in enumerate(state.claims):
        if bits >> position & 1 and all(consumer.uid == pod.uid for consumer in claim.status.reserved_for):
            freed = DeallocateClaim(pod.key, pod.uid, object_key(claim))
            return PostFiltered(unschedulable("deallocation of ResourceClaim completed"), actions=(freed,))
    if state.extended is not None and state.is_stale:
        deleted = ReleaseClaim(pod.key, pod.uid, object_key(state.extended), delete=True)
        return PostFiltered(unschedulable("deletion of ResourceClaim completed"), actions=(deleted,))
    return _NO_USE if release.says_nothing_to_deallocate else _SILENT
