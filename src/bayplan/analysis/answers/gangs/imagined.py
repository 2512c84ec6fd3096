"""A gang that nobody has created yet: so many pods of a kind, if need be all of them within one topology domain."""

from __future__ import annotations

from bayplan.analysis.answers.pod_patterns import PodPattern, patterns
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.group_capacity import GroupCopies, GroupCopy
from bayplan.model.groups import (
    GangPolicy,
    GroupSchedulingConstraints,
    GroupSchedulingPolicy,
    PodGroup,
    PodGroupSpec,
    TopologyConstraint,
)
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.model.structs import replace
from bayplan.model.well_known import DEFAULT_NAMESPACE


def gang_pattern(cluster: Cluster, pod: str, namespace: str = DEFAULT_NAMESPACE) -> PodPattern:
    """What each member is like: a file with one pod or workload, or requests. Raises InvalidObject."""
    (pattern,) = patterns(cluster, [pod], [], namespace)
    return pattern


def gangs_of(pattern: PodPattern, size: int, within: str = "") -> GroupCopies:
    """Gangs of so many such pods, of the priority that the pods have."""

    def copy(number: int) -> GroupCopy:
        meta = pattern.pod.metadata
        name = f"{meta.name}-gang-{number}"
        constraint = GroupSchedulingConstraints(topology=[TopologyConstraint(key=within)]) if within else None
        spec = PodGroupSpec(
            scheduling_policy=GroupSchedulingPolicy(gang=GangPolicy(min_count=size)),
            scheduling_constraints=constraint,
            priority=pattern.pod.spec.priority,
            preemption_policy=pattern.pod.spec.preemption_policy,
        )
        pods: list[Pod] = []
        own: list[Object] = []
        for position in range(size):
            made, owned = pattern.replica((number - 1) * size + position + 1)
            grouped = replace(made.spec, scheduling_group=PodSchedulingGroup(pod_group_name=name))
            pods.append(replace(made, spec=grouped))
            own += owned
        group = PodGroup(metadata=ObjectMeta(name=name, namespace=meta.namespace, uid=name), spec=spec)
        return GroupCopy(group, pods, own)

    return copy
