"""What DynamicResources does when no node fits: take back devices that the pod's claims cannot use where they are.

Takes the state that PreFilter left and the verdicts; gives the status of upstream's PostFilter and what is to be done
about the one claim that loses its devices, or is deleted. Of several claims upstream takes any; here it is the first.
Upstream: plugins/dynamicresources/dynamicresources.go PostFilter (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayplan.core.actions import Action, DeallocateClaim, ReleaseClaim
from bayplan.core.columns import IntArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import PostFiltered
from bayplan.core.framework.group_contract import GroupFailure, PodGroupPostFiltered
from bayplan.core.framework.verdict import unschedulable
from bayplan.core.plugins.dynamic_resources.claims import is_reserved_for
from bayplan.core.plugins.dynamic_resources.state import CLAIM_BITS, NOT_AVAILABLE, DeviceState
from bayplan.core.release import Release
from bayplan.model.kinds import object_key
from bayplan.model.resource_claims import ResourceClaim

_SILENT = PostFiltered(unschedulable())
_NO_CLAIMS = PostFiltered(unschedulable("no new claims to deallocate"))
_NO_USE = PostFiltered(unschedulable("still not schedulable"))


def nothing_to_deallocate(release: Release) -> PostFiltered:
    """For a pod without claims."""
    return _NO_CLAIMS if release.says_nothing_to_deallocate else _SILENT


def deallocate(pod: PodInfo, state: DeviceState, codes: IntArray, release: Release) -> PostFiltered:
    """`codes` are the failure codes of the nodes that DynamicResources itself rejected."""
    for claim in _unavailable(state, codes):
        if _is_used_by_none_but(claim, pod.uid):
            freed = DeallocateClaim(pod.key, pod.uid, object_key(claim))
            return PostFiltered(unschedulable("deallocation of ResourceClaim completed"), actions=(freed,))
    if state.extended is not None and state.is_stale:
        deleted = ReleaseClaim(pod.key, pod.uid, object_key(state.extended), delete=True)
        return PostFiltered(unschedulable("deletion of ResourceClaim completed"), actions=(deleted,))
    return _NO_USE if release.says_nothing_to_deallocate else _SILENT


def deallocate_for_group(failure: GroupFailure, plugin: str) -> PodGroupPostFiltered:
    """What PostFilter does for each pod of a group; and if that leaves one without help, something for all of them."""
    # Upstream: dynamicresources.go PodGroupPostFilter (v1.37).
    gates, info = failure.view.objects.gates, failure.info
    actions: list[Action] = []
    is_stuck = False
    tried = [(pod, state) for pod in info.pods if (state := failure.state_of(plugin, pod)) is not None]
    for pod, state in tried:
        helped = isinstance(state, DeviceState) and deallocate(pod, state, failure.codes_of(plugin, pod), gates.release)
        actions += helped.actions if helped else ()
        is_stuck |= not (helped and helped.actions)
    text = "deallocation and deletion of ResourceClaims completed"
    if is_stuck and gates.dra_workload_resource_claims and not info.scheduled_rows:
        states = [(pod, state) for pod, state in tried if isinstance(state, DeviceState)]
        freed = _deallocate_claim_of_group(failure, states, plugin)
        left = None if freed is not None else _leave_claim(failure)
        if freed is not None:
            actions, text = [*actions, freed], "deallocation of PodGroup ResourceClaim completed"
        elif left is not None:
            actions, text = [*actions, left], "ResourceClaim unreserved for PodGroup"
    return PodGroupPostFiltered(unschedulable(text), actions=tuple(actions))


def _deallocate_claim_of_group(
    failure: GroupFailure, states: Sequence[tuple[PodInfo, DeviceState]], plugin: str
) -> DeallocateClaim | None:
    """For a claim that is of no use where it is, and that nobody uses but the group."""
    uid = failure.info.group.metadata.uid
    for pod, state in states:
        for claim in _unavailable(state, failure.codes_of(plugin, pod)):
            if _is_used_by_none_but(claim, uid):
                return DeallocateClaim(pod.key, uid, object_key(claim))
    return None


def _leave_claim(failure: GroupFailure) -> ReleaseClaim | None:
    """So that the resource claim controller takes the devices away once nobody uses the claim."""
    group, pod = failure.info.group, failure.info.pods[0]
    told = {status.name: status.resource_claim_name for status in group.status.resource_claim_statuses}
    for entry in group.spec.resource_claims:
        name = entry.resource_claim_name or told.get(entry.name)
        claim = failure.view.objects.resource_claims.get((group.metadata.namespace, name)) if name else None
        if claim is not None and claim.status.allocation is not None and is_reserved_for(claim, pod):
            return ReleaseClaim(pod.key, group.metadata.uid, object_key(claim), delete=False)
    return None


def _unavailable(state: DeviceState, codes: IntArray) -> list[ResourceClaim]:
    """The claims that kept some node from being used."""
    bits = int(np.bitwise_or.reduce(codes[codes & NOT_AVAILABLE != 0] >> CLAIM_BITS, initial=0))
    return [claim for position, claim in enumerate(state.claims) if bits >> position & 1]


def _is_used_by_none_but(claim: ResourceClaim, uid: str) -> bool:
    return all(user.uid == uid for user in claim.status.reserved_for)
