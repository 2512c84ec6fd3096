"""PodGroup: pods that are scheduled together, and how.

Of a group in `scheduling.k8s.io/v1beta1` (or v1alpha3, which has the same fields) what the scheduler reads. A policy is
either `basic` or `gang`, a disruption mode either `single` or `all`: empty objects, but for a gang's `minCount`.
See `meta` for the rest.
"""

import msgspec

from bayplan.model.meta import Condition, Int32, ObjectPart, TopLevel


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


class PodGroupSpec(ObjectPart, kw_only=True):
    workload_ref: WorkloadReference | None = None
    parent_composite_pod_group_name: str = ""  # groups of groups are not known here
    scheduling_policy: GroupSchedulingPolicy = msgspec.field(default_factory=GroupSchedulingPolicy)
    scheduling_constraints: GroupSchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class PodGroupStatus(ObjectPart, kw_only=True):
    conditions: list[Condition] = []


class PodGroup(TopLevel, kw_only=True):
    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)


def topology_key(group: PodGroup) -> str | None:
    """The label whose values are the domains that the group must stay within one of; None: it may be anywhere."""
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else None
