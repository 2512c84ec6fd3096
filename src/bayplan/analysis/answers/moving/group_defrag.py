"""Which pods to move so that a pod group fits: in one of its topology domains, or anywhere if it has none.

In each domain the members that fit now get their nodes; for each one that is missing, a solver proposes the fewest
moves off one node. Proposals are played with real decisions, those of the fewest moves first: afterwards the whole
group has to be scheduled. That no fewer moves would do is said only where arithmetic shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course
from bayplan.analysis.answers.moving.defrag import MOVES_MAX, SearchLimits
from bayplan.analysis.answers.moving.playing import DoesNotHoldError, Played, PlayedMove, play
from bayplan.analysis.answers.moving.room import Move, direct_moves, moves_at_least
from bayplan.analysis.answers.moving.stock import Fixed, Stock, kind_of, take_stock
from bayplan.analysis.answers.stage import Stage
from bayplan.analysis.cluster_objects import unbound
from bayplan.analysis.group_explanation import members_held_back
from bayplan.analysis.references import not_found
from bayplan.analysis.showing import Shown
from bayplan.core.columns import RowArray, row_array, row_mask
from bayplan.core.groups.feasible import min_count
from bayplan.core.groups.member import Member, try_member
from bayplan.core.groups.placements import find_placement
from bayplan.core.groups.placing import GroupStage, assume
from bayplan.core.groups.waiting import in_order
from bayplan.model.groups import PodGroup, topology_key
from bayplan.model.kinds import object_key
from bayplan.model.pod import group_key

#: Nodes of a domain for which a solver is asked, for each missing member.
_NODES_ASKED = 8


@dataclass(frozen=True, slots=True, repr=False)
class GroupDefrag(Shown):
    """The answer."""

    group: str  # namespace/name
    needed: int  # members that have to get a node
    within: str = ""  # the label of which all of them need the same value
    fits_on: Mapping[str, str] = field(default_factory=dict)  # pod -> node, if it needs no moves
    evicts: tuple[str, ...] = ()  # pods of lower priority that it preempts without any moves
    steps: tuple[PlayedMove, ...] | None = None  # None: none were found that hold
    nodes: Mapping[str, str] = field(default_factory=dict)  # pod -> node, after the moves
    domain: str = ""  # that room is made in
    targets: tuple[str, ...] = ()  # nodes to cordon until the last pod has left
    bound: int | None = 0  # fewer moves cannot suffice; None: no moves can
    max_moves: int = MOVES_MAX
    failures: Mapping[str, int] = field(default_factory=dict)  # why proposals did not hold, and how often
    fixed: Mapping[Fixed, int] = field(default_factory=dict)  # pods that are not moved, by reason

    @property
    def works(self) -> bool:
        return bool(self.fits_on) or self.steps is not None

    @property
    def is_proven(self) -> bool:
        """Whether no fewer moves would do."""
        return self.steps is not None and self.bound is not None and len(self.steps) <= self.bound

    def to_dict(self) -> dict[str, Any]:
        return {
            "works": self.works,
            "group": self.group,
            "needed": self.needed,
            "within": self.within or None,
            "fitsOn": dict(self.fits_on),
            "evicts": list(self.evicts),
            "moves": None if self.steps is None else [step.to_dict() for step in self.steps],
            "domain": self.domain or None,
            "nodes": dict(self.nodes),
            "cordoned": list(self.targets),
            "atLeast": self.bound,
            "proven": self.is_proven,
            "maxMoves": self.max_moves,
            "failures": [{"reason": reason, "proposals": count} for reason, count in self.failures.items()],
            "notMoved": [{"reason": reason.value, "pods": count} for reason, count in self.fixed.items()],
        }


def group_defrag(
    asking: Asking,
    key: str,
    limits: SearchLimits = SearchLimits(),  # noqa: B008 - never changes
) -> GroupDefrag:
    """Raises InvalidObject for a group that is not there, or of which no pod waits or may be tried."""
    stage = Stage(asking)
    with stage.course() as course:
        waiting = [pod for pod in course.waiting if group_key(course.waiting[pod].pod) == key]
        course.settle()
        group = _found(asking, course, key, waiting)
        scheduled = len(course.cache.pods.scheduled_members(key))
        wanted = _Wanted(group, tuple(waiting), max(1, min_count(group) - scheduled))
        nodes = {pod: node for pod in waiting if (node := course.node_of(pod))}
        evicts = tuple(each.pod for each in course.departures if each.by in waiting)
    within = topology_key(group) if asking.configuration.gates.topology_aware_workload_scheduling else None
    answer = GroupDefrag(key, wanted.needed, within or "", max_moves=limits.moves, evicts=evicts)
    if nodes:
        return replace(answer, needed=len(nodes), fits_on=nodes)
    return _GroupSearch(stage, wanted, limits).answer(answer)


def _found(asking: Asking, course: Course, key: str, waiting: Sequence[str]) -> PodGroup:
    """The group. Raises InvalidObject if room would not help."""
    namespace, _, name = key.partition("/")
    group = course.cache.objects.pod_groups.get((namespace, name))
    what = f"PodGroup {key}"
    if group is None:
        raise not_found(what, "not found in the input")
    reasons = [why for pod, why in course.held_back.items() if group_key(asking.cluster.find_pod(pod)) == key]
    members = _members(course, [pod for pod in waiting if pod in course.waiting])
    if members:
        held_back = members_held_back(course.cache, asking.profiles, key, group, members)
        reasons += [status.message for status in held_back.values()]
    if reasons:
        raise not_found(what, f"is not tried, so room would not help: {reasons[0]}")
    if not waiting:
        raise not_found(what, "has no pod that waits")
    return group


def _members(course: Course, keys: Sequence[str]) -> list[Member]:
    """Pods that wait, in the order in which they are tried."""
    waiting = [course.waiting[key] for key in keys]
    return in_order(Member(each.pod, course.cache.info(each.pod), queued_at=each.arrival) for each in waiting)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The pods of a group that need a node."""

    group: PodGroup
    keys: tuple[str, ...]
    needed: int

    def create(self, course: Course) -> None:
        """They wait already."""


@dataclass(frozen=True, slots=True)
class _Proposal:
    """Moves after which, by arithmetic, enough members fit in a domain."""

    domain: str
    moves: tuple[Move, ...]
    targets: tuple[str, ...]


class _StuckError(Exception):
    """No moves are proposed for this domain."""


class _GroupSearch:
    """For few moves that hold."""

    def __init__(self, stage: Stage, wanted: _Wanted, limits: SearchLimits) -> None:
        self._stage, self._wanted, self._limits = stage, wanted, limits
        self._ends = monotonic() + limits.seconds
        self._bounds: list[float] = []  # of each domain
        self._failures: Counter[str] = Counter()
        self._fixed: Mapping[Fixed, int] = {}

    def answer(self, answer: GroupDefrag) -> GroupDefrag:
        proposals = sorted(self._proposals(), key=lambda each: (len(each.moves), each.domain))
        played, domain = self._played(proposals)
        least = min(self._bounds, default=inf)
        return replace(
            answer,
            steps=played.steps if played is not None else None,
            nodes=played.nodes if played is not None else {},
            domain=domain,
            targets=played.targets if played is not None else (),
            bound=None if least == inf else int(least),
            failures=dict(self._failures.most_common()),
            fixed=self._fixed,
        )

    def _played(self, proposals: Sequence[_Proposal]) -> tuple[Played | None, str]:
        """The first proposal that holds."""
        for number, proposal in enumerate(proposals):
            self._stage.asking.tell("moves: domains tried", number, len(proposals))
            try:
                return play(self._stage, self._wanted, proposal.targets, proposal.moves), proposal.domain
            except DoesNotHoldError as error:
                self._failures[str(error)] += 1
            if monotonic() > self._ends:
                break
        return None, ""

    def _proposals(self) -> Iterator[_Proposal]:
        with self._stage.course() as course:
            course.settle()
            cache = course.cache
            members = _members(course, self._wanted.keys)
            profile = self._stage.asking.profile_of(members[0].pod)
            stage = GroupStage(cache, profile, self._wanted.group, members, in_full=False)
            domains = _domains_of(stage)
            for number, (name, rows) in enumerate(domains):
                self._stage.asking.tell("looking for moves: domains", number, len(domains))
                if monotonic() > self._ends:
                    self._bounds.append(1)
                    return
                try:
                    with cache.trial():
                        proposal = self._proposed(course, stage, name, rows)
                except _StuckError:
                    continue
                if len(proposal.moves) <= self._limits.moves:
                    yield proposal

    def _proposed(self, course: Course, stage: GroupStage, domain: str, rows: RowArray) -> _Proposal:
        """The members that fit have their nodes; then room is made for one after another. Raises _StuckError."""
        taken, missing = _place_who_fits(stage, rows)
        moves: list[Move] = []
        moved = {object_key(pod) for pod in course.pods.values() if group_key(pod) == object_key(stage.group)}
        for member in missing[: max(0, self._wanted.needed - len(taken))]:
            stock = take_stock(self._stage.asking, course, moved)
            if not moves:
                self._fixed = dict(Counter(stock.fixed.values()).most_common())
            row, found = self._room_for(stage, member, stock, rows, taken, is_first=not moves)
            _carry_out(course, found)
            tried = try_member(stage.profile, member, course.cache.view(), row_mask(row_array([row]), len(stock.names)))
            if not tried.fits:
                raise _StuckError
            assume(course.cache, stage.profile, member, tried.row)
            taken.append(row)
            moves += found
            moved.update(move.pod for move in found)
        names = course.cache.nodes.names
        return _Proposal(domain, tuple(moves), tuple(sorted({names[row] for row in taken})))

    def _room_for(
        self, stage: GroupStage, member: Member, stock: Stock, rows: RowArray, taken: Sequence[int], *, is_first: bool
    ) -> tuple[int, Sequence[Move]]:
        """The node of the domain that takes the fewest moves. Raises _StuckError."""
        kind, lots = kind_of(stage.profile, member.info, stage.cache.view()), stock.lots_by_node()
        bounds = {
            row: moves_at_least(stock, kind, lots.get(row, ()), row)
            for row in rows.tolist()
            if kind.possible[row] and stock.alive[row]
        }
        if is_first:
            alike = all(each.info.shape is member.info.shape for each in stage.members)
            self._bounds.append(max(1, min(bounds.values(), default=inf)) if alike else 1)
        best: tuple[int, tuple[Move, ...]] | None = None
        asked = sorted((bound, row) for row, bound in bounds.items() if bound < inf and kind.likely[row])
        for bound, row in asked[:_NODES_ASKED]:
            if best is not None and bound >= len(best[1]):
                break
            kept = {(lot.kind.info.shape.serial, at) for lot in stock.lots for at in (row, *taken)}
            proposal = direct_moves(stock, kind, row, kept, self._ends - monotonic())
            if proposal.moves is not None and (best is None or len(proposal.moves) < len(best[1])):
                best = row, proposal.moves
        if best is None:
            raise _StuckError
        return best


def _domains_of(stage: GroupStage) -> list[tuple[str, RowArray]]:
    found = find_placement(stage).placements
    if found is None or [each.name for each in found] == [""]:
        return [("", np.flatnonzero(stage.cache.view().nodes.alive))]
    return [(each.name, each.rows) for each in found]


def _place_who_fits(stage: GroupStage, rows: RowArray) -> tuple[list[int], list[Member]]:
    """The nodes of the members that fit in the domain now, and the others."""
    cache, among = stage.cache, row_mask(rows, stage.cache.nodes.count)
    taken: list[int] = []
    missing: list[Member] = []
    for member in stage.members:
        tried = try_member(stage.profile, member, cache.view(), among)
        if tried.fits:
            assume(cache, stage.profile, member, tried.row)
            taken.append(tried.row)
        else:
            missing.append(member)
    return taken, missing


def _carry_out(course: Course, moves: Sequence[Move]) -> None:
    for move in moves:
        pod = unbound(course.pods[move.pod])
        course.cache.remove_pod(move.pod)
        course.cache.add_pod(pod, move.destination)
