"""What could evict a pod, as plain data. Amounts are milli-cores for cpu and whole units for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayplan.analysis.answers.exposure.probing import ProbeOutcome
from bayplan.analysis.showing import Shown


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest request of one resource that evicts the pod; of `pods` 1: whatever the preemptor asks for."""

    resource: str
    amount: int
    share: float  # of what the node has
    victims: tuple[str, ...]  # who goes then, the pod among them

    def to_dict(self) -> dict[str, Any]:
        return {
            "resource": self.resource,
            "amount": self.amount,
            "shareOfNode": round(self.share, 4),
            "victims": list(self.victims),
        }


@dataclass(frozen=True, slots=True)
class Danger:
    """What a preemptor of one priority must ask for to evict the pod."""

    priority: int
    priority_class: str  # "" where no class is meant
    thresholds: tuple[Threshold, ...]  # the smallest share of the node first; empty when it cannot
    unpinned: ProbeOutcome | None = None  # what such a pod does if it may go to any node; None: not asked

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "priority": self.priority,
            "priorityClass": self.priority_class or None,
            "thresholds": [threshold.to_dict() for threshold in self.thresholds],
        }
        if self.unpinned is not None:
            plain["unpinned"] = self.unpinned.to_dict()
        return plain


@dataclass(frozen=True, slots=True)
class BudgetCover:
    """A PodDisruptionBudget that counts the pod."""

    name: str  # namespace/name
    disruptions_allowed: int

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "disruptionsAllowed": self.disruptions_allowed}


@dataclass(frozen=True, slots=True)
class PodExposure:
    """What could evict one pod."""

    pod: str  # namespace/name
    workload: str
    node: str
    priority: int
    lowest: Danger  # of the lowest priority that outranks the pod
    host_ports: tuple[str, ...] = ()  # whoever of that priority wants one of them on the node evicts the pod
    spared_after: int = 0  # pods of its node that go rather than this one
    budgets: tuple[BudgetCover, ...] = ()
    protected: bool = False  # a budget is used up, so that the pod is spared before others
    classes: tuple[Danger, ...] = ()  # of the PriorityClasses that preempt and outrank it, lowest first
    reason: str = ""  # why nothing can evict it

    @property
    def share(self) -> float:
        """The smallest share of the node for which the pod goes; infinite if it never does."""
        return min((threshold.share for threshold in self.lowest.thresholds), default=float("inf"))

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "workload": self.workload,
            "node": self.node,
            "priority": self.priority,
            "lowest": self.lowest.to_dict(),
            "hostPorts": list(self.host_ports),
            "sparedAfter": self.spared_after,
            "budgets": [budget.to_dict() for budget in self.budgets],
            "protected": self.protected,
            "priorityClasses": [danger.to_dict() for danger in self.classes],
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class PreemptorEffect:
    """What a given pod would do."""

    pod: str  # namespace/name
    priority: int
    outcome: ProbeOutcome
    evicts: tuple[str, ...]  # those of the pods in question that it evicts
    evicts_if_pinned: tuple[str, ...]  # those that it evicts if it must run on their node

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "priority": self.priority,
            **self.outcome.to_dict(),
            "evicts": list(self.evicts),
            "evictsIfPinned": list(self.evicts_if_pinned),
        }


@dataclass(frozen=True, slots=True)
class GroupExposure:
    """How a pod group is evicted."""

    group: str  # namespace/name
    priority: int  # which counts for all of its pods
    goes_as_a_whole: bool  # whoever evicts one of its pods evicts all of them
    running: int
    needed: int  # its minCount

    def to_dict(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "priority": self.priority,
            "disruptionMode": "all" if self.goes_as_a_whole else "single",
            "running": self.running,
            "minCount": self.needed,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Exposure(Shown):
    """The answer about a pod or a workload."""

    subject: str
    pods: tuple[PodExposure, ...]  # the most exposed first, which alone is looked at class by class
    pod_count: int  # that run
    waiting: tuple[str, ...] = ()  # keys of pods that have no node: nobody can evict them
    against: tuple[PreemptorEffect, ...] = ()
    group: GroupExposure | None = None  # that the pods belong to, where there are groups

    @property
    def is_evicted(self) -> bool:
        """Whether one of the given preemptors evicts one of the pods."""
        return any(preemptor.evicts for preemptor in self.against)

    def to_dict(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "podCount": self.pod_count,
            "pods": [pod.to_dict() for pod in self.pods],
            "waiting": list(self.waiting),
            "against": [preemptor.to_dict() for preemptor in self.against],
            **({"group": self.group.to_dict()} if self.group is not None else {}),
        }


@dataclass(frozen=True, slots=True)
class WorkloadExposure:
    """The most exposed pod of a workload."""

    workload: str
    pod_count: int
    outranked_by: int  # PriorityClasses that preempt and are higher
    most: PodExposure
    priority_class: str = ""
    outranked_by_users: int = 0  # the same without the classes of the system

    def to_dict(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "podCount": self.pod_count,
            "outrankedBy": self.outranked_by,
            "outrankedByUserClasses": self.outranked_by_users,
            "priorityClass": self.priority_class or None,
            "mostExposed": self.most.to_dict(),
        }


@dataclass(frozen=True, slots=True, repr=False)
class ExposureRanking(Shown):
    """The workloads of a cluster, the most exposed first."""

    workloads: tuple[WorkloadExposure, ...]
    workload_count: int  # all that have running pods
    pod_count: int
    by_priority: tuple[WorkloadExposure, ...] = ()  # the most exposed one of each priority, the highest first

    def to_dict(self) -> dict[str, Any]:
        return {
            "podCount": self.pod_count,
            "workloadCount": self.workload_count,
            "workloads": [workload.to_dict() for workload in self.workloads],
            "byPriority": [workload.to_dict() for workload in self.by_priority],
        }
