"""Which pods to move so that a large one fits: the fewest moves that hold when they are played.

For each node that could hold the pod, arithmetic says how many pods must leave at least. Nodes are tried in that order:
a solver proposes moves, and they are played with real decisions. When no other node could do with fewer moves, the
answer is proven. Where pods can leave a node only if others make room for them first, moves are chained. If time runs
out, the answer says how far it may be from the fewest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Arrival
from bayplan.analysis.answers.moving.goal import Goal, goal_for
from bayplan.analysis.answers.moving.playing import DoesNotHoldError, Played, PlayedMove, play
from bayplan.analysis.answers.moving.room import ProposedMoves, chained_moves, direct_moves, least_moves, moves_at_least
from bayplan.analysis.answers.moving.stock import Fixed, PodKind, Stock, kind_of, take_stock
from bayplan.analysis.answers.stage import Stage
from bayplan.analysis.references import not_found
from bayplan.analysis.showing import Shown
from bayplan.model.well_known import DEFAULT_NAMESPACE

SECONDS = 20.0
MOVES_MAX = 50
#: Proposals that are played for one node before the next one gets its turn.
_TRIES_PER_NODE = 3
#: Of the time, what is left for chains, and for proving that fewer moves do not suffice.
_SHARE_FOR_CHAINS = 0.3
_SHARE_FOR_BOUNDS = 0.3


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How far a search may go."""

    moves: int = MOVES_MAX
    seconds: float = SECONDS

    @classmethod
    def of(cls, moves: int | None, seconds: float | None) -> SearchLimits:
        """None: the default."""
        return cls(MOVES_MAX if moves is None else moves, SECONDS if seconds is None else seconds)


@dataclass(frozen=True, slots=True, repr=False)
class Defrag(Shown):
    """The answer."""

    name: str  # as the user wrote it
    pod: str
    is_new: bool  # it does not exist yet
    runs_on: str = ""  # it needs no moves: it fits here already
    evicts: tuple[str, ...] = ()  # pods of lower priority that it preempts without any moves
    steps: tuple[PlayedMove, ...] | None = None  # None: none were found that hold
    node: str = ""  # where the pod runs afterwards
    target: str = ""  # the node to cordon until the last pod has left it
    bound: int | None = 0  # fewer moves cannot suffice; None: no moves can
    max_moves: int = MOVES_MAX
    failures: Mapping[str, int] = field(default_factory=dict)  # why proposals did not hold, and how often
    fixed: Mapping[Fixed, int] = field(default_factory=dict)  # pods that are not moved, by reason

    @property
    def works(self) -> bool:
        return bool(self.runs_on) or self.steps is not None

    @property
    def is_proven(self) -> bool:
        """Whether no fewer moves would do."""
        return self.steps is not None and self.bound is not None and len(self.steps) <= self.bound

    def to_dict(self) -> dict[str, Any]:
        return {
            "works": self.works,
            "pod": self.pod,
            "new": self.is_new,
            "fitsOn": self.runs_on or None,
            "evicts": list(self.evicts),
            "moves": None if self.steps is None else [step.to_dict() for step in self.steps],
            "node": self.node or None,
            "cordoned": self.target or None,
            "atLeast": self.bound,
            "proven": self.is_proven,
            "maxMoves": self.max_moves,
            "failures": [{"reason": reason, "proposals": count} for reason, count in self.failures.items()],
            "notMoved": [{"reason": reason.value, "pods": count} for reason, count in self.fixed.items()],
        }


def defrag(
    asking: Asking,
    wanted: str,
    namespace: str = DEFAULT_NAMESPACE,
    limits: SearchLimits = SearchLimits(),  # noqa: B008 - never changes
) -> Defrag:
    """Raises InvalidObject for a pod that cannot be understood."""
    goal, stage = goal_for(asking, wanted, namespace), Stage(asking)
    with stage.course() as course:
        course.settle()
        if goal.key in course.held_back:
            raise not_found(f"Pod {goal.key}", f"is not tried, so room would not help: {course.held_back[goal.key]}")
        pending = course.waiting.get(goal.key)
        if goal.is_new:
            # What it needs is there; whether it fits is asked below, of a course of its own.
            for obj in (*goal.along, *goal.own):
                course.cache.add(obj)
        pod = pending.pod if pending is not None else goal.pod
        kind = kind_of(asking.profile_of(pod), course.cache.info(pod), course.cache.view())
        stock = take_stock(asking, course, goal.siblings)  # after the pod, which may ask for what nobody else does
    today = _today(stage, goal)
    # The scheduler will not wait for moves: a pending pod that can preempt does so first.
    if today is not None and not (goal.is_new and today.victims):
        return Defrag(goal.name, goal.key, goal.is_new, runs_on=today.node, evicts=today.victims)
    found = _Search(stage, goal, stock, kind, limits).answer()
    return found if today is None else replace(found, evicts=today.victims)


def _today(stage: Stage, goal: Goal) -> Arrival | None:
    """Where the pod goes without any moves, and what it preempts there."""
    with stage.course() as course:
        course.settle()
        goal.create(course)
        course.settle()
    return next((each for each in reversed(course.arrivals) if each.pod == goal.key), None)


class _Search:
    """For the fewest moves that hold."""

    def __init__(self, stage: Stage, goal: Goal, stock: Stock, wanted: PodKind, limits: SearchLimits) -> None:
        self._stage, self._goal, self._stock, self._wanted = stage, goal, stock, wanted
        self._max_moves, seconds = limits.moves, limits.seconds
        self._ends = monotonic() + seconds
        self._direct_ends = self._ends - seconds * (_SHARE_FOR_CHAINS + _SHARE_FOR_BOUNDS)
        self._chains_end = self._ends - seconds * _SHARE_FOR_BOUNDS
        self._best: Played | None = None
        self._failures: Counter[str] = Counter()
        self._rows = {name: row for row, name in enumerate(stock.names)}
        self._serials = {key: lot.kind.info.shape.serial for lot in stock.lots for key in lot.keys}
        lots = stock.lots_by_node()
        rows = np.flatnonzero(wanted.possible & stock.alive).tolist()
        bounds = {row: moves_at_least(stock, wanted, lots.get(row, ()), row) for row in rows}
        #: Node row -> fewer moves cannot make room there.
        self._bounds: dict[int, float] = {row: bound for row, bound in bounds.items() if bound < inf}

    def answer(self) -> Defrag:
        self._try_direct()
        self._try_chains()
        self._raise_bounds()
        best = self._best
        bound = min(self._bounds.values(), default=inf)
        return Defrag(
            name=self._goal.name,
            pod=self._goal.key,
            is_new=self._goal.is_new,
            steps=best.steps if best is not None else None,
            node=best.nodes[self._goal.key] if best is not None else "",
            target=next(iter(best.targets), "") if best is not None else "",
            bound=None if bound == inf else int(bound if best is None else min(bound, len(best.steps))),
            max_moves=self._max_moves,
            failures=dict(self._failures.most_common()),
            fixed=dict(Counter(self._stock.fixed.values()).most_common()),
        )

    @property
    def _fewest(self) -> float:
        """More moves than this are not wanted; the same number neither, once there is an answer."""
        return len(self._best.steps) if self._best is not None else self._max_moves + 1

    def _in_turn(self) -> list[int]:
        """Nodes that may do with fewer moves than those known, the best hope first."""
        rows = [row for row, bound in self._bounds.items() if bound < self._fewest]
        return sorted(rows, key=lambda row: (self._bounds[row], self._stock.names[row]))

    def _told(self, what: str, rows: Sequence[int]) -> Iterator[int]:
        for number, row in enumerate(rows):
            self._stage.asking.tell(what, number, len(rows))
            yield row

    def _try_direct(self) -> None:
        for row in self._told("moves: nodes tried", self._in_turn()):
            if self._bounds[row] >= self._fewest or monotonic() > self._direct_ends:
                return
            if self._wanted.likely[row]:
                self._try_node(row, partial(self._direct, row))

    def _try_chains(self) -> None:
        for row in self._told("chains of moves: nodes tried", self._in_turn()):
            if self._bounds[row] >= self._fewest or monotonic() > self._chains_end:
                return
            if self._wanted.likely[row]:
                self._try_node(row, partial(self._chained, row))

    def _raise_bounds(self) -> None:
        """Of the nodes that may do with the fewest moves, as long as that can still prove something."""
        for row in self._told("proof of the fewest moves: nodes checked", self._in_turn()):
            left = self._ends - monotonic()
            if left <= 0 or self._bounds[row] > min(self._bounds.values()):
                return
            self._bounds[row] = max(self._bounds[row], least_moves(self._stock, self._wanted, row, left))

    def _direct(self, row: int, forbidden: set[tuple[int, int]]) -> ProposedMoves:
        return direct_moves(self._stock, self._wanted, row, forbidden, self._direct_ends - monotonic())

    def _chained(self, row: int, forbidden: set[tuple[int, int]]) -> ProposedMoves:
        return chained_moves(self._stock, self._wanted, row, forbidden, self._chains_end - monotonic())

    def _try_node(self, row: int, propose: Callable[[set[tuple[int, int]]], ProposedMoves]) -> None:
        forbidden: set[tuple[int, int]] = set()
        for _ in range(_TRIES_PER_NODE):
            proposal = propose(forbidden)
            if proposal.is_circular:
                self._failures["some moves would have to wait for each other"] += 1
            if proposal.moves is None or len(proposal.moves) >= self._fewest:
                return
            try:
                self._best = play(self._stage, self._goal, [self._stock.names[row]], proposal.moves)
                return
            except DoesNotHoldError as error:
                self._failures[str(error)] += 1
                if error.move is None or monotonic() > self._ends:
                    return
                forbidden.add((self._serials[error.move.pod], self._rows[error.move.destination]))
