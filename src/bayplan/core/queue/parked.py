"""Pods that nothing known can help at the moment: rejected ones, and gated ones.

There may be tens of thousands, and most cluster events help none of them. So pods that no hint can tell apart form a
group: same profile, shape, priority, rejectors and gate. Groups are listed under the plugins whose say matters: all
rejectors or, for gated pods, the gating plugin alone. A cluster event then costs one look for each plugin that has
rejected anybody, and one call of a hint for each group that listens; pods are touched only when they are moved. The one
pod that may differ from its group is the one the cluster event is about.

Hints may therefore look at the shape of a pod, and at its name and uid only to see whether an object is its own. Pods
whose names reach into other objects (claims generated for them) form groups of one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.queue.pod_heap import PodHeap
from bayplan.core.queue.queued_pod import Gathering, Group, QueuedPod, is_alike
from bayplan.model.pod import Pod


class Parked:
    """The unschedulable and the gated pods."""

    def __init__(self) -> None:
        self._by_group: dict[Group, Gathering] = {}
        # profile -> plugin -> groups; a dict without values keeps the order of arrival.
        self._listening: dict[str, dict[str, dict[Group, None]]] = {}
        self._by_age: PodHeap[int, QueuedPod] = PodHeap()
        self.gated_count = 0
        """How many of them are gated; to be read only."""

    def __len__(self) -> int:
        return self._by_age.count

    def add(self, queued: QueuedPod) -> None:
        self._join_group(queued)
        self._by_age.push(queued, queued.idle_since)

    def _join_group(self, queued: QueuedPod) -> None:
        gathering = queued.gathering
        # Nearly always it goes back to those it was with before; unless others formed the group anew meanwhile.
        if gathering is None or not gathering.takes(queued):
            gathering = self._gathering_of(Group.of(queued))
        elif not gathering.members:
            gathering = self._gathering_of(gathering.group, gathering)
        queued.gathering = gathering
        gathering.members[queued.key] = queued
        if queued.gating_plugin:
            self.gated_count += 1

    def replace(self, queued: QueuedPod, pod: Pod, info: PodInfo) -> None:
        """The pod is another now. It is as old as it was, and the last of those it is with."""
        before, gathering = queued.info, queued.gathering
        self._leave_group(queued)
        queued.replace(pod, info)
        if is_alike(before, info):
            queued.gathering = gathering
        self._join_group(queued)

    def remove(self, queued: QueuedPod) -> None:
        self._by_age.remove(queued)
        self._leave_group(queued)

    def take_idle(self, age_ns: int, now: int) -> list[QueuedPod]:
        """Takes out those that nothing has moved for that long, the longest waiting first."""
        taken = self._by_age.pop_below(now - age_ns)
        for queued in taken:
            self._leave_group(queued)
        return taken

    def _leave_group(self, queued: QueuedPod) -> None:
        gathering = queued.gathering
        assert gathering is not None
        del gathering.members[queued.key]
        if not gathering.members:
            self._dissolve(gathering.group)
        if gathering.group.gating_plugin:
            self.gated_count -= 1

    def first_of(self, group: Group) -> QueuedPod | None:
        """The member that came first."""
        return next(iter(self._members(group).values()), None)

    def all(self) -> list[QueuedPod]:
        return [queued for gathering in self._by_group.values() for queued in gathering.members.values()]

    def reached(self, profile: str, interested: Container[str]) -> Iterator[tuple[Group, Mapping[str, QueuedPod]]]:
        """Groups that listen through an interested plugin, each once, with their members by key."""
        seen: set[Group] = set()
        for plugin, groups in self._listening.get(profile, {}).items():
            if plugin in interested:
                for group in groups:
                    if group not in seen:
                        seen.add(group)
                        yield group, self._members(group)

    def longest_idle_since(self) -> int | None:
        queued = self._by_age.first()
        return None if queued is None else queued.idle_since

    def _members(self, group: Group) -> Mapping[str, QueuedPod]:
        gathering = self._by_group.get(group)
        return {} if gathering is None else gathering.members

    def _gathering_of(self, group: Group, empty: Gathering | None = None) -> Gathering:
        """Those of that group, or else the empty gathering, to be filled anew."""
        return self._by_group.get(group) or self._form(group, empty or Gathering(group))

    def _form(self, group: Group, gathering: Gathering) -> Gathering:
        assert group.listeners, "a pod that nobody rejected would never be woken"
        for plugin in group.listeners:
            self._listening.setdefault(group.profile, {}).setdefault(plugin, {})[group] = None
        self._by_group[group] = gathering
        return gathering

    def _dissolve(self, group: Group) -> None:
        del self._by_group[group]
        by_plugin = self._listening[group.profile]
        for plugin in group.listeners:
            del by_plugin[plugin][group]
            if not by_plugin[plugin]:
                del by_plugin[plugin]
