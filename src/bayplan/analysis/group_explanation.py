"""What would become of a group if it were tried now, as plain data.

Takes the objects of a cluster and the name of a PodGroup; gives where its members are in the queue, and if they are
tried, what each of them and the group are told, which placements were tried and who would be evicted. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bayplan.core.cache import Cache
from bayplan.core.explain import plain_status
from bayplan.core.failure_handling import cut_note
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.framework.verdict import Status
from bayplan.core.groups.cycle import (
    FAILED_SCHEDULING,
    INITIALLY_SCHEDULED,
    SCHEDULED,
    GroupAttempt,
    PodOutcome,
    attempt_group,
)
from bayplan.core.groups.member import Member
from bayplan.core.groups.placements import FoundPlacement, TriedPlacement
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.core.groups.status import GroupStatus
from bayplan.core.groups.waiting import in_order, pre_enqueue_status
from bayplan.core.snapshot import View
from bayplan.model.conditions import find_condition
from bayplan.model.groups import PodGroup
from bayplan.model.meta import Condition
from bayplan.model.well_known import POD_SCHEDULED

Plain = dict[str, Any]


class GroupPlace(StrEnum):
    """Where a group is before it is tried."""

    ACTIVE = "active"
    GATED = "gated"
    INCOMPLETE = "incomplete"
    ABSENT = "absent"
    BACKOFF = "backoff"


@dataclass(slots=True)
class GroupExplanation:
    """An attempt to schedule a group, or why there is none."""

    key: str
    place: GroupPlace
    members: list[Member] = field(default_factory=list)  # those that wait, in the order in which they are tried
    held_back: dict[str, Status] = field(default_factory=dict)  # members that PreEnqueue rejects
    attempt: GroupAttempt | None = None
    condition: Condition | None = None
    view: View | None = None
    requeued: dict[str, str] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether enough members would be bound."""
        return self.attempt is not None and bool(self.attempt.bound)

    def to_dict(self) -> Plain:
        """In the shape of the conformance cases."""
        plain: Plain = {
            "queued": self.place.value,
            "order": [],
            "condition": plain_condition(self.condition),
            "pods": {},
            "preemption": None,
        }
        attempt, view = self.attempt, self.view
        if attempt is None or view is None:
            return plain | {"preEnqueue": {key: plain_status(status) for key, status in self.held_back.items()}}
        plain |= {
            "order": [each.member.key for each in attempt.outcomes],
            "pods": {each.member.key: plain_outcome(each) for each in attempt.outcomes},
            "preemption": plain_preemption(attempt.preemption, view),
            "requeued": self.requeued,
        }
        if attempt.found is not None:
            plain |= plain_placements(attempt.found, view)
        elif view.objects.gates.topology_aware_workload_scheduling:
            plain |= {"placements": [], "chosen": None}
        return plain


def explain_group(
    cache: Cache,
    profiles: Mapping[str, Profile],
    key: str,
    group: PodGroup | None,
    members: list[Member],
    wakeups: Wakeups = Wakeups.UPSTREAM,
) -> GroupExplanation:
    """Try the group once, if it is in the active queue; `members` are those that wait."""
    condition = find_condition(group.status.conditions, INITIALLY_SCHEDULED) if group is not None else None
    if not members:
        return GroupExplanation(key, GroupPlace.ABSENT, condition=condition)
    ordered = in_order(members)
    held_back = members_held_back(cache, profiles, key, group, ordered)
    if group is None:
        return GroupExplanation(key, GroupPlace.INCOMPLETE, ordered, held_back)
    if held_back:
        return GroupExplanation(key, GroupPlace.GATED, ordered, held_back, condition=condition)
    attempt = attempt_group(cache, profiles, group, ordered, leaves_out_strays=wakeups is Wakeups.COMPLETE)
    found = GroupExplanation(key, GroupPlace.ACTIVE, ordered, {}, attempt, attempt.condition, cache.view())
    place = GroupPlace.ACTIVE if attempt.root.ok else GroupPlace.BACKOFF
    for each in attempt.outcomes:
        if not each.node and not each.is_skipped:
            found.requeued[each.member.key] = place.value
    return found


def members_held_back(
    cache: Cache, profiles: Mapping[str, Profile], key: str, group: PodGroup | None, members: list[Member]
) -> dict[str, Status]:
    """The members that PreEnqueue rejects, and what it says."""
    count = len(members) + len(cache.pods.scheduled_members(key))
    said = {each.key: pre_enqueue_status(profiles[each.info.scheduler_name], each, group, count) for each in members}
    return {member: status for member, status in said.items() if not status.ok}


def plain_condition(condition: Condition | None) -> Plain | None:
    if condition is None:
        return None
    return {
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
    }


def plain_outcome(outcome: PodOutcome) -> Plain:
    reason, message = _refused_before(outcome.member) if outcome.is_skipped else (outcome.reason, outcome.message)
    plain: Plain = {
        "node": outcome.node or None,
        "nominated": outcome.nominated_after or None,
        "reason": reason or None,
        "message": message if reason else None,
        "event": SCHEDULED if outcome.node else FAILED_SCHEDULING,
    }
    note = f"skip schedule deleting pod: {outcome.member.key}" if outcome.is_skipped else message
    if cut_note(note) != message:
        plain["eventMessage"] = cut_note(note)
    return plain


def _refused_before(member: Member) -> tuple[str, str]:
    """Reason and message of the condition that the pod has, if it says that the pod is not scheduled."""
    condition = find_condition(member.pod.status.conditions, POD_SCHEDULED)
    return (condition.reason, condition.message) if condition is not None and condition.status == "False" else ("", "")


def plain_preemption(preemption: GroupPreemption | None, view: View) -> Plain | None:
    if preemption is None:
        return None
    plain: Plain = {
        "ran": preemption.ran,
        "code": preemption.status.code.value,
        "message": preemption.status.message,
        "victims": preemption.victims,
        "numPDBViolations": preemption.violations,
        "proposed": preemption.proposed,
        "evicted": preemption.evicted,
    }
    if view.objects.gates.topology_aware_workload_scheduling:
        trial = preemption.trial
        plain |= plain_placements(trial, view) if trial is not None else {}
    return plain


def plain_placements(found: FoundPlacement, view: View) -> Plain:
    """Nothing where the nodes are not divided."""
    if found.placements is None:
        return {}
    return {"placements": [_placement(each, view) for each in found.placements], "chosen": found.chosen}


def _placement(placement: TriedPlacement, view: View) -> Plain:
    status: GroupStatus = placement.placed.status
    plain: Plain = {
        "name": placement.name,
        "nodes": sorted(view.nodes.names[row] for row in placement.rows),
        "feasible": status.ok,
        "message": status.message,
        "pods": {each.member.key: each.node or None for each in placement.placed.tried},
    }
    if placement.total is not None:
        plain |= {"scores": placement.scores, "total": placement.total}
    return plain
