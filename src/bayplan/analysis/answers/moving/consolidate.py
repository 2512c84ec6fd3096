"""Which nodes can be given back: as many as possible, with every pod that leaves them running elsewhere.

A solver picks nodes whose pods have room on the others, by resources; in a huge cluster those with the fewest pods are
picked. They are drained one after another with real decisions, all of them cordoned first. A node whose pods do not get
another node, that a budget blocks, or whose pods a pod group cannot spare, is left out, and nodes beyond the first
choice are tried while there is time. The answer says how many nodes could be given back at most. What happens when the
next node fails is not looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, inf
from time import monotonic
from typing import Any

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.drain import Draining, drain_in, nodes_named
from bayplan.analysis.answers.moving.defrag import SECONDS
from bayplan.analysis.answers.moving.quorums import Quorums
from bayplan.analysis.answers.moving.room import VARIABLES_MAX
from bayplan.analysis.answers.moving.stock import Fixed, Lot, PodKind, Stock, take_stock
from bayplan.analysis.answers.stage import Stage
from bayplan.analysis.integer_program import IntegerProgram
from bayplan.analysis.showing import Shown
from bayplan.core.columns import BoolArray, IntArray
from bayplan.core.columns.resources import CPU_NAME
from bayplan.model.node import Node
from bayplan.model.quantity import milli_quantity, whole_quantity

#: Pods that do not keep a node: they go with it, or are about to.
_NO_OBSTACLE = (Fixed.DAEMON, Fixed.LEAVING)
#: Of the time, what the solver gets for its bound, and for another choice if the first one does not hold.
_SHARE_OF_SOLVER = 0.3
#: Of more nodes than this, half are dropped at once when they cannot all go: each try takes long.
_MANY = 50
#: In a cluster that is too large for the solver, as playing more would take minutes.
_GREEDY_MOVES_MAX = 500


@dataclass(frozen=True, slots=True, repr=False)
class Consolidation(Shown):
    """The answer."""

    draining: Draining  # the nodes that can be given back, drained in this order
    candidates: int  # nodes that were asked about
    bound: int  # more nodes cannot be given back
    kept: Mapping[str, int] = field(default_factory=dict)  # why other nodes must stay, and how many
    freed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # node -> resource -> how much it has

    @property
    def nodes(self) -> list[str]:
        return [node.node for node in self.draining.nodes]

    @property
    def moves(self) -> int:
        return sum(len(node.evictions) for node in self.draining.nodes)

    @property
    def is_proven(self) -> bool:
        """Whether no more nodes could be given back."""
        return len(self.nodes) >= self.bound

    def to_dict(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes,
            "moves": self.moves,
            "candidates": self.candidates,
            "atMost": self.bound,
            "proven": self.is_proven,
            "kept": [{"reason": reason, "nodes": count} for reason, count in self.kept.items()],
            "freed": {node: dict(amounts) for node, amounts in self.freed.items()},
            "draining": self.draining.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Wish:
    """What may be given back."""

    selector: str = ""  # only nodes with these labels
    max_nodes: int | None = None
    max_moves: int | None = None
    seconds: float = SECONDS


def consolidate(asking: Asking, wish: Wish) -> Consolidation:
    """Raises InvalidObject for a selector that is not understood, or that selects no node."""
    cluster = asking.cluster
    nodes = {obj.metadata.name: obj for obj in cluster.objects if isinstance(obj, Node)}
    names = nodes_named(cluster, (), wish.selector) if wish.selector else sorted(nodes)
    stage = Stage(asking)
    with stage.course() as course:
        course.settle()
        quorums = Quorums(course)
        stock = take_stock(asking, course, quorums=quorums)
    obstacles = _obstacles(asking, stock)
    rows = [row for row, name in enumerate(stock.names) if stock.alive[row] and name in names]
    free_to_go = [row for row in rows if stock.names[row] not in obstacles]
    search = _Search(stage, stock, quorums, free_to_go, wish)
    draining = search.best()
    given_back = [node.node for node in draining.nodes]
    kept = Counter(obstacles[stock.names[row]] for row in rows if stock.names[row] in obstacles)
    freed = {name: _offered(nodes[name]) for name in given_back}
    return Consolidation(draining, len(rows), max(search.bound, len(given_back)), dict(kept.most_common()), freed)


def _offered(node: Node) -> dict[str, int]:
    """Milli-cores of cpu, whole units of everything else."""
    amounts = node.status.allocatable
    return {name: (milli_quantity if name == CPU_NAME else whole_quantity)(raw) for name, raw in amounts.items()}


def _obstacles(asking: Asking, stock: Stock) -> dict[str, str]:
    """Nodes with a pod that cannot be moved, and why it cannot."""
    found: dict[str, str] = {}
    for key, why in stock.fixed.items():
        pod = asking.cluster.pods.get(key)
        if why not in _NO_OBSTACLE and pod is not None and pod.spec.node_name:
            found.setdefault(pod.spec.node_name, why.value)
    return found


class _Search:
    """For as many nodes as possible."""

    def __init__(self, stage: Stage, stock: Stock, quorums: Quorums, rows: Sequence[int], wish: Wish) -> None:
        self._stage, self._stock, self._quorums, self._wish = stage, stock, quorums, wish
        self._ends = monotonic() + wish.seconds
        lots, room = stock.lots_by_node(), _Room(stock)
        self._rows = [row for row in rows if room.is_there(row, lots.get(row, []))]
        self._lots = {row: lots.get(row, []) for row in self._rows}
        self._pods = {stock.names[row]: sum(len(lot.keys) for lot in self._lots[row]) for row in self._rows}
        most = _most_by_amounts(stock, self._lots)
        self._most = most if wish.max_nodes is None else min(most, wish.max_nodes)
        self.bound = self._most

    def best(self) -> Draining:
        chosen, self.bound = self._choose(likely=False)
        held = self._held(chosen or self._chosen_greedily())
        if len(held.nodes) < self.bound:
            other, _ = self._choose(likely=True)
            again = self._held(other)
            held = again if len(again.nodes) > len(held.nodes) else held
        return self._with_more(held)

    def _choose(self, *, likely: bool) -> tuple[list[str], int]:
        """Nodes that could go by resources, and how many could at most."""
        seconds = min(self._wish.seconds * _SHARE_OF_SOLVER, self._ends - monotonic())
        self._stage.asking.tell("choosing nodes", 0, 0)
        program = _Program(self._stock, self._rows, self._lots, likely=likely)
        program.keep_quorums(self._quorums)
        if program.size > VARIABLES_MAX or seconds <= 0:
            return [], self._most
        rows, most = program.choice(self._most, self._wish.max_moves, seconds)
        return [self._stock.names[row] for row in rows], min(most, self._most)

    def _chosen_greedily(self) -> list[str]:
        """Where a program is too large: nodes with few pods first, as long as those have room on nodes that stay."""
        free, staying = self._stock.free.copy(), self._stock.alive.copy()
        chosen: list[str] = []
        rows = {name: row for row, name in enumerate(self._stock.names)}
        moves_left = _GREEDY_MOVES_MAX if self._wish.max_moves is None else self._wish.max_moves
        for name in self._in_order(self._pods):
            row = rows[name]
            if len(chosen) == self._most or self._pods[name] > moves_left or not staying[row]:
                break
            staying[row] = False
            after = _with_room_for(self._lots[row], free, staying)
            if after is None or not self._quorums.are_kept_without([*chosen, name]):
                staying[row] = True
                continue
            free = after
            moves_left -= self._pods[name]
            chosen.append(name)
        return chosen

    def _held(self, names: Iterable[str]) -> Draining:
        """Of the nodes those that can be drained, all of them cordoned."""
        left = self._in_order(names)
        while True:
            found = self._drained(left)
            spoiling = _spoiling(found) or self._quorums.torn_apart_by(found)
            if not spoiling:
                return found
            left = [name for name in left if name not in spoiling]
            if len(left) > _MANY:
                left = left[: len(left) // 2]
            if monotonic() > self._ends:
                # Nodes without pods can always go.
                left = [name for name in left if not self._pods[name]]

    def _with_more(self, held: Draining) -> Draining:
        """Nodes with few pods are the easiest to add."""
        for name in self._in_order(self._pods):
            if len(held.nodes) >= self.bound or monotonic() > self._ends:
                break
            names = [node.node for node in held.nodes]
            moves = sum(self._pods[each] for each in (*names, name))
            if (
                name in names
                or not self._quorums.are_kept_without([*names, name])
                or (self._wish.max_moves is not None and moves > self._wish.max_moves)
            ):
                continue
            found = self._drained([*names, name])
            held = held if _spoiling(found) or self._quorums.torn_apart_by(found) else found
        return held

    def _in_order(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: (self._pods[name], name))

    def _drained(self, names: Sequence[str]) -> Draining:
        self._stage.asking.tell(f"nodes being drained: {len(names):,}", 0, 0)
        with self._stage.course() as course:
            course.settle()
            return drain_in(course, names)


class _Room:
    """Where single pods could go, whatever else moves: other nodes only fill up while some are drained."""

    def __init__(self, stock: Stock) -> None:
        self._stock = stock
        self._free = np.maximum(stock.free, 0)
        self._allowed: dict[int, BoolArray] = {}  # by kind: (nodes,)

    def is_there(self, row: int, lots: Iterable[Lot]) -> bool:
        """Whether each pod of the node has room on some other one."""
        return all(np.count_nonzero(allowed) > allowed[row] for allowed in map(self._nodes_for, lots))

    def _nodes_for(self, lot: Lot) -> BoolArray:
        kind = lot.kind
        if id(kind) not in self._allowed:
            self._allowed[id(kind)] = kind.possible & self._stock.alive & (kind.demand <= self._free).all(1)
        return self._allowed[id(kind)]


def _most_by_amounts(stock: Stock, lots: Mapping[int, Sequence[Lot]]) -> int:
    """More nodes cannot go: what is free on the others must take their pods."""
    most = len(lots)
    free = np.maximum(stock.free, 0)
    needed = np.zeros((len(lots), free.shape[1]))
    for at, (row, own) in enumerate(lots.items()):
        needed[at] = free[row] + sum((lot.kind.demand * len(lot.keys) for lot in own), np.zeros(free.shape[1]))
    for dimension in range(free.shape[1]):
        total = np.cumsum(np.sort(needed[:, dimension]))
        most = min(most, int(np.count_nonzero(total <= free[stock.alive, dimension].sum())))
    return most


def _with_room_for(lots: Sequence[Lot], free: IntArray, staying: BoolArray) -> IntArray | None:
    """What is free once these pods are where they leave the least room; None if there is none for one of them."""
    free = free.copy()
    for lot in lots:
        for _ in lot.keys:
            rows = np.flatnonzero(lot.kind.likely & staying & (lot.kind.demand <= free).all(axis=1))
            if not len(rows):
                return None
            free[rows[free[rows, 0].argmin()]] -= lot.kind.demand
    return free


def _spoiling(found: Draining) -> set[str]:
    """The first node that cannot be given back; empty if all can."""
    pending = set(found.pending)
    for node in found.nodes:
        if node.blocked or node.lost or node.preempted or pending.intersection(node.pending):
            return {node.node}
    # Pods of a node that was drained before may be pushed out by others.
    return set() if found.works else {found.nodes[-1].node}


class _Program:
    """Which nodes go, and how many pods of each kind arrive on which of the others."""

    def __init__(self, stock: Stock, rows: Sequence[int], lots: Mapping[int, Sequence[Lot]], *, likely: bool) -> None:
        self._stock, self._rows = stock, rows
        self._program = IntegerProgram()
        pods = {row: sum(len(lot.keys) for lot in lots[row]) for row in rows}
        # Of two choices of as many nodes the one with fewer moves; all moves together weigh less than half a node.
        self._per_move = 0.5 / (sum(pods.values()) + 1)
        self._pods = pods
        self._going = {row: self._program.variable(1, cost=self._per_move * pods[row] - 1) for row in rows}
        self._arriving: defaultdict[int, list[tuple[PodKind, int]]] = defaultdict(list)  # node row -> kind, variable
        by_kind: dict[int, list[Lot]] = {}
        for row in rows:
            for lot in lots[row]:
                by_kind.setdefault(id(lot.kind), []).append(lot)
        for kind_lots in by_kind.values():
            self._add_kind(kind_lots, likely=likely)

    @property
    def size(self) -> int:
        return self._program.size

    def _add_kind(self, lots: Sequence[Lot], *, likely: bool) -> None:
        kind = lots[0].kind
        allowed = (kind.likely if likely else kind.possible) & (kind.demand <= np.maximum(self._stock.free, 0)).all(1)
        most = sum(len(lot.keys) for lot in lots)
        arriving = []
        for row in np.flatnonzero(allowed).tolist():
            arriving.append(self._program.variable(most))
            self._arriving[row].append((kind, arriving[-1]))
        leaving = [(self._going[lot.node_row], -float(len(lot.keys))) for lot in lots]
        self._program.exactly([*((variable, 1.0) for variable in arriving), *leaving], 0)

    def keep_quorums(self, quorums: Quorums) -> None:
        """Nodes that each have only some pods of a group: not all of them go if that would be too many of these."""
        names = self._stock.names
        for quorum in quorums.by_group.values():
            terms = [(self._going[row], float(quorum.on_nodes[names[row]])) for row in self._rows]
            terms = [(variable, pods) for variable, pods in terms if pods]
            if sum(pods for _, pods in terms) > quorum.spare and not quorum.may_leave_together:
                self._program.at_most(terms, quorum.spare)

    def choice(self, most: int, max_moves: int | None, seconds: float) -> tuple[list[int], int]:
        """The nodes to give back, and how many could be at most."""
        self._keep_within_capacity()
        self._program.at_most([(variable, 1.0) for variable in self._going.values()], most)
        if max_moves is not None:
            moves = [(variable, float(self._pods[row])) for row, variable in self._going.items() if self._pods[row]]
            self._program.at_most(moves, max_moves)
        solved = self._program.minimize(seconds)
        values = solved.values or ()
        rows = [row for row, variable in self._going.items() if values and values[variable]]
        return rows, len(self._rows) if solved.bound == -inf else floor(-solved.bound + 0.5)

    def _keep_within_capacity(self) -> None:
        """A node that goes has room for nothing."""
        for row, arriving in self._arriving.items():
            going = self._going.get(row)
            for dimension, free in enumerate(np.maximum(self._stock.free[row], 0).tolist()):
                terms = [(variable, float(kind.demand[dimension])) for kind, variable in arriving]
                terms = [(variable, weight) for variable, weight in terms if weight]
                if terms:
                    holding = [(going, float(free))] if going is not None else []
                    self._program.at_most([*terms, *holding], free)
