"""Pod groups that never can be scheduled as they are, or that keep others from it.

Takes PodGroups and pods as they are written, whether or not the scheduler has its gates for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bayplan.analysis.answers.audit.audited import Audited, name_of
from bayplan.analysis.answers.audit.rules import Finding
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key


def group_findings(audited: Audited) -> Iterator[Finding]:
    groups = {object_key(obj): obj for obj in audited.cluster.objects if isinstance(obj, PodGroup)}
    members: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in (*audited.pods, *(new.pod for new in audited.planned.by_key.values())):
        if key := group_key(pod):
            members[key].append(pod)
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
    if mode is None or mode.all is None or not any(pod.spec.node_name in audited.nodes for pod in pods):
        return
    for pod in pods:
        node = pod.spec.node_name
        if node and node not in audited.nodes:
            yield Finding(
                "group-on-missing-node", name_of(group), f"{object_key(pod)} is on {node}, which does not exist"
            )
            return
