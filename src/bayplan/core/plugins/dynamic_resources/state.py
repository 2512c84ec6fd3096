"""What DynamicResources has to do for a pod, as its PreFilter leaves it, and the codes of its Filter.

Upstream: plugins/dynamicresources/dynamicresources.go stateData (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bayplan.core.columns import BoolArray, IntArray
from bayplan.core.plugins.dynamic_resources.extended import UNWRITTEN
from bayplan.core.plugins.dynamic_resources.requests import Plan
from bayplan.model.resource_claims import ResourceClaim

#: Failure codes; those of the allocation itself come first (`findings`). Above NOT_AVAILABLE one bit for each claim.
STALE_CLAIM, CANNOT_FIT, NOT_AVAILABLE = 4, 5, 8
CLAIM_BITS = 4


@dataclass(slots=True, eq=False)
class NodeGroup:
    """Nodes on which the same claims have to be served: they differ in which extended resources they offer."""

    mask: BoolArray | None  # (nodes,); None for all
    plan: Plan


@dataclass(slots=True, eq=False)
class DeviceState:
    """What has to be done for the pod."""

    claims: list[ResourceClaim]  # those the pod names
    extended: ResourceClaim | None = None  # the one the scheduler has written, or would write
    groups: list[NodeGroup] = field(default_factory=list)  # empty when no claim needs devices
    misfits: BoolArray | None = None  # (nodes,) nodes that do not know an extended resource without a class
    unavailable: IntArray | None = None  # (nodes,) a bit for each claim whose devices cannot be used there

    @property
    def is_stale(self) -> bool:
        """Whether the scheduler wrote a claim in an earlier attempt, which is of no use any more."""
        return self.extended is not None and self.extended.metadata.name != UNWRITTEN
