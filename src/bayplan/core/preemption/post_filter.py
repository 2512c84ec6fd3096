"""The PostFilter chain: what is tried when a pod fits nowhere, and what is said about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import histogram, nodes_available_message
from bayplan.core.filtering import Filtered
from bayplan.core.framework.args import DefaultPreemptionArgs
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Code, Status, unschedulable
from bayplan.core.plugins.dynamic_resources import NO_CLAIMS_REASON
from bayplan.core.preemption.candidates import Candidates, DryRun, candidates_of, dry_run, statuses_without_success
from bayplan.core.preemption.eligible import ineligible_reason
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.preemption.select import Selection, select
from bayplan.core.snapshot import View

DYNAMIC_RESOURCES = "DynamicResources"
DEFAULT_PREEMPTION = "DefaultPreemption"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
#: What DynamicResources says when its PreFilter was never reached: its state cannot be found.
STATE_NOT_FOUND = "not found"


@dataclass(slots=True)
class Preemption:
    """Everything preemption looked at."""

    ran: bool = False
    ineligible_reason: str = ""
    dry_run: DryRun | None = None
    candidates: Candidates | None = None
    selection: Selection | None = None
    node_statuses: dict[int, Status] = field(default_factory=dict)  # node row -> why trying it did not help

    @property
    def tied_rows(self) -> RowArray:
        """Nodes the criteria leave."""
        if self.candidates is None or self.selection is None:
            return np.zeros(0, dtype=np.intp)
        return self.candidates.rows[self.selection.tied]

    def victims_on(self, node_row: int) -> RowArray:
        assert self.candidates is not None
        return self.candidates.victims_of(int(np.searchsorted(self.candidates.rows, node_row)))


@dataclass(slots=True)
class PostFilterResult:
    """The chain's verdict, and preemption's part in it."""

    status: Status
    preemption: Preemption

    @property
    def message(self) -> str:
        return self.status.message


def run_post_filters(profile: Profile, pod: PodInfo, view: View, filtered: Filtered) -> PostFilterResult:
    """Ask the PostFilter plugins in order until one succeeds or fails for good."""
    preemption = Preemption()
    reasons: list[str] = []
    for name in profile.post_filter:
        if name == DYNAMIC_RESOURCES:
            status = _dynamic_resources(filtered)
        elif name == DEFAULT_PREEMPTION:
            status = preempt(profile.preemption, pod, view, filtered, preemption)
        else:
            continue
        if status.code is not Code.UNSCHEDULABLE:
            return PostFilterResult(status, preemption)
        reasons += status.reasons
    return PostFilterResult(unschedulable(*reasons), preemption)


def _dynamic_resources(filtered: Filtered) -> Status:
    if DYNAMIC_RESOURCES not in filtered.pre.ran:
        return Status(Code.ERROR, (STATE_NOT_FOUND,), DYNAMIC_RESOURCES)
    return unschedulable(NO_CLAIMS_REASON)


def preempt(
    args: DefaultPreemptionArgs | None, pod: PodInfo, view: View, filtered: Filtered, into: Preemption
) -> Status:
    """Fill `into` with what was found; the status is that of DefaultPreemption's PostFilter."""
    into.ineligible_reason = ineligible_reason(pod, view, filtered)
    if into.ineligible_reason:
        return unschedulable(f"preemption: {into.ineligible_reason}")
    into.ran = True
    rows = potential_rows(filtered, view)
    into.dry_run = dry_run(pod, view, filtered, rows)
    into.node_statuses = statuses_without_success(into.dry_run, view, filtered)
    into.candidates = candidates_of(into.dry_run, view)
    if args is not None:
        into.candidates = stop_early(into.candidates, _wanted(args, len(rows)))
    into.selection = select(into.candidates, view)
    if len(into.candidates.rows):
        return SUCCESS
    return _no_candidate(into, view)


def _wanted(args: DefaultPreemptionArgs, potential: int) -> int:
    share = potential * args.min_candidate_nodes_percentage // 100
    return min(max(share, args.min_candidate_nodes_absolute), potential)


def stop_early(candidates: Candidates, wanted: int) -> Candidates:
    """What upstream's search would have found had it gone through the nodes in row order, one at a time.

    It ends when `wanted` candidates are found and at least one of them breaks no budget.
    """
    harmless_seen = np.cumsum(candidates.violations == 0) > 0
    enough = harmless_seen & (np.arange(1, len(candidates.rows) + 1) >= wanted)
    if not enough.any():
        return candidates
    count = int(np.argmax(enough)) + 1
    bounds = candidates.bounds[: count + 1]
    return Candidates(
        candidates.rows[:count], candidates.victim_rows[: bounds[-1]], bounds, candidates.violations[:count]
    )


def _no_candidate(found: Preemption, view: View) -> Status:
    errors = sorted({s.message for s in found.node_statuses.values() if s.code is Code.ERROR})
    if errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return Status(Code.ERROR, (f"preemption: {text}",), DEFAULT_PREEMPTION)
    reasons: Counter[str] = Counter()
    for status in found.node_statuses.values():
        reasons.update(status.reasons)
    untried = view.nodes.alive_count - len(found.node_statuses)
    if untried:
        reasons[NOT_HELPFUL] += untried
    detail = histogram(reasons)
    return unschedulable(f"preemption: {nodes_available_message(view.nodes.alive_count, detail)}")
