"""Every preemption of a run: who made room for whom, which budgets that broke, and what decided.

The scheduler reports what it found for a pod before anything has changed, so that the search can be done once more
with its full record. That is done for the first preemptions only, as many as were asked for; of later ones the
victims and budgets are known, but not what else was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayplan.core.actions import Evict
from bayplan.core.columns import row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.decision import Decision, NeedsPreemption, Outcome
from bayplan.core.framework.profile import Profile
from bayplan.core.preemption.candidates import find_potential_victims
from bayplan.core.preemption.record import short_record
from bayplan.core.preemption.search import Searched
from bayplan.core.snapshot import View

Plain = dict[str, Any]
#: Candidates kept in a record, the chosen one among them; a large cluster has thousands of them.
CANDIDATES_KEPT = 12
ONLY_ONE = "the only node where evicting pods makes room"
EQUAL = "equal by every criterion; the first by name"


@dataclass(slots=True)
class Preemption:
    """One decision to evict."""

    at: int  # nanoseconds since the start
    preemptor: str
    preemptor_uid: str
    priority: int
    node: str
    victims: list[Plain]
    evicted: list[str] = field(default_factory=list)  # uids of those that were not leaving already
    decided: str = ""
    record: Plain | None = None

    def to_dict(self) -> Plain:
        return {
            "t": self.at / 1e9,
            "preemptor": self.preemptor,
            "priority": self.priority,
            "node": self.node,
            "victims": self.victims,
            "decided": self.decided,
            "record": self.record,
        }


class PreemptionLog:
    """All preemptions, in order of time."""

    def __init__(self, profiles: Mapping[str, Profile], started_at: int, records_max: int) -> None:
        self._profiles = profiles
        self._started_at = started_at
        self._records_max = records_max
        self._chosen: Preemption | None = None  # found, not yet decided
        self.preemptions: list[Preemption] = []

    def found(self, pod: PodInfo, view: View, choice: NeedsPreemption) -> None:
        """The scheduler has found victims."""
        row = choice.row
        victims = choice.victims_on(row)
        broken = _broken_budgets(pod, view, row) if view.objects.budgets else {}
        self._chosen = Preemption(
            at=0,
            preemptor=pod.key,
            preemptor_uid=pod.uid,
            priority=pod.priority,
            node=view.nodes.names[row],
            victims=[
                {
                    "pod": view.pods.keys[victim],
                    "priority": int(view.pods.priorities[victim]),
                    "breaks": broken.get(int(victim), []),
                }
                for victim in victims
            ],
        )
        if len(self.preemptions) < self._records_max:
            self._explain(self._chosen, pod, view, choice.search_start)

    def decided(self, decision: Decision, now: int) -> bool:
        """The scheduler has made up its mind; whether that was to preempt."""
        chosen, self._chosen = self._chosen, None
        if decision.outcome is not Outcome.NOMINATED or chosen is None or chosen.preemptor != decision.pod:
            return False
        chosen.at = now - self._started_at
        chosen.evicted = [action.uid for action in decision.actions if isinstance(action, Evict)]
        self.preemptions.append(chosen)
        return True

    def _explain(self, made: Preemption, pod: PodInfo, view: View, start: int) -> None:
        found = attempt(self._profiles[pod.scheduler_name], pod, view, start)
        if found.post_filter is None or found.filtered is None:
            return
        preemption = found.post_filter.preemption
        chosen_row = view.nodes.rows_by_name[made.node]
        made.record = short_record(preemption, view, found.filtered, chosen_row, CANDIDATES_KEPT)
        if isinstance(preemption.found, Searched):
            made.decided = _deciding(preemption.found)


def _broken_budgets(pod: PodInfo, view: View, node_row: int) -> dict[int, list[str]]:
    """Pod row -> budgets that its eviction breaks, worked out for the chosen node alone."""
    potential = find_potential_victims(pod, view, row_array([node_row]))
    broken: dict[int, list[str]] = {}
    for budget, covered in potential.protection.by_budget.items():
        for position in np.flatnonzero(covered):
            broken.setdefault(int(potential.pod_rows[position]), []).append(budget)
    return broken


def _deciding(searched: Searched) -> str:
    if len(searched.candidates.rows) == 1:
        return ONLY_ONE
    steps = searched.selection.steps
    return steps[-1].criterion if steps and len(steps[-1].kept) == 1 else EQUAL
