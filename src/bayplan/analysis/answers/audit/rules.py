"""The rules of an audit: their names, how bad it is to break them, and what to do about it.

One table for everybody: findings, the guide and SARIF take their words from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is; SARIF has the same words."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def reaches(self, other: Level) -> bool:
        """Whether it is at least as bad."""
        order = list(Level)
        return order.index(self) <= order.index(other)


@dataclass(frozen=True, slots=True)
class AuditRule:
    level: Level
    title: str  # what is wrong where it is broken
    fix: str
    if_a_node_fails: bool = False  # it hurts only then


RULES: dict[str, AuditRule] = {
    "two-default-classes": AuditRule(
        Level.ERROR,
        "More than one PriorityClass is the global default.",
        "Set globalDefault to false in all but one of them; until then, the lowest value applies.",
    ),
    "unknown-class": AuditRule(
        Level.ERROR,
        "A workload names a PriorityClass that does not exist.",
        "Create the class or name another; the API server rejects every pod of this workload.",
    ),
    "system-class-for-users": AuditRule(
        Level.WARNING,
        "A workload outside the system namespaces has a priority in the system range.",
        "Give it a user-defined class, at most 1000000000: in the system range, it can evict everything else.",
    ),
    "equal-classes": AuditRule(
        Level.WARNING,
        "Several PriorityClasses have the same value, so neither takes precedence.",
        "Delete one of them, or create one with another value and move the workloads there; values are immutable.",
    ),
    "no-room-between-classes": AuditRule(
        Level.NOTE,
        "Two PriorityClasses are so close that no other fits between them.",
        "Leave gaps of hundreds between classes: values are immutable, and one day you may need a class in between.",
    ),
    "unused-class": AuditRule(
        Level.NOTE,
        "No pod and no workload uses the PriorityClass.",
        "Delete it, or use it.",
    ),
    "stale-priority": AuditRule(
        Level.WARNING,
        "Pods run with a different priority than new pods of the same workload would get.",
        "Restart the workload, so that all its pods get the priority of its class.",
    ),
    "no-requests": AuditRule(
        Level.WARNING,
        "Containers request no cpu or no memory.",
        "Add requests: without them, the scheduler assumes that the pod needs nothing and overfills the node.",
    ),
    "limits-only": AuditRule(
        Level.NOTE,
        "Containers have limits but no requests.",
        "Set requests explicitly; otherwise the API server copies the limits, which is often more than needed.",
    ),
    "budget-selects-nothing": AuditRule(
        Level.WARNING,
        "The PodDisruptionBudget selects no pods.",
        "Fix its selector, or delete it.",
    ),
    "budget-allows-nothing": AuditRule(
        Level.WARNING,
        "The PodDisruptionBudget never allows a pod to be evicted.",
        "Allow at least one pod to be unavailable, or add a replica; otherwise no node with such a pod can be drained.",
    ),
    "budget-cannot-be-kept": AuditRule(
        Level.ERROR,
        "The PodDisruptionBudget requires more pods than there will ever be.",
        "Lower minAvailable below the number of replicas, or use maxUnavailable.",
    ),
    "budgets-overlap": AuditRule(
        Level.WARNING,
        "Several PodDisruptionBudgets select the same pods.",
        "Cover each pod with one budget only: the eviction API rejects every eviction of a pod with several.",
    ),
    "node-failure-strands": AuditRule(
        Level.ERROR,
        "If a node fails, pods of the workload fit nowhere else.",
        "Add a node, lower requests, or relax the constraints that keep the pods off other nodes.",
        if_a_node_fails=True,
    ),
    "node-failure-evicts": AuditRule(
        Level.WARNING,
        "If a node fails, pods of the workload get a node only by evicting others.",
        "Add a node or lower requests, unless the priorities are meant to cause these evictions.",
        if_a_node_fails=True,
    ),
    "one-node-holds-all": AuditRule(
        Level.WARNING,
        "All pods of a workload with several replicas run on one node.",
        "Spread them with topologySpreadConstraints or pod anti-affinity over kubernetes.io/hostname.",
    ),
    "pod-without-controller": AuditRule(
        Level.NOTE,
        "The pod is not recreated if its node fails or it is evicted.",
        "Run it with a Deployment, StatefulSet or Job.",
    ),
    "never-fits": AuditRule(
        Level.ERROR,
        "No node could run the pod, even if the cluster were empty.",
        "Fix its node selector, affinity, tolerations or requests, or uncordon or add a node that matches.",
    ),
    "too-many-replicas": AuditRule(
        Level.ERROR,
        "Not all replicas could run, even if the cluster were empty.",
        "Use fewer replicas, relax the constraints between them, or add nodes or zones.",
    ),
    "affinity-to-nobody": AuditRule(
        Level.ERROR,
        "The pod must run near other pods, but none match.",
        "Fix the selector of the pod affinity, or deploy the pods that it selects.",
    ),
    "group-missing": AuditRule(
        Level.ERROR,
        "Pods belong to a PodGroup that does not exist.",
        "Create the PodGroup: until then, none of its pods is scheduled.",
    ),
    "group-differs": AuditRule(
        Level.ERROR,
        "Pods of a PodGroup have another priority than the group, or different schedulers.",
        "Give group and pods the same PriorityClass, and all pods one schedulerName; until then, none is scheduled.",
    ),
    "group-too-small": AuditRule(
        Level.WARNING,
        "A gang has fewer pods than its minCount.",
        "Create more pods or lower minCount; until then, no pod of the group is tried.",
    ),
    "group-on-missing-node": AuditRule(
        Level.ERROR,
        "A PodGroup that goes as a whole has pods on a node and on one that does not exist: no pod group can preempt.",
        "Delete the pod, or use `wakeups: complete` in bayplan's configuration, which leaves out such groups.",
    ),
    "group-never-fits": AuditRule(
        Level.ERROR,
        "The nodes could not run enough pods of a PodGroup together, even if the cluster were empty.",
        "Lower minCount or requests, relax the constraints of group and pods, or add nodes.",
    ),
    "groups-deadlocked": AuditRule(
        Level.ERROR,
        "Pod groups wait for each other: each has pods on nodes that hold what the next one lacks.",
        "Delete the pods that one of them has, so that the others can go on, or add nodes.",
    ),
    "preemption-loop": AuditRule(
        Level.ERROR,
        "Two workloads would evict each other.",
        "Restart the workload whose pods still have an old priority, so that priorities are consistent.",
    ),
    "foreign-victims": AuditRule(
        Level.ERROR,
        "A pending pod would evict pods of another scheduler, which may place them again.",
        "Use --foreign-victims never (foreignVictims in the configuration), or have one scheduler place both.",
    ),
    "evictable-daemon": AuditRule(
        Level.WARNING,
        "Pods of a DaemonSet can be evicted for other pods, and cannot run elsewhere.",
        "Give the DaemonSet a PriorityClass at least as high, such as system-node-critical.",
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One object that breaks one rule."""

    rule: str
    object: str  # `Deployment shop/web`
    why: str
    nodes: tuple[str, ...] = ()  # those it is about
    source: str = ""  # the file with the object, if it is known
    effect: str = ""  # `why` without the nodes, where these are what several findings differ in
    priority: int | None = None  # of the object's pods
    priority_class: str = ""

    @property
    def level(self) -> Level:
        return RULES[self.rule].level

    @property
    def fix(self) -> str:
        return RULES[self.rule].fix

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "level": self.level.value,
            "object": self.object,
            "file": self.source or None,
            "why": self.why,
            "fix": self.fix,
            "nodes": list(self.nodes),
            "priority": self.priority,
            "priorityClass": self.priority_class or None,
        }
