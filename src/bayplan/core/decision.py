"""What was decided: the `Choice` for a pod on a view, and the scheduler's `Decision` with the actions that follow.

Plain data. Choices are made by `deciding`, decisions by `scheduler`; nothing is chosen, changed or performed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from bayplan.core.actions import Action
from bayplan.core.columns import IntArray, RowArray
from bayplan.core.diagnosis import Diagnosis
from bayplan.core.framework.contract import Found
from bayplan.core.ranking import Ranking
from bayplan.model.structs import Struct, replace


class Fits(Struct, eq=False, gc=False):
    """There is a node the pod fits on now. What it says of other nodes holds while the cache stays as it is."""

    row: int
    total: int | None  # None for a node that was taken without scoring
    order: IntArray  # (nodes,) the better the higher, or (rows,) where only some were in question
    tied_from: int  # in `order`: nodes with this or more have the same total
    rows: RowArray | None = None  # those of `order`; None: all
    ranking: Ranking | None = None  # whose values `order` has, where all nodes were in question

    @property
    def tied_rows(self) -> RowArray:
        """The nodes that have the same total, its own among them."""
        if self.ranking is not None:
            return self.ranking.rows_from(self.tied_from)
        tied = self.order >= self.tied_from
        rows = tied.nonzero()[0]
        return rows if self.rows is None else self.rows.take(rows)


@dataclass(slots=True)
class _NothingFits:
    diagnose: Callable[[], Diagnosis]  # puts into words why; only while the cache stays as it is
    actions: tuple[Action, ...] = field(default=(), kw_only=True)  # that PostFilter plugins ask for, to go first
    _diagnosis: Diagnosis | None = field(default=None, init=False)

    @property
    def diagnosis(self) -> Diagnosis:
        """Why nothing fits. It must be asked for once before the cache changes."""
        if self._diagnosis is None:
            made = self._diagnosis = self.diagnose()
            self.diagnose = lambda: made  # what it was made from takes room, and the choice may be kept for long
        return self._diagnosis


@dataclass(slots=True)
class NeedsPreemption(_NothingFits):
    """Nothing fits, but there is a node the pod would fit on with its victims gone."""

    row: int
    tied_rows: RowArray  # candidates that no criterion tells apart
    found: Found
    search_start: int = 0  # where filtering began, for those who repeat a search that does not look at every node

    def victims_on(self, node_row: int) -> RowArray:
        """Who would have to go from a tied candidate."""
        return self.found.victims_on(node_row)


@dataclass(slots=True)
class Unschedulable(_NothingFits):
    """Nothing fits, and preemption does not help."""

    keeps_nomination: bool = False  # preemption did not look: an earlier nomination stands
    #: The instant at which it goes for all pods of that shape, priority and policy that have no nomination; -1: none.
    for_all_at: int = -1


Choice: TypeAlias = Fits | NeedsPreemption | Unschedulable


class Outcome(StrEnum):
    """What a call of `Scheduler.decide` came to; the values are written into journals."""

    ASSUMED = "assumed"
    WAITING = "waiting"  # at Permit
    NOMINATED = "nominated"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    SKIPPED = "skipped"  # the pod is being deleted
    NO_POD = ""  # no pod was tried, only the outbox was emptied


class Decision(Struct, frozen=True, gc=False):
    """What one call of `Scheduler.decide` came to."""

    pod: str  # namespace/name, "" when no pod was tried
    outcome: Outcome
    node: str = ""
    message: str = ""
    victims: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    ended_at: int = 0  # when extenders had answered; 0: the attempt took no time
    group: str = ""  # namespace/name of a group that was tried instead of a pod
    members: tuple[Decision, ...] = ()  # of the group: what became of each, in the order in which they were tried

    def after(self, actions: tuple[Action, ...]) -> Decision:
        """This decision, with these actions to be performed first."""
        return replace(self, actions=(*actions, *self.actions)) if actions else self
