"""Whether a group may enter the queue, and in which order its members are tried."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.framework.group_plugins import GANG_SCHEDULING
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.core.groups.member import Member
from bayplan.core.queue.entrance import may_enter
from bayplan.model.groups import PodGroup
from bayplan.model.selectors import quoted


def in_order(members: Iterable[Member]) -> list[Member]:
    """As they are tried: the most important first, then those tried most often, the oldest, and by name."""
    return sorted(
        members, key=lambda each: (-each.info.priority, -each.attempts, each.queued_at, each.pod.metadata.name)
    )


def entrance(profile: Profile, member: Member, group: PodGroup | None, pod_count: int) -> Status:
    """What PreEnqueue says of a member whose group has so many pods, placed or not; the first plugin that says no."""
    admitted = may_enter(profile.pre_enqueue, member.info)
    if not admitted.ok or not profile.groups.gates_gangs:
        return admitted
    if group is None:
        scheduling_group = member.pod.spec.scheduling_group
        assert scheduling_group is not None
        name = quoted(scheduling_group.pod_group_name)
        return _wait(f"waiting for pods's pod group {name} to appear in scheduling queue")
    gang = group.spec.scheduling_policy.gang
    if gang is not None and pod_count < gang.min_count:
        return _wait("waiting for minCount pods from a gang to appear in scheduling queue")
    return SUCCESS


def _wait(reason: str) -> Status:
    return Status(Code.UNRESOLVABLE, (reason,), GANG_SCHEDULING)
