"""How many more groups of a kind fit, and in which topology domains.

Takes a cache with the cluster, and makes copies of a group: of a PodGroup, whose pods serve as a pattern whether they
run or wait, or of one that somebody thinks of. Copies are placed one after another as the scheduler would place groups;
a copy counts if all its pods fit. If asked, counting goes on where that takes evictions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from bayplan.analysis.device_claims import Templates, with_group_claims_made
from bayplan.analysis.group_placement import GroupPlacer
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.framework.profile import Profile
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import assume
from bayplan.model.groups import PodGroup, PodGroupStatus, topology_key
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup, PodStatus
from bayplan.model.structs import replace

#: More than this are not counted.
GROUPS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class GroupCopy:
    """Another group, with pods of its own that wait."""

    group: PodGroup
    pods: Sequence[Pod]
    own: Sequence[Object] = ()  # what is made for it and its pods alone


#: The copy of this number, from 1 on.
GroupCopies: TypeAlias = Callable[[int], GroupCopy]


@dataclass(slots=True)
class GroupCapacity:
    """The answer."""

    group: str  # namespace/name; of gangs that nobody has created, the pods as the user wrote them
    pods: int  # of each group
    wanted: int = 1  # groups that somebody wants to fit
    groups: int = 0  # that fit besides those that are there
    within: str = ""  # the node label of which all pods of a group need the same value
    by_domain: Counter[str] = field(default_factory=Counter)  # groups by value of that label
    by_node: Counter[str] = field(default_factory=Counter)  # pods of all these groups
    stop: str = ""  # why there is no room for one more; "" if counting ended before
    by_evicting: int | None = None  # groups that fit after those, by preemption; None: not asked
    victims: tuple[str, ...] = ()  # pods that these evict
    is_new: bool = False  # there is no such group yet

    @property
    def is_enough(self) -> bool:
        return self.groups >= self.wanted

    def to_dict(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "new": self.is_new,
            "podsInEach": self.pods,
            "wanted": self.wanted,
            "enough": self.is_enough,
            "fits": self.groups,
            "within": self.within or None,
            "byDomain": dict(self.by_domain),
            "byNode": dict(self.by_node),
            "stop": self.stop,
            "byEvicting": self.by_evicting,
            "victims": list(self.victims),
        }


def copies_of(group: PodGroup, pods: Sequence[Pod], templates: Templates, *, makes_group_claims: bool) -> GroupCopies:
    """Of a group with all its pods, each with new claims where these are made from templates."""

    def copy(number: int) -> GroupCopy:
        meta = group.metadata
        name = f"{meta.name}-{number}"
        renamed = replace(meta, name=name, uid=f"{meta.uid}-{number}")
        new = replace(group, metadata=renamed, status=PodGroupStatus())
        made = [_copied(pod, number, name) for pod in pods]
        return GroupCopy(*with_group_claims_made(new, made, templates, are_made=makes_group_claims))

    return copy


def _copied(pod: Pod, number: int, group: str) -> Pod:
    meta = pod.metadata
    own = ObjectMeta(
        name=f"{meta.name}-{number}",
        namespace=meta.namespace,
        labels=meta.labels,
        annotations=meta.annotations,
        owner_references=meta.owner_references,
    )
    spec = replace(pod.spec, node_name="", scheduling_group=PodSchedulingGroup(pod_group_name=group))
    return replace(pod, metadata=own, spec=spec, status=PodStatus())


def count_groups(
    cache: Cache,
    profiles: Mapping[str, Profile],
    copies: GroupCopies,
    name: str,
    *,
    is_new: bool = False,
    wanted: int = 1,
    evicting: bool = False,
) -> GroupCapacity:
    """Raises nothing; the cache is afterwards as it was. `name` is that of the group, or what a new one consists of."""
    first = copies(1)
    key = topology_key(first.group) if cache.gates.topology_aware_workload_scheduling else None
    found = GroupCapacity(name, len(first.pods), wanted, within=key or "", is_new=is_new)
    decider = Decider(profiles)
    with cache.trial():
        for number in count(1):
            found.stop = _place_one(cache, profiles, decider, copies(number), found)
            if found.stop or found.groups == GROUPS_MAX:
                break
        if evicting:
            _count_by_evicting(cache, profiles, copies, found)
    return found


def _place_one(
    cache: Cache, profiles: Mapping[str, Profile], decider: Decider, copy: GroupCopy, found: GroupCapacity
) -> str:
    """Add one more, or say why it does not fit."""
    members = _members(cache, copy)
    attempt = attempt_group(cache, profiles, copy.group, members, decider=decider, in_full=False)
    if len(attempt.bound) < len(members):
        if found.within and attempt.found is not None and not attempt.found.placements:
            return f"{attempt.root.message}: no node that may take it has the label {found.within}"
        placed = attempt.found.placed if attempt.found is not None else None
        unfit = next((each.message for each in placed.tried if not each.fits), "") if placed is not None else ""
        return unfit or attempt.root.message
    for outcome in attempt.bound:
        profile = profiles[outcome.member.info.scheduler_name]
        assume(cache, profile, outcome.member, cache.nodes.rows_by_name[outcome.node])
        found.by_node[outcome.node] += 1
    found.groups += 1
    if found.within and attempt.found is not None and attempt.found.chosen:
        found.by_domain[attempt.found.chosen] += 1
    return ""


def _count_by_evicting(
    cache: Cache, profiles: Mapping[str, Profile], copies: GroupCopies, found: GroupCapacity
) -> None:
    """Go on where the others ended, with whoever has to go for it."""
    placer = GroupPlacer(cache, profiles, gated=True)
    victims: list[str] = []
    found.by_evicting = 0
    for number in count(found.groups + 1):
        copy = copies(number)
        members = _members(cache, copy)
        placed = placer.place(object_key(copy.group), members)
        if any(each.node is None for each in placed) or number > GROUPS_MAX:
            break
        found.by_evicting += 1
        victims += [victim for each in placed for victim in each.victims]
    found.victims = tuple(victims)


def _members(cache: Cache, copy: GroupCopy) -> list[Member]:
    for obj in (copy.group, *copy.own):
        cache.add(obj)
    return [Member(pod, cache.info(pod), queued_at=position) for position, pod in enumerate(copy.pods)]
