"""Whether a group may enter the queue, and in which order its members are tried, where there is no queue."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Status
from bayplan.core.groups.member import Member
from bayplan.core.queue.gangs import may_gang_enter
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.model.groups import PodGroup


def in_order(members: Iterable[Member]) -> list[Member]:
    """As they are tried: the most important first, then those tried most often, the oldest, and by name."""
    return sorted(
        members, key=lambda each: (-each.info.priority, -each.attempts, each.queued_at, each.pod.metadata.name)
    )


def pre_enqueue_status(profile: Profile, member: Member, group: PodGroup | None, pod_count: int) -> Status:
    """What PreEnqueue says of a member whose group has so many pods, placed or not; the first plugin that says no."""
    admitted = run_pre_enqueue(profile.pre_enqueue, member.info)
    if not admitted.ok or not profile.groups.gates_gangs:
        return admitted
    return may_gang_enter(member.info.group.partition("/")[2], group, pod_count)
