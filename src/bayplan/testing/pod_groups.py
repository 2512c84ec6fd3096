"""The builder of PodGroups. Pods say themselves that they belong to one: `pod("a").in_group("training")`."""

from __future__ import annotations

from typing import Self

from bayplan.core.groups.cycle import INITIALLY_SCHEDULED
from bayplan.model.groups import (
    DisruptionMode,
    EmptyPart,
    GangPolicy,
    GroupSchedulingConstraints,
    GroupSchedulingPolicy,
    PodGroup,
    TopologyConstraint,
    WorkloadReference,
)
from bayplan.model.meta import Condition
from bayplan.testing.building import Builder


class PodGroupBuilder(Builder[PodGroup]):
    """A PodGroup, as an API server would have stored it: basic, priority 0, disrupted pod by pod."""

    def __init__(self, name: str, namespace: str = "default") -> None:
        super().__init__(PodGroup(), name, namespace)
        self._meta.generation = 1
        self._object.spec.scheduling_policy = GroupSchedulingPolicy(basic=EmptyPart())
        self._object.spec.disruption_mode = DisruptionMode(single=EmptyPart())
        self._object.spec.priority = 0

    def gang(self, min_count: int) -> Self:
        self._object.spec.scheduling_policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=min_count))
        return self

    def priority(self, priority: int) -> Self:
        self._object.spec.priority = priority
        return self

    def within(self, label: str) -> Self:
        """All members on nodes with one value of the label."""
        constraint = GroupSchedulingConstraints(topology=[TopologyConstraint(key=label)])
        self._object.spec.scheduling_constraints = constraint
        return self

    def disrupted_as_a_whole(self) -> Self:
        self._object.spec.disruption_mode = DisruptionMode(all=EmptyPart())
        return self

    def of_workload(self, name: str) -> Self:
        """Made from a template of the Workload of that name."""
        self._object.spec.workload_ref = WorkloadReference(workload_name=name)
        return self

    def condition(self, status: str, reason: str, message: str = "") -> Self:
        """PodGroupInitiallyScheduled."""
        made = Condition(type=INITIALLY_SCHEDULED, status=status, reason=reason, message=message, observed_generation=1)
        self._object.status.conditions = [made]
        return self
