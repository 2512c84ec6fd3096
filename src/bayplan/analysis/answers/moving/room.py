"""The fewest moves after which a pod has room on one node, by resources alone.

Takes the stock of a cluster, the pod and the node; gives moves that a solver proposes, or a lower bound for their
number. *Direct* moves take pods off that node only. *Chains* take pods off other nodes as well, to make room for those.
What else decides where a pod may run is left to those who play the moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from bayplan.analysis.answers.moving.stock import Lot, PodKind, Stock
from bayplan.analysis.integer_program import IntegerProgram
from bayplan.core.columns import BoolArray

#: Nodes that are considered for the pods of one kind, when pods of a single node are moved.
_DESTINATIONS_MAX = 40
#: Nodes whose pods may move in a chain.
_CHAINED_MAX = 25
#: A larger program would not be solved in time.
VARIABLES_MAX = 150_000


@dataclass(frozen=True, slots=True)
class Move:
    """A pod that leaves its node."""

    pod: str
    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class ProposedMoves:
    """Moves that suffice by arithmetic, in an order in which there is always room; None: none were found."""

    moves: tuple[Move, ...] | None
    bound: float  # fewer moves cannot suffice
    is_circular: bool = False  # each of some moves has to wait for another one of them


def moves_at_least(stock: Stock, wanted: PodKind, lots: Iterable[Lot], row: int) -> float:
    """How many pods must leave the node at least, wherever they go; infinite if even all of them are too few."""
    lots = list(lots)
    least = 0
    for dimension in np.flatnonzero(wanted.demand).tolist():
        missing = int(wanted.demand[dimension] - stock.free[row, dimension])
        if missing <= 0:
            continue
        sizes = sorted((int(lot.taken[dimension]) for lot in lots for _ in lot.keys), reverse=True)
        freed = np.cumsum(np.array(sizes, dtype=np.int64))
        enough = np.flatnonzero(freed >= missing)
        if not len(enough):
            return inf
        least = max(least, int(enough[0]) + 1)
    return least


def direct_moves(
    stock: Stock, wanted: PodKind, row: int, forbidden: set[tuple[int, int]], seconds: float
) -> ProposedMoves:
    """Pods of this node go to nodes with room for them. `forbidden` are pairs of a kind (its serial) and a node row."""
    lots = [lot for lot in stock.lots if lot.node_row == row]
    program = _Program(stock, wanted, row, lots)
    for kind in program.kinds:
        rows = _roomy_rows(stock, kind, kind.likely, forbidden)
        program.add_arrivals(kind, [each for each in rows if each != row][:_DESTINATIONS_MAX])
    return program.proposal(seconds)


def chained_moves(
    stock: Stock, wanted: PodKind, row: int, forbidden: set[tuple[int, int]], seconds: float
) -> ProposedMoves:
    """Pods of this node go to the emptiest nodes, whose pods make room for them if need be."""
    rows = [row, *(each for each in _emptiest(stock, wanted) if each != row)][:_CHAINED_MAX]
    program = _Program(stock, wanted, row, [lot for lot in stock.lots if lot.node_row in rows])
    for kind in program.kinds:
        serial = kind.info.shape.serial
        likely = [each for each in rows if kind.likely[each] and (serial, each) not in forbidden]
        program.add_arrivals(kind, program.that_could_hold(kind, likely))
    return program.proposal(seconds)


def least_moves(stock: Stock, wanted: PodKind, row: int, seconds: float) -> float:
    """Fewer moves cannot make room on the node, even if only resources and node objects counted."""
    program = _Program(stock, wanted, row, stock.lots)
    for kind in program.kinds:
        program.add_arrivals(kind, program.that_could_hold(kind, np.flatnonzero(kind.possible).tolist()))
        if program.size > VARIABLES_MAX:
            return 0.0
    return program.proposal(seconds).bound


def _emptiest(stock: Stock, wanted: PodKind) -> list[int]:
    """Nodes by how much of what the pod wants is free there."""
    needed = np.flatnonzero(wanted.demand)
    free = (stock.free[:, needed] / wanted.demand[needed]).min(axis=1) if len(needed) else stock.free[:, -1]
    return [int(row) for row in np.argsort(-free, kind="stable") if stock.alive[row]]


def _roomy_rows(stock: Stock, kind: PodKind, allowed: BoolArray, forbidden: set[tuple[int, int]]) -> list[int]:
    """Nodes that have room for one such pod, the emptiest first."""
    rows = np.flatnonzero(allowed & (kind.demand <= np.maximum(stock.free, 0)).all(axis=1))
    needed = np.flatnonzero(kind.demand)
    fits = (stock.free[rows][:, needed] // kind.demand[needed]).min(axis=1) if len(needed) else np.zeros(len(rows))
    order = np.argsort(-fits, kind="stable")
    serial = kind.info.shape.serial
    return [int(row) for row in rows[order] if (serial, int(row)) not in forbidden]


class _Program:
    """How many pods of each lot leave, and how many of each kind arrive where."""

    def __init__(self, stock: Stock, wanted: PodKind, target: int, lots: Sequence[Lot]) -> None:
        self._stock, self._wanted, self._target, self._lots = stock, wanted, target, lots
        self._program = IntegerProgram()
        self._leaving = [self._program.variable(len(lot.keys), cost=1.0) for lot in lots]
        self._arriving: dict[int, dict[int, int]] = {}  # kind -> node row -> variable
        self._lots_on: defaultdict[int, list[int]] = defaultdict(list)
        for position, lot in enumerate(lots):
            self._lots_on[lot.node_row].append(position)
        self._most_free = stock.free.copy()
        for lot in lots:
            self._most_free[lot.node_row] += lot.taken * len(lot.keys)
        self.kinds = list({id(lot.kind): lot.kind for lot in lots}.values())

    @property
    def size(self) -> int:
        return self._program.size

    def that_could_hold(self, kind: PodKind, rows: Sequence[int]) -> list[int]:
        """Of these nodes those with room for one such pod once all that can leave has left."""
        rows_array = np.array(rows, dtype=np.intp)
        fits = (kind.demand <= np.maximum(self._most_free[rows_array], 0)).all(axis=1)
        return [int(row) for row in rows_array[fits]]

    def add_arrivals(self, kind: PodKind, rows: Iterable[int]) -> None:
        """Pods of the kind may come to these nodes."""
        most = sum(len(lot.keys) for lot in self._lots if lot.kind is kind)
        self._arriving[id(kind)] = {row: self._program.variable(most) for row in rows}

    def proposal(self, seconds: float) -> ProposedMoves:
        self._conserve()
        self._keep_within_capacity()
        solved = self._program.minimize(seconds)
        bound = inf if solved.is_impossible else ceil(max(0.0, solved.bound))
        if solved.values is None:
            return ProposedMoves(None, bound)
        ordered = _in_order(self._stock, self._moves(solved.values))
        moves = None if ordered is None else tuple(move for move, _ in ordered)
        return ProposedMoves(moves, bound, is_circular=ordered is None)

    def _conserve(self) -> None:
        """What leaves arrives."""
        for kind in self.kinds:
            leaving = [(self._leaving[at], 1.0) for at, lot in enumerate(self._lots) if lot.kind is kind]
            arriving = [(variable, -1.0) for variable in self._arriving[id(kind)].values()]
            self._program.exactly([*leaving, *arriving], 0)

    def _keep_within_capacity(self) -> None:
        arrivals: defaultdict[int, list[tuple[PodKind, int]]] = defaultdict(list)
        for kind in self.kinds:
            for row, variable in self._arriving[id(kind)].items():
                arrivals[row].append((kind, variable))
        for row in sorted({*arrivals, self._target}):
            for dimension, limit in enumerate(self._limits(row)):
                terms = [(variable, float(kind.demand[dimension])) for kind, variable in arrivals[row]]
                terms += [(self._leaving[at], -float(self._lots[at].taken[dimension])) for at in self._lots_on[row]]
                terms = [(variable, weight) for variable, weight in terms if weight]
                # Nothing that arrives, or nothing that could be too much.
                if any(weight > 0 for _, weight in terms) or limit < 0:
                    self._program.at_most(terms, float(limit))

    def _limits(self, row: int) -> list[int]:
        """A node that holds too much already only matters to pods that ask for more of it."""
        free = self._stock.free[row].tolist()
        demand = self._wanted.demand.tolist() if row == self._target else [0] * len(free)
        return [have - need if need else max(0, have) for have, need in zip(free, demand, strict=True)]

    def _moves(self, values: Sequence[int]) -> list[tuple[Move, Lot]]:
        names = self._stock.names
        found = []
        for kind in self.kinds:
            places = [row for row, variable in self._arriving[id(kind)].items() for _ in range(values[variable])]
            gone = [
                (lot, key)
                for at, lot in enumerate(self._lots)
                if lot.kind is kind
                for key in lot.keys[: values[self._leaving[at]]]
            ]
            for (lot, key), row in zip(gone, places, strict=True):
                if row != lot.node_row:
                    found.append((Move(key, names[lot.node_row], names[row]), lot))
        return found


def _in_order(stock: Stock, moves: Sequence[tuple[Move, Lot]]) -> list[tuple[Move, Lot]] | None:
    """Each when there is room for it; None if some wait for each other."""
    rows = {name: row for row, name in enumerate(stock.names)}
    free = stock.free.copy()
    left, ordered = list(moves), []
    while left:
        for each in left:
            move, lot = each
            at, needed = rows[move.destination], lot.kind.demand > 0
            if (lot.kind.demand <= free[at])[needed].all():
                free[at] -= lot.kind.demand
                free[rows[move.source]] += lot.taken
                ordered.append(each)
                left.remove(each)
                break
        else:
            return None
    return ordered
