"""Pods and pod groups placed one after another, without a clock.

A group is placed when the first of its pods has its turn: as many members as fit, if they are enough; then the rest is
tried again, as a scheduler does, until nothing more can be placed. Victims vanish at once, and the group takes their
place. Pods without a group are placed as ever, but may evict whole groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bayplan.analysis.group_explanation import members_held_back
from bayplan.analysis.placement import PlacedPod, Placement, Placer
from bayplan.analysis.tie_breaks import TieBreak
from bayplan.core.cache import Cache
from bayplan.core.deciding import Decider
from bayplan.core.framework.profile import Profile
from bayplan.core.groups.cycle import GroupAttempt, attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.groups.placing import assume
from bayplan.core.groups.waiting import in_order
from bayplan.core.preemption.prepare import let_go
from bayplan.model.groups import PodGroup
from bayplan.model.pod import Pod, group_key
from bayplan.model.structs import replace
from bayplan.worlds.driving import rare_collections


def place_with_groups(
    cache: Cache, profiles: Mapping[str, Profile], pods: Iterable[Pod], choose: TieBreak, *, gated: bool = False
) -> Placement:
    """Place pods and groups into the cache, in the order in which their first pod is given."""
    given = list(pods)
    before = dict(cache.objects.resource_claims)
    placer = Placer(cache, profiles, choose, tries_gated=gated)
    groups: dict[str, list[Member]] = {}
    for position, pod in enumerate(given):
        if pod.spec.scheduling_group is not None:
            member = Member(pod, cache.info(pod), queued_at=position)
            groups.setdefault(group_key(pod), []).append(member)
    decisions: list[PlacedPod] = []
    with rare_collections():
        for pod in given:
            if pod.spec.scheduling_group is None:
                decisions.append(placer.place(pod))
            elif (members := groups.pop(group_key(pod), None)) is not None:
                decisions += GroupPlacer(cache, profiles, gated=gated).place(group_key(pod), in_order(members))
    claims = (claim for name, claim in cache.objects.resource_claims.items() if before.get(name) is not claim)
    return Placement(tuple(decisions), tuple(claims))


class GroupPlacer:
    """Places groups into a cache."""

    def __init__(
        self,
        cache: Cache,
        profiles: Mapping[str, Profile],
        *,
        gated: bool,
        decider: Decider | None = None,
        leaves_out_strays: bool = False,
    ) -> None:
        """`decider` may know pods of these kinds; it changes nothing but the time that it takes."""
        self._cache = cache
        self._profiles = profiles
        self._tries_gated = gated
        self._decider = decider
        self._leaves_out_strays = leaves_out_strays

    def place(self, key: str, members: list[Member]) -> list[PlacedPod]:
        """What becomes of each member, in the order in which they were placed; those that were not come last."""
        namespace, _, name = key.partition("/")
        group = self._cache.objects.pod_groups.get((namespace, name))
        held_back = members_held_back(self._cache, self._profiles, key, group, members)
        if group is None or (held_back and not self._tries_gated):
            first = next(iter(held_back.values()))
            said = (held_back.get(each.key, first).message for each in members)
            return [PlacedPod(each.key, None, None, message=why) for each, why in zip(members, said, strict=True)]
        return self._place(group, members)

    def _place(self, group: PodGroup, members: Sequence[Member]) -> list[PlacedPod]:
        placed: list[PlacedPod] = []
        waiting = list(members)
        victims: tuple[str, ...] = ()
        while waiting:
            attempt = attempt_group(
                self._cache,
                self._profiles,
                group,
                waiting,
                decider=self._decider,
                leaves_out_strays=self._leaves_out_strays,
                in_full=self._decider is None,
            )
            if attempt.bound:
                placed += self._settle(attempt, victims)
                done = {each.member.key for each in attempt.bound}
                waiting, victims = [each for each in waiting if each.key not in done], ()
            elif attempt.preemption is not None and attempt.preemption.evicted:
                victims = tuple(attempt.preemption.victims)
                self._make_room(attempt, waiting)
            else:
                placed += self._left(attempt, victims)
                break
        return placed

    def _settle(self, attempt: GroupAttempt, victims: tuple[str, ...]) -> list[PlacedPod]:
        """Those that fit run from now on; the victims are those of the first."""
        placed: list[PlacedPod] = []
        for each in attempt.bound:
            member, rows = each.member, self._cache.nodes.rows_by_name
            assume(self._cache, self._profiles[member.info.scheduler_name], member, rows[each.node])
            placed.append(PlacedPod(member.key, each.node, None, victims=() if placed else victims))
        return placed

    def _left(self, attempt: GroupAttempt, victims: tuple[str, ...]) -> list[PlacedPod]:
        """Those that have no node; nothing is kept any longer for members that lose their nomination."""
        for each in attempt.outcomes:
            if not each.nominated_after and each.member.key in self._cache.pods.rows_by_key:
                self._cache.remove_pod(each.member.key)
        keys = [each.member.key for each in attempt.outcomes]
        said = {each.member.key: each.message for each in attempt.outcomes}
        return [
            PlacedPod(key, None, None, victims=victims if key == keys[0] else (), message=said[key]) for key in keys
        ]

    def _make_room(self, attempt: GroupAttempt, waiting: Sequence[Member]) -> None:
        """The victims are gone, and members that were given a node are nominated to it."""
        assert attempt.preemption is not None
        let_go(self._cache, attempt.preemption.victims)
        for member in waiting:
            node = attempt.preemption.proposed.get(member.key, "")
            if node:
                member.info = replace(member.info, nominated_node_name=node)
