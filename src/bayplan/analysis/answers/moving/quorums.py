"""How many pods of a group may be away at once, so that a gang keeps its quorum and what goes as a whole stays whole.

Takes a settled course of events. Pods that are being deleted do not count. Where all pods of a group run on one node
they may leave it together: the group then starts again as a whole. A group that has to stay in one topology domain must
not: new pods come while the old ones end, and would have to go where these are. Where pod groups are off nothing is
kept together; other groups that are no gang and go pod by pod are free to go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from bayplan.analysis.answers.course import Course
from bayplan.analysis.answers.drain import Draining
from bayplan.core.groups.feasible import min_count
from bayplan.model.groups import PodGroup, topology_key
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key


@dataclass(slots=True)
class Quorum:
    """A group that must not be torn apart."""

    is_bound_to_domain: bool
    spare: int = 0  # pods that may be away at once
    on_nodes: Counter[str] = field(default_factory=Counter)

    def may_leave(self, node: str) -> bool:
        """Whether all of its pods there may leave at once."""
        return self.may_leave_together or self.on_nodes[node] <= self.spare

    @property
    def may_leave_together(self) -> bool:
        return len(self.on_nodes) == 1 and not self.is_bound_to_domain

    @property
    def may_leave_one_by_one(self) -> bool:
        """Whether a pod may leave, and the next one when another runs in its place."""
        return self.spare > 0 or (self.may_leave_together and self.on_nodes.total() == 1)

    def is_kept_without(self, nodes: Collection[str]) -> bool:
        """Whether enough pods stay when all of these nodes lose theirs, in whatever order."""
        away = sum(number for node, number in self.on_nodes.items() if node in nodes)
        return away <= self.spare or self.may_leave_together


class Quorums:
    """Of all groups of a cluster."""

    def __init__(self, course: Course) -> None:
        gates = course.cache.gates
        groups = course.cache.objects.pod_groups.values() if gates.generic_workload else ()
        self.by_group: dict[str, Quorum] = {}
        for group in groups:
            is_bound = gates.topology_aware_workload_scheduling and topology_key(group) is not None
            if is_bound or group.spec.scheduling_policy.gang is not None or _goes_as_a_whole(group):
                self.by_group[object_key(group)] = Quorum(is_bound)
        self._groups = {key: group_key(pod) for key, pod in course.pods.items()}
        for pod in course.pods.values():
            quorum = self.of(pod)
            if quorum is not None and pod.metadata.deletion_timestamp is None:
                quorum.on_nodes[pod.spec.node_name] += 1
        for group in groups:
            quorum = self.by_group.get(object_key(group))
            if quorum is not None and not _goes_as_a_whole(group):
                quorum.spare = max(0, quorum.on_nodes.total() - min_count(group))

    def of(self, pod: Pod) -> Quorum | None:
        """Of the pod's group; None if it is free to go."""
        return self.by_group.get(group_key(pod))

    def are_kept_without(self, nodes: Collection[str]) -> bool:
        return all(quorum.is_kept_without(nodes) for quorum in self.by_group.values())

    def torn_apart_by(self, draining: Draining) -> set[str]:
        """The first node that all pods of a group would leave one after another, as budgets want; empty if none."""
        for drained in draining.nodes:
            steps: defaultdict[str, set[int]] = defaultdict(set)
            for each in drained.evictions:
                steps[self._groups.get(each.pod, "")].add(each.step)
            for key, taken in steps.items():
                quorum = self.by_group.get(key)
                if quorum is not None and len(taken) > 1 and quorum.on_nodes[drained.node] > quorum.spare:
                    return {drained.node}
        return set()


def _goes_as_a_whole(group: PodGroup) -> bool:
    mode = group.spec.disruption_mode
    return mode is not None and mode.all is not None
