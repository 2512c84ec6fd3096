"""Groups that wait for each other: each has pods on nodes, lacks more, and what it lacks is held by the next one.

A group is taken to wait for those of whose pods not all could stay if it were to be placed: all pods of other waiting
groups go, and come back one by one as long as there is room. Those that cannot come back hold what is needed. A group
that would be placed as things are, or could preempt, waits for nobody. Whether pods that do not wait will end some day
is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.group_explanation import members_held_back
from bayplan.config.loading import Configuration
from bayplan.config.registry import build_profiles
from bayplan.core.cache import Cache
from bayplan.core.framework.profile import Profile
from bayplan.core.groups.cycle import attempt_group
from bayplan.core.groups.member import Member
from bayplan.core.groups.waiting import in_order
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """A group of a circle, and who holds what it needs."""

    group: str
    waiting: tuple[str, ...]  # its pods without a node
    waits_for: str  # the next group of the circle
    held_by: tuple[str, ...]  # the pods of that group that hold what is needed


@dataclass(frozen=True, slots=True)
class Deadlock:
    """Groups in a circle, the first by name first."""

    groups: tuple[WaitingGroup, ...]

    @property
    def names(self) -> list[str]:
        return [each.group for each in self.groups]


@dataclass(frozen=True, slots=True)
class _Stuck:
    """A group that waits although some of its pods have a node."""

    group: PodGroup
    members: list[Member]
    on_nodes: tuple[str, ...]  # keys of those pods

    @property
    def key(self) -> str:
        return object_key(self.group)


def find_deadlocks(cluster: Cluster, configuration: Configuration) -> list[Deadlock]:
    """Each group is in one deadlock at most. The gate GenericWorkload is on."""
    profiles = build_profiles(configuration)
    cache = cluster.build_cache(profiles=profiles, gates=configuration.gates)
    groups = [
        obj for obj in cluster.objects if isinstance(obj, PodGroup) and not obj.spec.parent_composite_pod_group_name
    ]
    found = [_stuck(cluster, cache, profiles, group) for group in groups]
    stuck = {each.key: each for each in found if each is not None}
    if len(stuck) < 2:  # nobody to wait for
        return []
    holders = {key: _holders(cache, profiles, each, stuck.values()) for key, each in stuck.items()}
    deadlocks: list[Deadlock] = []
    told: set[str] = set()
    for key in sorted(holders):
        circle = [] if key in told else _circle(key, holders, told)
        if circle:
            told.update(circle)
            deadlocks.append(_deadlock(circle, stuck, holders))
    return deadlocks


def _stuck(cluster: Cluster, cache: Cache, profiles: Mapping[str, Profile], group: PodGroup) -> _Stuck | None:
    key = object_key(group)
    _, members = cluster.group_members(key, profiles, cache)
    rows = cache.pods.scheduled_members(key)
    if not members or not rows:
        return None
    ordered = in_order(members)
    if members_held_back(cache, profiles, key, group, ordered):
        return None
    return _Stuck(group, ordered, tuple(sorted(cache.pods.keys[row] for row in rows)))


def _holders(
    cache: Cache, profiles: Mapping[str, Profile], waiting: _Stuck, stuck: Collection[_Stuck]
) -> dict[str, list[str]]:
    """Pods that hold what the group needs, by their group; empty if it does not wait for other groups alone."""
    if _would_go_on(cache, profiles, waiting):
        return {}
    pods = cache.pods
    others = [(key, each.key) for each in stuck if each is not waiting for key in each.on_nodes]
    rows = {key: pods.rows_by_key[key] for key, _ in others}
    nodes = {key: int(pods.node_rows[row]) for key, row in rows.items()}
    held: dict[str, list[str]] = {}
    with cache.trial():
        for row in rows.values():
            cache.remove_row(row)
        if not _would_go_on(cache, profiles, waiting):
            return {}
        for key, group in others:
            cache.bring_back(rows[key], nodes[key])
            if not _would_go_on(cache, profiles, waiting):
                cache.remove_row(rows[key])
                held.setdefault(group, []).append(key)
    return held


def _would_go_on(cache: Cache, profiles: Mapping[str, Profile], waiting: _Stuck) -> bool:
    """Whether members would be bound, or somebody evicted for them."""
    attempt = attempt_group(cache, profiles, waiting.group, waiting.members)
    return bool(attempt.bound) or (attempt.preemption is not None and attempt.preemption.status.ok)


def _circle(start: str, holders: Mapping[str, Mapping[str, object]], left_out: Collection[str]) -> list[str]:
    """The shortest way from a group over those that it waits for back to itself; empty if there is none."""
    ways: list[list[str]] = [[start]]
    seen: set[str] = set()
    while ways:
        following: list[list[str]] = []
        for way in ways:
            for after in sorted(holders[way[-1]]):
                if after == start:
                    return way
                if after not in seen and after not in left_out:
                    seen.add(after)
                    following.append([*way, after])
        ways = following
    return []


def _deadlock(
    circle: Sequence[str], stuck: Mapping[str, _Stuck], holders: Mapping[str, Mapping[str, Iterable[str]]]
) -> Deadlock:
    after = [*circle[1:], circle[0]]
    return Deadlock(
        tuple(
            WaitingGroup(key, tuple(each.key for each in stuck[key].members), held, tuple(holders[key][held]))
            for key, held in zip(circle, after, strict=True)
        )
    )
