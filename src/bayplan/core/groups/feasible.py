"""Whether enough members of a group can still be placed: GangScheduling's PlacementFeasible."""

from __future__ import annotations

from bayplan.core.framework.verdict import Code
from bayplan.core.groups.status import FITS, GroupStatus
from bayplan.model.groups import PodGroup


def min_count(group: PodGroup) -> int:
    """How many pods it takes: of a gang as many as it says, of any other one."""
    gang = group.spec.scheduling_policy.gang
    return gang.min_count if gang is not None else 1


def feasibility(group: PodGroup, scheduled: int, remaining: int) -> GroupStatus:
    """With so many members on nodes and so many not tried yet: Success, Wait or Unschedulable."""
    needed = min_count(group)
    counts = f"{scheduled} scheduled, {remaining} remaining"
    if scheduled + remaining < needed:
        return GroupStatus(Code.UNSCHEDULABLE, "", (f"minCount ({needed}) cannot be satisfied: {counts}",))
    if scheduled < needed:
        return GroupStatus(Code.WAIT, "", (f"minCount ({needed}) is not yet satisfied: {counts}",))
    return FITS
