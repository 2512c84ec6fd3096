"""Whether a gang may enter the queue: GangScheduling's PreEnqueue, which waits for enough pods to exist."""

from __future__ import annotations

from bayplan.core.framework.group_plugins import GANG_SCHEDULING
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.model.groups import PodGroup
from bayplan.model.selectors import quoted


def may_gang_enter(name: str, group: PodGroup | None, pod_count: int) -> Status:
    """What is said of each pod of the group of that name, which has so many pods, placed or not."""
    if group is None:
        return _wait(f"waiting for pods's pod group {quoted(name)} to appear in scheduling queue")
    gang = group.spec.scheduling_policy.gang
    if gang is not None and pod_count < gang.min_count:
        return _wait("waiting for minCount pods from a gang to appear in scheduling queue")
    return SUCCESS


def _wait(reason: str) -> Status:
    return Status(Code.UNRESOLVABLE, (reason,), GANG_SCHEDULING)
