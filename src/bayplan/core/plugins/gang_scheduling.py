"""GangScheduling: pods of a gang are bound when enough of them have a node, and wait at Permit until then.

That a gang enters the queue only when enough pods of it exist is said by `bayplan.core.queue.gangs`, and that it is
placed only if enough of them fit by `bayplan.core.groups.feasible`: both look at more than one pod. Here is what brings
a gang back that was kept out. Upstream: plugins/gangscheduling/gangscheduling.go (v1.37).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import Wait, WaitingPod
from bayplan.core.framework.group_plugins import GANG_SCHEDULING
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.snapshot import View
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key
from bayplan.model.time_units import MINUTE

#: How long a pod waits for the others of its gang.
PERMIT_TIMEOUT_NS = 5 * MINUTE


class GangScheduling:
    name: ClassVar[str] = GANG_SCHEDULING

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.UNSCHEDULED_POD, ActionType.ADD, after_pod_added),
            on(EventResource.ASSIGNED_POD, ActionType.ADD, after_pod_added),
            on(EventResource.POD_GROUP, ActionType.ADD, after_group_added),
            on(EventResource.POD_GROUP, ActionType.UPDATE, after_group_updated),
        )

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:  # noqa: ARG002
        if not pod.group:
            return SUCCESS
        group = _group_in(view, pod.group)
        if group is None:
            missing = f'podgroup.scheduling.k8s.io "{pod.group.partition("/")[2]}" not found'
            return Status(Code.ERROR, (f"failed to get podGroup {pod.group}: {missing}",))
        return SUCCESS if _has_enough(view, pod.group, group) else Wait(PERMIT_TIMEOUT_NS)

    def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> Mapping[str, Status]:
        """Whoever waits goes on as soon as enough of the gang have a node."""
        complete: dict[str, bool] = {}
        for each in waiting:
            key = each.pod.group
            if key not in complete:
                group = _group_in(view, key)
                complete[key] = group is not None and _has_enough(view, key, group)
        return {each.pod.key: SUCCESS for each in waiting if complete[each.pod.group]}


def _group_in(view: View, key: str) -> PodGroup | None:
    namespace, _, name = key.partition("/")
    return view.objects.pod_groups.get((namespace, name))


def _has_enough(view: View, key: str, group: PodGroup) -> bool:
    gang = group.spec.scheduling_policy.gang
    return gang is None or len(view.pods.scheduled_members(key)) >= gang.min_count


def after_pod_added(pod: PodInfo, old: None, new: Pod) -> bool:  # noqa: ARG001
    """Hint: the pod that came may be the one that was missing."""
    return bool(pod.group) and pod.group == group_key(new)


def after_group_added(pod: PodInfo, old: None, new: PodGroup) -> bool:  # noqa: ARG001
    return pod.group == object_key(new)


def after_group_updated(pod: PodInfo, old: PodGroup, new: PodGroup) -> bool:
    """Hint: fewer pods may be enough now."""
    before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
    if pod.group != object_key(new) or before is None or after is None:
        return False
    return after.min_count < before.min_count
