"""One member of a group, tried as a single pod is, but without preemption: its group preempts as a whole.

Takes a view and the nodes in question; gives a node or why there is none. Places nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bayplan.core.columns import BoolArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import nominated_row
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.core.diagnosis import NO_NODES, fit_error
from bayplan.core.extending import add_extender_scores, filter_by_extenders
from bayplan.core.filtering import Filtered, PreFilterResult, filter_nodes, run_pre_filters
from bayplan.core.framework.contract import SKIP, Skip, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.core.scoring import Scored, first_by_name, score_nodes
from bayplan.core.snapshot import View
from bayplan.model import structs
from bayplan.model.pod import Pod


@dataclass(slots=True, eq=False)
class Member:
    """A pending pod of a group, with its place among the others."""

    pod: Pod
    info: PodInfo
    attempts: int = 0
    queued_at: int = 0

    @property
    def key(self) -> str:
        return self.info.key


@dataclass(slots=True)
class Tried:
    """What came of trying a member."""

    member: Member
    code: Code
    message: str = ""  # why it fits nowhere
    row: int = -1  # where it fits
    node: str = ""
    tied_rows: RowArray | None = None  # nodes with the same total, where there was a choice
    rejectors: tuple[str, ...] = ()
    skipped: frozenset[str] = frozenset()  # plugins whose PreFilter had nothing to do for it
    reached: frozenset[str] = frozenset()  # plugins whose PreFilter was asked
    states: Mapping[str, State | Skip] = field(default_factory=dict)  # what each of them left for later
    filtered: Filtered | None = None  # what the filters said of all nodes; of pods with claims
    loses_nomination: bool = False  # what it needs could not be reserved

    @property
    def fits(self) -> bool:
        return self.code is Code.SUCCESS


@dataclass(slots=True)
class _Attempt:
    """One member's way through the plugins."""

    profile: Profile
    member: Member
    view: View
    among: BoolArray | None
    decider: Decider | None = None
    pre: PreFilterResult | None = field(default=None)
    filtered: Filtered | None = field(default=None)

    def run(self) -> Tried:
        in_question = self.view.nodes.alive if self.among is None else self.view.nodes.alive & self.among
        if not in_question.any():
            return Tried(self.member, Code.UNRESOLVABLE, NO_NODES)
        try:
            if (known := self._decided()) is not None:
                return known
            nominated = nominated_row(self.profile, self.member.info, self.view, self.among)
            if nominated is None:
                tried = self._search()
            else:
                row, self.pre = nominated
                tried = self._found(row)
        except CycleError as error:
            tried = Tried(self.member, Code.ERROR, error.message)
        if self.pre is not None:
            tried.skipped = frozenset(name for name, state in self.pre.states.items() if state is SKIP)
            tried.reached = frozenset(self.pre.ran)
            tried.states = self.pre.states
            tried.filtered = self.filtered
        return tried

    def _decided(self) -> Tried | None:
        """The best node as one that decides on pods alone finds it, with what it knows of such pods; None: none."""
        pod, profile = self.member.info, self.profile
        if self.decider is None or self.among is not None or pod.nominated_node_name:
            return None
        if profile.percentage_of_nodes_to_score is not None or profile.extenders or pod.claims is not None:
            return None
        choice = self.decider.decide(structs.replace(pod, preemption_policy="Never"), self.view)
        if not isinstance(choice, Fits):
            return None
        reached = frozenset(plugin.name for plugin in profile.pre_filter)
        return replace(self._found(choice.row), tied_rows=choice.tied_rows, reached=reached)

    def _found(self, row: int) -> Tried:
        return Tried(self.member, Code.SUCCESS, row=row, node=self.view.nodes.names[row])

    def _search(self) -> Tried:
        """The best of all nodes in question. Raises CycleError."""
        view, pod, profile = self.view, self.member.info, self.profile
        self.pre = run_pre_filters(profile, pod, view)
        filtered = filter_nodes(profile, pod, view, self.pre, among=self.among)
        filtered = filter_by_extenders(profile.extenders, pod, view, filtered)
        if pod.claims is not None:
            self.filtered = filtered
        if len(filtered.feasible_rows):
            return self._best(filtered.feasible_rows)
        code = filtered.pre.status.code if not filtered.pre.status.ok else Code.UNSCHEDULABLE
        message = fit_error(filtered, view, "", self.among)
        return Tried(self.member, code, message, rejectors=filtered.rejectors(view))

    def _best(self, rows: RowArray) -> Tried:
        view, pod, profile = self.view, self.member.info, self.profile
        if len(rows) == 1:
            return self._found(int(rows[0]))
        scored: Scored = score_nodes(profile, pod, view, rows)
        add_extender_scores(profile.extenders, pod, view, scored)
        best = scored.best_rows()
        return replace(self._found(first_by_name(best, view)), tied_rows=best)


def try_member(
    profile: Profile, member: Member, view: View, among: BoolArray | None, decider: Decider | None = None
) -> Tried:
    """Where the member fits among these nodes (None: all), or why nowhere.

    With a decider, which knows other pods of the kind, this takes less time; which plugins skipped is not known then.
    """
    return _Attempt(profile, member, view, among, decider).run()
