"""DefaultPreemption: what may let a preemptor out again that was kept from the queue while its victims were evicted.

Preemption itself is a stage of the core. This is the part of it that the queue knows by the name of a plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Code, Status, unresolvable
from bayplan.core.plugins.requeue_rules import on
from bayplan.model.pod import Pod

WAITING = "waiting for the preemption for this pod to be finished"
_IS_PREEMPTING = unresolvable(WAITING)
GROUP_WAITING = "waiting for the preemption for this pod group to be finished"


class DefaultPreemption:
    """Names the one cluster event at which a gated preemptor is looked at again."""

    name: ClassVar[str] = "DefaultPreemption"

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (on(EventResource.POD, ActionType.DELETE, after_pod_deleted),)


class PreemptionGate(DefaultPreemption):
    """Keeps a preemptor out of the queue while its victims are being evicted; told by the scheduler who that is."""

    def __init__(self, is_preempting: Callable[[str], bool]) -> None:
        self._is_preempting = is_preempting

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return _IS_PREEMPTING if self._is_preempting(pod.key) else SUCCESS


def hold_group_back(is_preempting: bool) -> Status:
    """What is said of each member of a group that waits for evictions."""
    return Status(Code.UNRESOLVABLE, (GROUP_WAITING,), DefaultPreemption.name) if is_preempting else SUCCESS


def after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Hint: never. The plugins that rejected the preemptor know whether that pod was in its way."""
    return False
