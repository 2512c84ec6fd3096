"""What may help a pod that DynamicResources has rejected.

Unlike other hints these look something up, as upstream's do: the pod's claims as they are stored now. Pods with claims
are never judged together with others, so that this is safe. The last two are about what upstream sleeps through.
Upstream: plugins/dynamicresources/dynamicresources.go EventsToRegister (v1.36).
"""

from __future__ import annotations

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.plugins.dynamic_resources.claims import ClaimError, claims_of, is_owned_by
from bayplan.core.plugins.requeue_rules import is_same_pod
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim


def after_claim_change(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    """Devices were given back, or a claim of the pod came or got another status."""
    assert isinstance(new, ResourceClaim)
    try:
        uses = any(claim.metadata.uid == new.metadata.uid for claim in list(claims_of(pod)))
    except ClaimError:
        return False
    if old is None:
        return uses
    assert isinstance(old, ResourceClaim)
    if old.status.allocation is not None and new.status.allocation is None:
        return True
    return uses and old.status != new.status


def after_allocated_claim_deleted(pod: PodInfo, old: Object | None, new: Object | None) -> bool:  # noqa: ARG001
    """A claim is gone together with its allocation."""
    assert isinstance(old, ResourceClaim)
    return old.status.allocation is not None


def after_own_claims_made(pod: PodInfo, old: Object | None, new: Object | None) -> bool:  # noqa: ARG001
    """The pod was told the names of its claims, and all of them can be used."""
    assert isinstance(new, Pod)
    if not is_same_pod(pod, new):
        return False
    try:
        list(claims_of(pod))
    except ClaimError:
        return False
    return True


def after_claim_deleted(pod: PodInfo, old: Object | None, new: Object | None) -> bool:  # noqa: ARG001
    """A claim is gone, and its devices are free; or it was one that the scheduler had written for the pod in vain."""
    assert isinstance(old, ResourceClaim)
    return old.status.allocation is not None or is_owned_by(old, pod)


def after_devices_exchanged(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    """A claim has other devices than before; or one of the pod, whose owner counts, has another owner."""
    assert isinstance(old, ResourceClaim)
    assert isinstance(new, ResourceClaim)
    before, after = old.status.allocation, new.status.allocation
    if before is not None and after is not None and before.devices != after.devices:
        return True
    return is_owned_by(new, pod) and not is_owned_by(old, pod)
