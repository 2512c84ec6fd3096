"""What an attempt on a pod group came to, written into the group's status."""

from __future__ import annotations

from bayplan.core.actions import SetGroupCondition
from bayplan.core.groups.cycle import INITIALLY_SCHEDULED
from bayplan.model.conditions import TRUE, is_condition_true, with_condition
from bayplan.model.groups import PodGroup
from bayplan.model.meta import Condition
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.performing.requests import Known, PatchStatus, Steps


def set_group_condition(action: SetGroupCondition, known: Known, now: int) -> Steps[None]:
    """A group that is gone, or another by the same name, is left alone; one that was scheduled once stays so."""
    stored = known(PodGroup.__name__, action.group)
    if not isinstance(stored, PodGroup) or stored.metadata.uid != action.uid:
        return
    if action.status != TRUE and is_condition_true(stored.status.conditions, INITIALLY_SCHEDULED):
        return  # the scheduler has not seen yet that it was written
    yield PatchStatus(stored, with_group_condition(stored, action, format_time(now)))


def with_group_condition(group: PodGroup, action: SetGroupCondition, time: str) -> PodGroup:
    """The group with what is to be written about it."""
    made = Condition(
        type=INITIALLY_SCHEDULED,
        status=action.status,
        reason=action.reason,
        message=action.message,
        observed_generation=action.observed_generation,
    )
    return replace(group, status=replace(group.status, conditions=with_condition(group.status.conditions, made, time)))
