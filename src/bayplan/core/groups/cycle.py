"""One attempt to schedule a group from start to end, and what each pod and the group are told.

Takes the members in the order in which they are tried. Nothing is bound or evicted here: the attempt says what is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bayplan.core.cache import Cache
from bayplan.core.columns.nominated import known_by_name
from bayplan.core.deciding import Decider
from bayplan.core.failure_handling import SCHEDULER_ERROR, UNSCHEDULABLE
from bayplan.core.framework.group_observer import NOBODY, GroupObserver
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code
from bayplan.core.groups.checking import fault_in
from bayplan.core.groups.member import Member, Tried
from bayplan.core.groups.placements import FoundPlacement, find_placement
from bayplan.core.groups.placing import GroupStage
from bayplan.core.groups.post_filter import run_group_post_filters
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.core.groups.status import FITS, UNSCHEDULABLE_GROUP, GroupStatus, error_status
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import object_key
from bayplan.model.meta import Condition

INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
SCHEDULED: Final = "Scheduled"
FAILED_SCHEDULING: Final = "FailedScheduling"


@dataclass(slots=True)
class PodOutcome:
    """What becomes of a member."""

    member: Member
    node: str = ""  # where it is bound
    reason: str = ""  # of its condition PodScheduled, where that is False
    message: str = ""
    nominated: str | None = None  # its nomination from now on; None: as it was
    rejectors: tuple[str, ...] = ()
    is_skipped: bool = False  # it is being deleted, and was not tried

    @property
    def nominated_after(self) -> str:
        if self.node:
            return ""
        return self.member.info.nominated_node_name if self.nominated is None else self.nominated


@dataclass(slots=True)
class GroupAttempt:
    """What one attempt came to."""

    group: PodGroup
    outcomes: list[PodOutcome]  # of all members, in their order
    root: GroupStatus  # how placing went, before preemption; decides how the group returns to the queue
    condition: Condition | None  # of the group, as it is afterwards
    found: FoundPlacement | None = None  # None if the members were not tried
    preemption: GroupPreemption | None = None  # None if it was not reached

    @property
    def key(self) -> str:
        return object_key(self.group)

    @property
    def is_news(self) -> bool:
        """Whether the group's condition is another one than before."""
        before, after = condition_of(self.group), self.condition
        if before is None or after is None:
            return before is not after
        return (before.status, before.reason, before.message, before.observed_generation) != (
            after.status,
            after.reason,
            after.message,
            after.observed_generation,
        )

    @property
    def bound(self) -> list[PodOutcome]:
        return [each for each in self.outcomes if each.node]


def attempt_group(
    cache: Cache,
    profiles: Mapping[str, Profile],
    group: PodGroup,
    members: Sequence[Member],
    *,
    decider: Decider | None = None,
    leaves_out_strays: bool = False,
    in_full: bool = True,
    observer: GroupObserver = NOBODY,
) -> GroupAttempt:
    """Try the group once. There is at least one member; the cache is afterwards as it was.

    What becomes of everybody depends neither on `decider`, which may know pods of these kinds, nor on `in_full`.
    Without the latter, placements that are not taken may say no more than whether they are feasible.
    """
    scheduled = [cache.pods.grouped[row] for row in cache.pods.scheduled_members(object_key(group))]
    fault = fault_in(group, [member.pod for member in members], scheduled, profiles, cache.gates)
    if fault:
        status = error_status(fault)
        outcomes = [PodOutcome(each, reason=SCHEDULER_ERROR, message=fault, nominated="") for each in members]
        return GroupAttempt(group, outcomes, status, condition_after(group, status))
    staying = [each for each in members if each.pod.metadata.deletion_timestamp is None]
    skipped = [PodOutcome(each, is_skipped=True) for each in members if each not in staying]
    if not staying:
        return GroupAttempt(group, skipped, FITS, condition_of(group))
    stage = GroupStage(
        cache, profiles[staying[0].info.scheduler_name], group, staying, decider, leaves_out_strays, in_full, observer
    )
    with cache.trial():
        forget_specs_of_nominated(cache, members)
        found = find_placement(stage)
        attempt = GroupAttempt(group, [], found.placed.status, None, found)
        status = found.placed.status
        if status.code is Code.UNSCHEDULABLE:
            preemption = attempt.preemption = run_group_post_filters(stage, found.placed.tried)
            said = preemption.status
            status = error_status(said.message) if said.code is Code.ERROR else status.because(said.message)
    outcomes = _Telling(found, status, attempt.preemption).outcomes(staying)
    by_key = {each.member.key: each for each in (*outcomes, *skipped)}
    attempt.outcomes = [by_key[member.key] for member in members]
    attempt.condition = condition_after(group, status)
    return attempt


def forget_specs_of_nominated(cache: Cache, members: Sequence[Member]) -> None:
    """While a group is tried its members are in no queue, and of those that are nominated upstream finds but the name.

    Such a pod takes a place on its node and nothing else there, and has priority 0.
    """
    for member in members:
        row = cache.pods.rows_by_key.get(member.key)
        place = cache.nominated.place_of(row) if row is not None else None
        if place is not None:
            cache.remove_pod(member.key)
            cache.nominate(known_by_name(member.pod), place[0])


@dataclass(slots=True)
class _Telling:
    """What each member is told."""

    found: FoundPlacement
    status: GroupStatus  # with what preemption said
    preemption: GroupPreemption | None
    nominations: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.nominations = self.preemption.proposed if self.preemption is not None and self._preempts else {}

    @property
    def _preempts(self) -> bool:
        return self.preemption is not None and self.preemption.status.ok

    def outcomes(self, members: Sequence[Member]) -> list[PodOutcome]:
        tried = self.found.placed.tried
        return [self._outcome(member, tried[at] if at < len(tried) else None) for at, member in enumerate(members)]

    def _outcome(self, member: Member, tried: Tried | None) -> PodOutcome:
        if self.status.failed:
            own = tried is not None and tried.code is Code.ERROR
            message = tried.message if tried is not None and own else self.status.message
            return PodOutcome(member, reason=SCHEDULER_ERROR, message=message, nominated="")
        nominated = self.nominations.get(member.key)
        if tried is None:  # it has what was known before preemption was asked
            return PodOutcome(
                member, reason=UNSCHEDULABLE, message=self.found.placed.status.message, nominated=nominated
            )
        if not tried.fits:
            return PodOutcome(
                member, reason=UNSCHEDULABLE, message=tried.message, nominated=nominated, rejectors=tried.rejectors
            )
        if self.status.ok:
            return PodOutcome(member, node=tried.node)
        if self._preempts:
            return PodOutcome(member, reason=UNSCHEDULABLE, message=self.status.message, nominated=nominated)
        message = f"{UNSCHEDULABLE_GROUP}, {self.status.message}"
        return PodOutcome(member, reason=UNSCHEDULABLE, message=message, nominated="")


def condition_of(group: PodGroup) -> Condition | None:
    return find_condition(group.status.conditions, INITIALLY_SCHEDULED)


def condition_after(group: PodGroup, status: GroupStatus) -> Condition | None:
    """The group's condition once the attempt is over. A group that was scheduled once stays so."""
    existing = condition_of(group)
    if existing is not None and existing.status == TRUE and not status.ok:
        return existing
    reason = SCHEDULED if status.ok else SCHEDULER_ERROR if status.failed else UNSCHEDULABLE
    return Condition(
        type=INITIALLY_SCHEDULED,
        status=TRUE if status.ok else "False",
        reason=reason,
        message=status.message,
        observed_generation=group.metadata.generation,
    )
