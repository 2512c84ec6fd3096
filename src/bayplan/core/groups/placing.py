"""All members of a group on some nodes, one after another; afterwards everything is as it was.

Each member counts for the next ones: it takes room, and what it needs is reserved. The first that cannot be tried
ends the attempt, and so does the moment when too few members are left for the group to make sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bayplan.core.cache import Cache
from bayplan.core.columns import BoolArray
from bayplan.core.deciding import Decider
from bayplan.core.framework.group_contract import PodGroupInfo
from bayplan.core.framework.group_observer import NOBODY, GroupObserver
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.core.groups.feasible import feasibility
from bayplan.core.groups.member import Member, Tried, try_member
from bayplan.core.groups.status import FITS, GroupStatus, error_status, unschedulable_group
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key


@dataclass(slots=True)
class Placed:
    """What came of placing a group on some nodes."""

    status: GroupStatus
    tried: list[Tried] = field(default_factory=list)  # in the order of members; those after the end were not

    @property
    def assigned(self) -> list[Tried]:
        """The members that fit."""
        return [each for each in self.tried if each.fits]


@dataclass(slots=True)
class GroupStage:
    """Where a group is tried: a cache, the profile of its pods, and the group with its members in order."""

    cache: Cache
    profile: Profile
    group: PodGroup
    members: Sequence[Member]
    decider: Decider | None = None  # that may know pods of these kinds
    leaves_out_strays: bool = False  # groups with a pod on a node that is gone do not keep others from preempting
    in_full: bool = True  # whether it is to be known of every placement where each member would go
    observer: GroupObserver = NOBODY

    @property
    def scheduled_count(self) -> int:
        """Members that have a node."""
        return len(self.cache.pods.scheduled_members(object_key(self.group)))

    @property
    def info(self) -> PodGroupInfo:
        """The group as plugins see it."""
        scheduled = self.cache.pods.scheduled_members(object_key(self.group))
        return PodGroupInfo(self.group, [each.info for each in self.members], scheduled)

    def feasibility(self, scheduled: int, remaining: int) -> GroupStatus:
        if not self.profile.groups.counts_gangs:
            return FITS
        return feasibility(self.group, scheduled, remaining)

    def place(self, among: BoolArray | None = None) -> Placed:
        """Try all members among these nodes (None: all), and take everything back."""
        remaining, scheduled = len(self.members), self.scheduled_count
        placed = Placed(self.feasibility(scheduled, remaining))
        if placed.status.code is Code.UNSCHEDULABLE:
            placed.status = unschedulable_group(*placed.status.reasons)
            return placed
        with self.cache.trial():
            for member in self.members:
                tried = self._try(member, among)
                placed.tried.append(tried)
                if tried.code is Code.ERROR:
                    placed.status = error_status(f"failed to schedule other pod from a pod group: {tried.message}")
                    break
                remaining, scheduled = remaining - 1, scheduled + tried.fits
                placed.status = self.feasibility(scheduled, remaining)
                if placed.status.code is Code.UNSCHEDULABLE:
                    break
        if placed.status.code is Code.WAIT:
            placed.status = unschedulable_group(*placed.status.reasons)
        return placed

    def _try(self, member: Member, among: BoolArray | None) -> Tried:
        tried = try_member(self.profile, member, self.cache.view(), among, self.decider)
        if tried.fits:
            try:
                assume(self.cache, self.profile, member, tried.row)
            except CycleError as error:
                return Tried(member, Code.ERROR, error.message, loses_nomination=True)
        return tried


def assume(cache: Cache, profile: Profile, member: Member, row: int) -> None:
    """The member is on that node, with what it needs there; if it was nominated that is over. Raises CycleError."""
    view, info = cache.view(), member.info
    for objects in [plugin.reserve(info, view, row) for plugin in profile.reserve]:
        for obj in objects:
            cache.objects.put(obj)
    if info.key in cache.pods.rows_by_key:
        cache.remove_pod(info.key)
    cache.add_pod(member.pod, view.nodes.names[row], info)
