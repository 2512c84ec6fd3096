"""The answer to "why does this group wait": one attempt, what the first member lacks, and what would help.

`to_dict` is plain data in the shape of the conformance cases; `document` has all that a report shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bayplan.analysis.answers.gangs.remedies import GroupTrying, Improvement, best_changes
from bayplan.analysis.answers.gangs.shortfall import Shortfall, shortfall_of
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.group_explanation import GroupExplanation, GroupPlace, explain_group
from bayplan.analysis.showing import Shown
from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles
from bayplan.core.cache import Cache
from bayplan.core.framework.profile import Profile
from bayplan.core.groups.feasible import min_count
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import GroupStage
from bayplan.core.groups.preempting import GroupPreemption, TriedUnit
from bayplan.core.preemption.units import group_of
from bayplan.core.snapshot import View
from bayplan.model.groups import PodGroup, topology_key
from bayplan.model.kinds import object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod

Plain = dict[str, Any]


@dataclass(frozen=True, repr=False)
class ExplainedGroup(Shown):
    """What would become of a group if it were tried now, and why."""

    explanation: GroupExplanation
    group: PodGroup | None
    cache: Cache
    profiles: Mapping[str, Profile]
    nodes: Mapping[str, Node] = field(default_factory=dict)
    pods: Mapping[str, Pod] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.explanation.key

    @property
    def place(self) -> GroupPlace:
        return self.explanation.place

    @property
    def members(self) -> list[Member]:
        """The pods that wait, in the order in which they are tried."""
        return self.explanation.members

    @property
    def waits_for(self) -> str:
        """What the scheduler says of the group, or of the first pod that may not enter the queue."""
        attempt = self.explanation.attempt
        if attempt is not None:
            return attempt.root.message
        return next((status.message for status in self.explanation.held_back.values()), "")

    @property
    def fits(self) -> bool:
        """Whether enough members would be bound."""
        return self.explanation.fits

    def to_dict(self) -> Plain:
        """In the shape of the conformance cases."""
        return self.explanation.to_dict()

    @property
    def scheduled(self) -> int:
        """Members that have a node."""
        return len(self.cache.pods.scheduled_members(self.key))

    @property
    def is_complete(self) -> bool:
        """Whether no member waits, and enough have a node."""
        return self.place is GroupPlace.ABSENT and self.scheduled >= self.needed

    @property
    def needed(self) -> int:
        """How many members have to have one."""
        return min_count(self.group) if self.group is not None else 0

    @cached_property
    def shortfall(self) -> Shortfall | None:
        """None if the members were not tried."""
        found = self.explanation.attempt.found if self.explanation.attempt is not None else None
        if found is None:
            return None
        return shortfall_of(self.stage, found)

    @cached_property
    def improvements(self) -> list[Improvement]:
        """The best change of nodes, the best two, and so on, until all members fit; none if they do already."""
        shortfall = self.shortfall
        if shortfall is None or shortfall.unfit is None:
            return []
        trying = GroupTrying(self.stage, self.nodes, self.pods)
        return best_changes(trying, len(self.stage.members))

    @property
    def stage(self) -> GroupStage:
        """Where its members are tried. Only for a group that is."""
        assert self.explanation.attempt is not None
        assert self.group is not None
        members = [each.member for each in self.explanation.attempt.outcomes if not each.is_skipped]
        return GroupStage(self.cache, self.profiles[members[0].info.scheduler_name], self.group, members)

    def document(self) -> Plain:
        """All of `to_dict`, with which members fit where and which does not, and what would help."""
        shortfall = self.shortfall
        plain: Plain = {
            "group": self.key,
            "needed": self.needed,
            "scheduled": self.scheduled,
            "waiting": len(self.members),
            "within": (topology_key(self.group) or None) if self.group is not None else None,
            **self.to_dict(),
            "fitting": shortfall.fitting if shortfall is not None else {},
            "aloneOn": shortfall.alone_on if shortfall is not None else {},
            "firstUnfit": shortfall.unfit.to_dict() if shortfall is not None and shortfall.unfit is not None else None,
            "domains": [domain.to_dict() for domain in shortfall.domains] if shortfall is not None else [],
            "bestChanges": [each.to_dict() for each in self.improvements],
        }
        preemption = self.explanation.attempt.preemption if self.explanation.attempt is not None else None
        if preemption is not None and preemption.units and self.explanation.view is not None:
            plain["units"] = plain_units(preemption, self.explanation.view)
        return plain


def plain_units(preemption: GroupPreemption, view: View) -> list[Plain]:
    """The units of lower priority in the order in which they were put back, and whether each could stay."""
    return [_plain_unit(tried, view) for tried in preemption.units]


def _plain_unit(tried: TriedUnit, view: View) -> Plain:
    first = tried.unit.pod_rows[0]
    group = group_of(view, first)
    return {
        "group": object_key(group) if group is not None else None,
        "pods": [view.pods.keys[row] for row in tried.unit.pod_rows],
        "nodes": [view.nodes.names[view.pods.node_rows[row]] for row in tried.unit.pod_rows],
        "priority": tried.unit.priority,
        "budgetViolations": tried.violations,
        "stays": tried.may_stay,
    }


@dataclass(frozen=True, slots=True, repr=False)
class ExplainedWorkload(Shown):
    """All groups of a Workload, each as if it were tried first."""

    key: str
    groups: tuple[ExplainedGroup, ...]

    @property
    def fits(self) -> bool:
        """Whether enough members of each group have a node, or would get one."""
        return all(group.fits or group.is_complete for group in self.groups)

    def document(self) -> Plain:
        return {"workload": self.key, "groups": [group.document() for group in self.groups]}


def explained_group(cluster: Cluster, configuration: Configuration, key: str) -> ExplainedGroup:
    """Raises InvalidObject for a group that neither exists nor has pods."""
    profiles = build_profiles(configuration)
    cache = cluster.build_cache(profiles=profiles, gates=configuration.gates)
    group, members = cluster.group_members(key, profiles, cache)
    explanation = explain_group(cache, profiles, key, group, members, configuration.wakeups)
    nodes = {obj.metadata.name: obj for obj in cluster.objects if isinstance(obj, Node)}
    return ExplainedGroup(explanation, group, cache, profiles, nodes, cluster.pods)
