"""A pod without a group, tried once where groups are known: it may preempt whole groups.

Gives the same plain outcome as an attempt on a group gives for each member. Binds and evicts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt, choice_of, nominated_row
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, Fits
from bayplan.core.failure_handling import SCHEDULER_ERROR, UNSCHEDULABLE
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code
from bayplan.core.groups.cycle import PodOutcome
from bayplan.core.groups.member import Member
from bayplan.core.preemption.post_filter import PostFilterResult
from bayplan.core.preemption.unit_search import UnitSearch, UnitsFound
from bayplan.core.scoring import first_by_name
from bayplan.core.snapshot import View


@dataclass(slots=True)
class PodAttempt:
    """What one attempt on a pod came to."""

    outcome: PodOutcome
    found: UnitsFound | None = None  # what preemption found, if it looked
    evicted: list[str] = field(default_factory=list)  # sorted


def attempt_pod(cache: Cache, profile: Profile, member: Member) -> PodAttempt:
    """Try the pod once, with preemption. The cache is afterwards as it was."""
    view = cache.view()
    nominated = nominated_row(profile, member.info, view)
    if nominated is not None:
        return PodAttempt(PodOutcome(member, node=view.nodes.names[nominated[0]]))
    tried = attempt(profile, member.info, view, search=UnitSearch(cache, profile))
    if tried.error is not None:
        return PodAttempt(PodOutcome(member, reason=SCHEDULER_ERROR, message=tried.message, nominated=""))
    if tried.scored is not None:
        best = first_by_name(tried.scored.best_rows(), view)
        return PodAttempt(PodOutcome(member, node=view.nodes.names[best]))
    outcome = PodOutcome(member, reason=UNSCHEDULABLE, message=tried.message)
    if tried.filtered is not None:
        outcome.rejectors = tried.filtered.rejectors(view)
    result = tried.post_filter
    if result is None:  # there are no nodes
        outcome.nominated = ""
        return PodAttempt(outcome)
    found = result.found if isinstance(result.found, UnitsFound) else None
    return _with_victims(cache, PodAttempt(outcome, found), result)


def decide_pod(
    decider: Decider, cache: Cache, profile: Profile, info: PodInfo, view: View, *, leaves_out_strays: bool = False
) -> Choice:
    """What the decider says, unless pods have to go, and there are groups that would have to go as a whole.

    Raises CycleError.
    """
    choice = decider.decide(info, view)
    if isinstance(choice, Fits) or not view.pods.grouped:
        return choice
    return choice_of(
        attempt(profile, info, view, search=UnitSearch(cache, profile, leaves_out_strays=leaves_out_strays)), view, 0
    )


def _with_victims(cache: Cache, attempted: PodAttempt, result: PostFilterResult) -> PodAttempt:
    found, outcome, view = attempted.found, attempted.outcome, cache.view()
    if result.status.code is Code.SUCCESS and found is not None:
        row = first_by_name(found.tied_rows, view)
        outcome.nominated = view.nodes.names[row]
        victims = [victim for victim in found.victims_on(row).tolist() if not view.pods.terminating[victim]]
        attempted.evicted = sorted(view.pods.keys[victim] for victim in victims)
    elif not result.keeps_nomination:
        outcome.nominated = ""
    return attempted
