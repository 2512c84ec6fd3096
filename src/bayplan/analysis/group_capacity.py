"""How many more groups like a PodGroup fit, and in which topology domains.

Takes a cache with the cluster, the group and its pods, which serve as a pattern whether they run or wait. Copies are
placed one after another as the scheduler would place groups, without evictions; a copy counts if all its pods fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.framework.profile import Profile
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.model.groups import PodGroup, PodGroupStatus, topology_key
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, PodSchedulingGroup, PodStatus
from bayplan.model.structs import replace

#: More than this are not counted.
GROUPS_MAX = 10_000


@dataclass(slots=True)
class GroupCapacity:
    """The answer."""

    group: str  # namespace/name
    pods: int  # of each group
    groups: int = 0  # that fit besides those that are there
    within: str = ""  # the node label of which all pods of a group need the same value
    by_domain: Counter[str] = field(default_factory=Counter)  # groups by value of that label
    by_node: Counter[str] = field(default_factory=Counter)  # pods of all these groups
    stop: str = ""  # why there is no room for one more; "" if counting ended before

    @property
    def is_enough(self) -> bool:
        return self.groups > 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "podsInEach": self.pods,
            "fits": self.groups,
            "within": self.within or None,
            "byDomain": dict(self.by_domain),
            "byNode": dict(self.by_node),
            "stop": self.stop,
        }


def count_groups(cache: Cache, profiles: Mapping[str, Profile], group: PodGroup, pods: Sequence[Pod]) -> GroupCapacity:
    """Raises nothing; the cache is afterwards as it was. `pods` are all pods of the group."""
    found = GroupCapacity(object_key(group), len(pods), within=topology_key(group) or "")
    decider = Decider(profiles)
    with cache.trial():
        for number in count(1):
            copy, members = _copied(cache, group, pods, number)
            attempt = attempt_group(cache, profiles, copy, members, decider=decider, in_full=False)
            if len(attempt.bound) < len(members):
                placed = attempt.found.placed if attempt.found is not None else None
                unfit = next((each.message for each in placed.tried if not each.fits), "") if placed is not None else ""
                found.stop = unfit or attempt.root.message
                return found
            for outcome in attempt.bound:
                cache.add_pod(outcome.member.pod, outcome.node, outcome.member.info)
                found.by_node[outcome.node] += 1
            found.groups += 1
            if found.within and attempt.found is not None and attempt.found.chosen:
                found.by_domain[attempt.found.chosen] += 1
            if found.groups == GROUPS_MAX:
                return found
    raise AssertionError("counting ends by itself")


def _copied(cache: Cache, group: PodGroup, pods: Sequence[Pod], number: int) -> tuple[PodGroup, list[Member]]:
    """Another group like this one, with pods of its own that wait."""
    meta = group.metadata
    name = f"{meta.name}-{number}"
    copy = replace(group, metadata=replace(meta, name=name, uid=f"{meta.uid}-{number}"), status=PodGroupStatus())
    members = []
    for position, pod in enumerate(pods):
        own = replace(pod.metadata, name=f"{pod.metadata.name}-{number}", uid="", deletion_timestamp=None)
        spec = replace(pod.spec, node_name="", scheduling_group=PodSchedulingGroup(pod_group_name=name))
        waiting = replace(pod, metadata=own, spec=spec, status=PodStatus())
        members.append(Member(waiting, cache.info(waiting), queued_at=position))
    return copy, members
