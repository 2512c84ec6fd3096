"""Pods that have lost their place get another, and so do those that they evict, until everybody is settled.

Takes pods to place and places them in the order of the queue; a victim that somebody would create again joins the
queue. Every decision is the scheduler's own; where pod groups are on, pods of a group are placed together. The queue is
ordered by priority, so that nobody is evicted twice, unless recreated pods have another priority than those that were
evicted. Then a pod may be evicted by one that it has evicted itself: that is a loop, in which nobody is created again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.audit.audited import Audited, is_recreated
from bayplan.analysis.answers.audit.certain_misfits import CertainMisfits
from bayplan.analysis.placement import PlacedPod
from bayplan.config.registry import queue_order
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.groups.member import Member
from bayplan.core.groups.waiting import in_order
from bayplan.model.kinds import object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.structs import replace


@dataclass(slots=True)
class Settled:
    """What became of everybody."""

    stranded: list[tuple[Pod, str]] = field(default_factory=list)  # without a node, and why
    evictions: list[tuple[Pod, Pod]] = field(default_factory=list)  # preemptor and victim
    loops: list[tuple[Pod, Pod]] = field(default_factory=list)  # evictions with which a loop closes


class UnplacedPod(NamedTuple):
    """A pod that has no place yet."""

    pod: Pod
    info: PodInfo


class Cascade:
    """Places pods into one cache."""

    def __init__(
        self, audited: Audited, cache: Cache, renew: Callable[[Pod], Pod], certain_misfits: CertainMisfits | None = None
    ) -> None:
        """`renew` makes the new pod that takes the place of one that is gone; `certain_misfits` need no try."""
        self._audited = audited
        self._cache = cache
        self._renew = renew
        self._certain_misfits = certain_misfits
        self._order = queue_order(audited.asking.profiles)
        self._placer = audited.asking.placer(cache)
        self._group_placer = audited.asking.group_placer(cache, self._placer)
        #: New pods by key. Many are needed again, and what was worked out for such pods is kept as long as they are.
        self._new: dict[str, UnplacedPod] = {}

    def new(self, gone: Pod) -> UnplacedPod:
        """The new pod that takes the place of this one."""
        key = object_key(gone)
        found = self._new.get(key)
        if found is None:
            pod = self._renew(gone)
            found = self._new[key] = UnplacedPod(pod, self._cache.info(pod))
        return found

    def settle(self, pods: Iterable[UnplacedPod], explains: Callable[[Pod], bool] = lambda _: False) -> Settled:
        """None of these pods is in the cache; `explains` tells which need a message if they fit nowhere."""
        result = Settled()
        self._placer.forget_nominations()
        waiting = _Queue(self._cache, self._order)
        pairs: set[tuple[str, str]] = set()

        def evict(preemptor: Pod, victim: Pod) -> None:
            result.evictions.append((preemptor, victim))
            one, other = object_key(preemptor), object_key(victim)
            pairs.add((one, other))
            if (other, one) in pairs:
                result.loops.append((preemptor, victim))
            elif is_recreated(victim) and can_be_decided(self._audited.asking, victim):
                waiting.add(self._with_claims(self.new(victim)))

        here: dict[str, Pod] = {}
        for new in pods:
            waiting.add(self._with_claims(new))
        while (members := waiting.pop()) is not None:
            pods_by_key = {member.key: member.pod for member in members}
            for outcome in self._placed(members, explains):
                pod = pods_by_key[outcome.pod]
                if outcome.node is None:
                    result.stranded.append((pod, outcome.message))
                else:
                    here[outcome.pod] = replace(pod, spec=replace(pod.spec, node_name=outcome.node))
                for key in outcome.victims:
                    evict(pod, here.pop(key) if key in here else self._audited.cluster.pods[key])
        return result

    def _placed(self, members: list[Member], explains: Callable[[Pod], bool]) -> list[PlacedPod]:
        """What becomes of a pod, or of those of a group."""
        pod, info = members[0].pod, members[0].info
        if info.group and self._cache.gates.generic_workload:
            return self._group_placer.place(info.group, in_order(members))
        if self._certain_misfits is not None and self._certain_misfits.is_sure(info):
            return [self._placer.place(pod, info) if explains(pod) else PlacedPod(members[0].key, None, None)]
        return [self._placer.place(pod, info, says_why=explains)]

    def _with_claims(self, new: UnplacedPod) -> UnplacedPod:
        """The new pod knows its claims, which are new as well; those of its predecessor are gone."""
        knowing, claims = self._audited.with_new_claims(new.pod)
        for claim in claims:
            self._cache.add(claim)
        return new if knowing is new.pod else UnplacedPod(knowing, self._cache.info(knowing))


class _Queue:
    """Pods in the order in which they have their turn, those of a group with the first of them."""

    def __init__(self, cache: Cache, order: Callable[[PodInfo, int], object]) -> None:
        self._cache = cache
        self._order = order
        self._arrivals = count()
        self._heap: list[tuple[object, int, Member]] = []
        self._groups: dict[str, list[Member]] = {}

    def add(self, new: UnplacedPod) -> None:
        arrival, info = next(self._arrivals), new.info
        member = Member(new.pod, info, queued_at=arrival)
        if info.group and self._cache.gates.generic_workload:
            self._groups.setdefault(info.group, []).append(member)
            namespace, _, name = info.group.partition("/")
            group = self._cache.objects.pod_groups.get((namespace, name))
            info = replace(info, priority=group.spec.priority or 0 if group is not None else 0)
        heapq.heappush(self._heap, (self._order(info, arrival), arrival, member))

    def pop(self) -> list[Member] | None:
        """A pod alone, or all of a group that wait; None if nobody does."""
        while self._heap:
            member = heapq.heappop(self._heap)[2]
            if not (member.info.group and self._cache.gates.generic_workload):
                return [member]
            if (members := self._groups.pop(member.info.group, None)) is not None:
                return members
        return None


def renewed(pod: Pod) -> Pod:
    """The pod that a controller would create in place of this one, before it has a node."""
    meta = pod.metadata
    fresh = ObjectMeta(
        name=meta.name, namespace=meta.namespace, labels=meta.labels, owner_references=meta.owner_references
    )
    return Pod(metadata=fresh, spec=replace(pod.spec, node_name=""), status=PodStatus())


def can_be_decided(asking: Asking, pod: Pod) -> bool:
    """Whether the pod is left to one of the schedulers that are configured."""
    return pod.spec.scheduler_name in asking.profiles
