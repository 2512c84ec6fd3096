"""PodGroup: pods that are scheduled together, and how. Workload: templates of such groups.

Both in `scheduling.k8s.io/v1beta1` (or v1alpha3, which has the same fields). A policy is
either `basic` or `gang`, a disruption mode either `single` or `all`: empty objects, but for a gang's `minCount`.
See `meta` for the rest.
"""

import msgspec

from bayplan.model.meta import Condition, Int32, ObjectPart, TopLevel

SCHEDULING_GROUP = "scheduling.k8s.io"
#: What a claim calls a group among its users.
POD_GROUPS = "podgroups"


class GangPolicy(ObjectPart, kw_only=True):
    min_count: Int32 = 0


class EmptyPart(ObjectPart, kw_only=True):
    """An object that says all by being there."""


class GroupSchedulingPolicy(ObjectPart, kw_only=True):
    basic: EmptyPart | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(ObjectPart, kw_only=True):
    key: str = ""


class GroupSchedulingConstraints(ObjectPart, kw_only=True):
    topology: list[TopologyConstraint] = []


class DisruptionMode(ObjectPart, kw_only=True):
    single: EmptyPart | None = None
    all: EmptyPart | None = None


class WorkloadReference(ObjectPart, kw_only=True):
    """The Workload that a group was made for. The scheduler does not look at it."""

    workload_name: str = ""
    template_name: str = ""


class PodGroupResourceClaim(ObjectPart, kw_only=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(ObjectPart, kw_only=True):
    workload_ref: WorkloadReference | None = None
    parent_composite_pod_group_name: str = ""  # groups of groups are not known here
    scheduling_policy: GroupSchedulingPolicy = msgspec.field(default_factory=GroupSchedulingPolicy)
    scheduling_constraints: GroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    resource_claims: list[PodGroupResourceClaim] = []


class PodGroupResourceClaimStatus(ObjectPart, kw_only=True):
    name: str = ""
    resource_claim_name: str | None = None  # None: none is needed


class PodGroupStatus(ObjectPart, kw_only=True):
    conditions: list[Condition] = []
    resource_claim_statuses: list[PodGroupResourceClaimStatus] = []


class PodGroup(TopLevel, kw_only=True):
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)


class PodGroupTemplate(ObjectPart, kw_only=True):
    name: str = ""
    scheduling_policy: GroupSchedulingPolicy = msgspec.field(default_factory=GroupSchedulingPolicy)
    scheduling_constraints: GroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: list[PodGroupResourceClaim] = []
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class ControllerReference(ObjectPart, kw_only=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(ObjectPart, kw_only=True):
    controller_ref: ControllerReference | None = None
    pod_group_templates: list[PodGroupTemplate] = []


class Workload(TopLevel, kw_only=True):
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)


def topology_key(group: PodGroup) -> str | None:
    """The label whose values are the domains that the group must stay within one of; None: it may be anywhere."""
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else None
