"""Keeps a preemptor out of the queue while its victims are being evicted: the PreEnqueue of DefaultPreemption.

Is told by the scheduler who that is; gives a status for each pod, and the one cluster event at which such a pod is
looked at again. Evicts nothing. Upstream: plugins/defaultpreemption/default_preemption.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.requeue import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Code, Status, unresolvable
from bayplan.model.pod import Pod

WAITING = "waiting for the preemption for this pod to be finished"
_IS_PREEMPTING = unresolvable(WAITING)
GROUP_WAITING = "waiting for the preemption for this pod group to be finished"


class PreemptionGate:
    """Asks `is_preempting` whether victims of the pod with this key are still being evicted."""

    name: ClassVar[str] = DEFAULT_PREEMPTION

    def __init__(self, is_preempting: Callable[[str], bool]) -> None:
        self._is_preempting = is_preempting

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return _IS_PREEMPTING if self._is_preempting(pod.key) else SUCCESS

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        deleted = ClusterEvent(EventResource.POD, ActionType.DELETE)
        return (ClusterEventWithHint(deleted, after_pod_deleted),)


def hold_group_back(is_preempting: bool) -> Status:
    """What is said of each member of a group that waits for evictions."""
    return Status(Code.UNRESOLVABLE, (GROUP_WAITING,), DEFAULT_PREEMPTION) if is_preempting else SUCCESS


def after_pod_deleted(pod: PodInfo, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Hint: never. The plugins that rejected the preemptor know whether that pod was in its way."""
    return False
