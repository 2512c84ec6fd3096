"""The PodGroupPostFilter chain: what is tried when a group does not fit, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.framework.verdict import Code, CycleError, Status, unschedulable
from bayplan.core.groups.member import Tried
from bayplan.core.groups.placements import topology_key
from bayplan.core.groups.placing import Stage
from bayplan.core.groups.preempting import GroupPreemption, preempt
from bayplan.core.plugins.dynamic_resources import DYNAMIC_RESOURCES
from bayplan.core.preemption.post_filter import DEFAULT_PREEMPTION, STATE_NOT_FOUND


def run_group_post_filters(stage: Stage, tried: Sequence[Tried]) -> GroupPreemption:
    """Ask the plugins in order until one succeeds or fails for good; the status is that of all together."""
    reasons: list[str] = []
    result = GroupPreemption(unschedulable())
    for name in stage.profile.groups.post_filter:
        if name == DEFAULT_PREEMPTION:
            result = _preempt(stage)
            status = result.status
        elif name == DYNAMIC_RESOURCES:
            status = _give_devices_back(stage, tried)
        else:
            continue
        if status.code is Code.ERROR:
            text = f'error in "{name}" PodGroupPostFilter plugins: {status.message}'
            result.status = Status(Code.ERROR, (text,), name)
            return result
        if status.code is not Code.UNSCHEDULABLE:
            return result
        reasons += status.reasons
    result.status = unschedulable(*reasons)
    return result


def _preempt(stage: Stage) -> GroupPreemption:
    try:
        found = preempt(stage)
    except CycleError as error:
        found = GroupPreemption(Status(Code.ERROR, (error.message,)))
    found.status = Status(found.status.code, (f"pod group preemption: {found.status.message}",), DEFAULT_PREEMPTION)
    return found


def _give_devices_back(stage: Stage, tried: Sequence[Tried]) -> Status:
    """What DynamicResources says; the claims of members stay as they are."""
    divides = stage.cache.gates.topology_aware_workload_scheduling
    if divides and topology_key(stage.group) is not None:
        return unschedulable()
    if not any(each.asked_about_devices for each in tried):
        return Status(Code.ERROR, (STATE_NOT_FOUND,), DYNAMIC_RESOURCES)
    return unschedulable("deallocation and deletion of ResourceClaims completed")
