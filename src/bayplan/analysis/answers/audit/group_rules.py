"""Pod groups that never can be scheduled as they are, or that keep others from it.

Takes PodGroups and pods as they are written, whether or not the scheduler has its gates for them. Only where groups are
on is it found out which of them wait for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.audit.audited import Audited, name_of
from bayplan.analysis.answers.audit.cascade import can_be_decided
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.analysis.answers.gangs.deadlocks import find_deadlocks
from bayplan.core.framework.requeue import Wakeups
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key


def group_findings(audited: Audited) -> Iterator[Finding]:
    groups, members = _groups(audited), _members(audited)
    for key, pods in members.items():
        group = groups.get(key)
        if group is not None:
            yield from _members_that_differ(group, pods)
            yield from _strays(audited, group, pods)
        elif not audited.lacks(PodGroup):
            why = f"there is no pod group {key}, and {len(pods):,} of its pods are there or to come"
            yield Finding("group-missing", name_of(pods[0]), why)
    for key, group in groups.items():
        gang = group.spec.scheduling_policy.gang
        if gang is not None and len(members[key]) < gang.min_count:
            why = f"minCount is {gang.min_count:,}, and {len(members[key]):,} of its pods are there or to come"
            yield Finding("group-too-small", name_of(group), why)
    yield from _deadlocks(audited)


def whole_groups(audited: Audited) -> dict[str, tuple[PodGroup, list[Pod]]]:
    """Groups that have as many pods as they need, there or to come, which all are for this scheduler and agree."""
    found: dict[str, tuple[PodGroup, list[Pod]]] = {}
    groups, members = _groups(audited), _members(audited)
    for key, group in groups.items():
        pods, gang = members[key], group.spec.scheduling_policy.gang
        enough = len(pods) >= (gang.min_count if gang is not None else 1)
        ours = all(can_be_decided(audited.asking, pod) for pod in pods)
        if enough and ours and not any(_members_that_differ(group, pods)):
            found[key] = group, pods
    return found


def _groups(audited: Audited) -> dict[str, PodGroup]:
    return {object_key(obj): obj for obj in audited.cluster.objects if isinstance(obj, PodGroup)}


def _members(audited: Audited) -> defaultdict[str, list[Pod]]:
    """Pods by group, those that are there and those to come."""
    members: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in (*audited.pods, *(new.pod for new in audited.planned.by_key.values())):
        if key := group_key(pod):
            members[key].append(pod)
    return members


def _deadlocks(audited: Audited) -> Iterator[Finding]:
    configuration = audited.asking.configuration
    if not configuration.gates.generic_workload or not audited.nodes:
        return
    for deadlock in find_deadlocks(audited.cluster, configuration):
        waits = [
            f"{each.group} waits for pods of {each.waits_for}, such as {each.held_by[0]}" for each in deadlock.groups
        ]
        yield Finding("groups-deadlocked", f"PodGroup {deadlock.names[0]}", "; ".join(waits))


def _members_that_differ(group: PodGroup, pods: Sequence[Pod]) -> Iterator[Finding]:
    """The scheduler refuses the whole group, running pods included."""
    priority = group.spec.priority or 0
    for pod in pods:
        if (pod.spec.priority or 0) != priority:
            why = f"{object_key(pod)} has priority {pod.spec.priority or 0}, the group {priority}"
            yield Finding("group-differs", name_of(group), why)
            return
    by_scheduler = {pod.spec.scheduler_name: object_key(pod) for pod in pods}
    if len(by_scheduler) > 1:
        why = " and ".join(f"{pod} is for {scheduler}" for scheduler, pod in sorted(by_scheduler.items()))
        yield Finding("group-differs", name_of(group), why)


def _strays(audited: Audited, group: PodGroup, pods: Sequence[Pod]) -> Iterator[Finding]:
    """A group with no pod on any other node is not looked at by whoever preempts."""
    mode = group.spec.disruption_mode
    if audited.asking.configuration.wakeups is Wakeups.COMPLETE:
        return  # such groups are left out there
    if mode is None or mode.all is None or not any(pod.spec.node_name in audited.nodes for pod in pods):
        return
    for pod in pods:
        node = pod.spec.node_name
        if node and node not in audited.nodes:
            yield Finding(
                "group-on-missing-node", name_of(group), f"{object_key(pod)} is on {node}, which does not exist"
            )
            return
