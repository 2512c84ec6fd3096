"""Every preemption of a run: preemptor, victims, violated budgets and the deciding criterion.

The scheduler reports its choice before anything has changed, so that the search can be repeated with its full record.
This is done for the first N preemptions only; for later ones the victims and budgets are known, but not the other
candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from bayplan.analysis.simulation.results.run_format import (
    GroupPreemptionDetails,
    PreemptionDetails,
    RecordedPreemption,
    RecordedUnit,
    Victim,
)
from bayplan.core.actions import Evict
from bayplan.core.columns import row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.decision import Choice, Decision, NeedsPreemption, Outcome
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.groups.cycle import GroupAttempt
from bayplan.core.groups.preempting import GroupPreemption
from bayplan.core.preemption.candidates import find_potential_victims
from bayplan.core.preemption.record import short_record
from bayplan.core.preemption.search import Searched
from bayplan.core.preemption.unit_search import UnitsFound
from bayplan.core.scoring import first_by_name
from bayplan.core.snapshot import View
from bayplan.model.pod import group_key

#: Candidates kept in a record, the chosen one among them; a large cluster has thousands of them.
CANDIDATES_KEPT = 12
#: Units kept in the record of a group's preemption, and all that had to go.
UNITS_KEPT = 50
ONLY_ONE = "the only node where evicting pods makes room"
EQUAL = "equal by every criterion; the first by name"
RECORDED = "equal by every criterion; the one that was recorded"


@dataclass(slots=True)
class LoggedPreemption:
    """A preemption with the exact time and the uids by which cascades are found."""

    preemption: RecordedPreemption
    preemptor_uid: str
    at: int = 0  # nanoseconds since the start
    evicted: list[str] = field(default_factory=list)  # uids of those that were not leaving already


class PreemptionLog:
    """All preemptions, in order of time."""

    def __init__(self, profiles: Mapping[str, Profile], started_at: int, records_max: int) -> None:
        self._profiles = profiles
        self._started_at = started_at
        self._records_max = records_max
        self._chosen: LoggedPreemption | None = None  # the last one found; perhaps it was not allowed
        self.entries: list[LoggedPreemption] = []

    def chosen(self, pod: PodInfo, view: View, choice: Choice | CycleError) -> None:
        """Keeps a choice that has victims, which is decided at once or not at all."""
        if not isinstance(choice, NeedsPreemption):
            return
        row = choice.row
        broken = find_potential_victims(pod, view, row_array([row])).broken_budgets() if view.objects.budgets else {}
        victims = [
            Victim(view.pods.keys[victim], int(view.pods.priorities[victim]), broken.get(int(victim), []))
            for victim in choice.victims_on(row)
        ]
        is_recorded = len(self.entries) < self._records_max
        decided, record = self._explain(pod, view, choice) if is_recorded else ("", None)
        made = RecordedPreemption(0.0, pod.key, pod.priority, view.nodes.names[row], victims, decided, record)
        self._chosen = LoggedPreemption(made, pod.uid)

    def group_tried(self, attempt: GroupAttempt, view: View) -> None:
        """Keeps an attempt on a group that has victims; its first member stands for it."""
        preemption = attempt.preemption
        if preemption is None or not preemption.evicted:
            return
        pods = view.pods
        victims = [
            Victim(key, int(pods.priorities[pods.rows_by_key[key]]), preemption.broken.get(key, []))
            for key in preemption.victims
        ]
        key, node = next(iter(preemption.proposed.items()))
        uid = next(each.member.info.uid for each in attempt.outcomes if each.member.key == key)
        decided = f"for all pods of {attempt.key}"
        made = RecordedPreemption(0.0, key, attempt.group.spec.priority or 0, node, victims, decided, None)
        if len(self.entries) < self._records_max:
            made.for_group = _group_details(attempt.key, preemption, view)
        self._chosen = LoggedPreemption(made, uid)

    def decided(self, decision: Decision, now: int) -> None:
        """Records the decision to preempt that the last choice led to."""
        chosen = self._chosen
        assert chosen is not None
        assert decision.outcome is Outcome.NOMINATED
        assert decision.group or decision.pod == chosen.preemption.preemptor
        chosen.at = now - self._started_at
        chosen.preemption.t = chosen.at / 1e9
        chosen.evicted = [action.uid for action in decision.actions if isinstance(action, Evict)]
        self.entries.append(chosen)

    def _explain(self, pod: PodInfo, view: View, choice: NeedsPreemption) -> tuple[str, PreemptionDetails | None]:
        """What decided, and all that was tried."""
        searched = choice.found
        if not isinstance(
            searched, Searched | UnitsFound
        ):  # candidates that were kept from earlier: look for them again
            found = attempt(self._profiles[pod.scheduler_name], pod, view, choice.search_start)
            again = found.post_filter.found if found.post_filter is not None else None
            if not isinstance(again, Searched):
                return "", None
            searched = again
        record = short_record(searched, view, searched.filtered, choice.row, CANDIDATES_KEPT)
        decided = _deciding(searched)
        if decided == EQUAL and choice.row != first_by_name(choice.tied_rows, view):
            decided = RECORDED
        return decided, msgspec.convert(record, PreemptionDetails | None)


def _group_details(key: str, preemption: GroupPreemption, view: View) -> GroupPreemptionDetails:
    """All units that had to go, and some of those that could stay."""
    gone = [unit for unit in preemption.units if not unit.may_stay]
    kept = [unit for unit in preemption.units if unit.may_stay][: max(0, UNITS_KEPT - len(gone))]
    names, pods = view.pods.keys, view.pods
    recorded = [
        RecordedUnit(
            group_key(pods.grouped[tried.unit.pod_rows[0]]) if tried.unit.is_group else None,
            [names[row] for row in tried.unit.pod_rows],
            tried.unit.priority,
            tried.violations,
            tried.may_stay,
        )
        for tried in (*gone, *kept)
    ]
    left_out = len(preemption.units) - len(recorded)
    return GroupPreemptionDetails(key, preemption.proposed, recorded, left_out)


def _deciding(searched: Searched | UnitsFound) -> str:
    if len(searched.candidates.rows) == 1:
        return ONLY_ONE
    steps = searched.selection.steps
    return steps[-1].criterion if steps and len(steps[-1].kept) == 1 else EQUAL
