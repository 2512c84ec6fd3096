"""How full every node is, mostly in floats: what judging many nodes at once starts from.

The tables hold whole numbers, and dividing those takes several times as long as dividing floats. Here is what they say
as floats, read anew only in rows that have changed. Good for nothing where an amount is so large that a quotient of
floats could be rounded up to a whole number (`EXACT_BELOW`), or in a world other than the one that is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from bayplan.core.columns import ALL_ROWS, DENSE, BoolArray, FloatArray, IdArray, IntArray, RowArray, Rows
from bayplan.core.columns.nodes import NodeTable

#: Percentages of smaller amounts come out of floats as out of whole numbers. A hundredfold part is below 2**52, so it
#: is a float. A percentage that is not whole lies more than 2**-45 below the next whole number, which is at most 100;
#: there floats are 2**-46 apart, so that rounding does not reach it.
EXACT_BELOW = 1 << 45
#: Up to so many changed rows are read one by one, which costs less than array code for so few.
FEW_ROWS = 4
#: With more changed node objects than this all rows are read anew.
CHANGED_NODES_MAX = 16
#: What rows without a node object have of everything, in floats: no decision is about them, and none is to be short.
PLENTY = EXACT_BELOW - 1


class Floor:
    """What every node of some is known to have left, at least."""

    def __init__(self, least_free: list[int], fewest_pods_more: int) -> None:
        self.least_free = least_free  # by resource
        self.fewest_pods_more = fewest_pods_more

    def all_have(self, resource: int, amount: int) -> bool:
        return self.least_free[resource] >= amount

    def all_admit_a_pod(self) -> bool:
        return self.fewest_pods_more > 0

    def lower_to(self, free: list[int], pods_more: int) -> None:
        """A node has no more than this."""
        self.least_free = list(map(min, self.least_free, free))
        self.fewest_pods_more = min(self.fewest_pods_more, pods_more)


class Levels:
    """Amounts by resource and node. In floats, rows without a node object hold anything."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._position = (-1, -1, -1)  # of the changes of nodes; how many nodes; how many resources
        self._usage_position = -1
        self._are_exact = False
        self.capacities: FloatArray = np.zeros((0, 0))  # (resources, nodes)
        self.used: FloatArray = self.capacities  # (resources, nodes)
        self.free: IntArray = np.zeros((0, 0), dtype=np.int64)  # (resources, nodes) in whole numbers
        #: (resources,) no row has less free, or room for fewer pods; some may have had.
        self._least_free: list[int] = []
        self._least_room: list[float] = []
        self._fewest_pods_more = 0
        #: (resources, nodes) a hundred times what is free; of cpu and memory by the minima that the scheduler supposes
        self.room: FloatArray = self.capacities
        self._gathered: tuple[RowArray, slice | list[int], FloatArray] | None = None  # what was asked for last
        self._offered_by_all: list[bool] = []  # (resources,) whether every node has some, and always had
        self._offered: dict[tuple[int, ...], bool] = {}
        self._kept: dict[Hashable, tuple[IdArray, Callable[[Rows], IdArray], Callable[[int], int]]] = {}

    def now(self) -> Levels | None:
        """Itself, brought up to date; None where floats would not do."""
        nodes = self._nodes
        position = (nodes.spec_changes.position, nodes.count, len(nodes.resources))
        log = nodes.usage_changes
        news = log.position - self._usage_position
        if position != self._position:
            self._follow_nodes(position)
        elif news == 1:
            self._read(log.last)
        elif news:
            self._read_some(log.since(self._usage_position))
        self._usage_position = log.position
        return self if self._are_exact else None

    def all_offer(self, resources: tuple[int, ...]) -> bool:
        """Whether every node has some of each of the resources."""
        known = self._offered.get(resources)
        if known is None:
            known = self._offered[resources] = all(self._offered_by_all[resource] for resource in resources)
        return known

    def all_have(self, resource: int, amount: int) -> bool:
        """Whether every node is known to have so much free; it may be so without being known."""
        return self._least_free[resource] >= amount

    def all_have_room(self, resource: int, hundredfold: float) -> bool:
        """The same of a hundred times what is free by the minima that the scheduler supposes."""
        return self._least_room[resource] >= hundredfold

    def all_admit_a_pod(self) -> bool:
        """Whether every node is known to allow more pods than it has."""
        return self._fewest_pods_more > 0

    def capacities_at(self, rows: RowArray, columns: slice | list[int]) -> FloatArray:
        """(resources, rows) of these resources; read-only. Several plugins in turn ask about the same rows."""
        known = self._gathered
        if known is None or known[0] is not rows or known[1] != columns:
            known = self._gathered = (rows, columns, self.capacities[columns].take(rows, axis=1, mode="clip"))
        return known[2]

    def _follow_nodes(self, position: tuple[int, int, int]) -> None:
        """Node objects have changed, and perhaps pods have come or gone."""
        nodes, known = self._nodes, self._position
        self._position = position
        self._gathered = None
        changed = nodes.spec_changes.since(known[0]) if position[1:] == known[1:] else None
        moved = nodes.usage_changes.since(self._usage_position)
        if changed is None or moved is None or len(changed) > CHANGED_NODES_MAX:
            self._read_all()
            return
        for row in set(changed.tolist()):
            capacities = nodes.allocatable[row] if nodes.alive[row] else np.full(len(self.capacities), PLENTY)
            self.capacities[:, row] = capacities
            self._are_exact &= bool(capacities.max() < EXACT_BELOW)
            self._offer(capacities > 0)
        self._read_some(moved)

    def _offer(self, offered: BoolArray) -> None:
        """A node has some of these resources. What is kept was worked out where every node had some of all it needs."""
        by_all = [every and own for every, own in zip(self._offered_by_all, offered.tolist(), strict=True)]
        if by_all != self._offered_by_all:
            self._offered_by_all = by_all
            self._offered.clear()
            self._kept.clear()

    def _read_some(self, changed: RowArray | None) -> None:
        if changed is not None and len(changed) <= FEW_ROWS:
            for row in set(changed.tolist()):
                self._read(row)
        elif changed is not None and DENSE * len(changed) < self._nodes.count:
            self._read_many(changed)
        else:
            self._read_all()

    def kept(self, key: Hashable, of_rows: Callable[[Rows], IdArray], of_one: Callable[[int], int]) -> IdArray:
        """(nodes,) what follows from a node's levels alone; worked out once, and then for rows that change."""
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = (of_rows(ALL_ROWS), of_rows, of_one)
        return known[0]

    def _read_all(self) -> None:
        nodes = self._nodes
        offered = np.where(nodes.alive, nodes.allocatable.T, PLENTY)
        self._gathered = None
        self.capacities = offered.astype(np.float64)
        self.used = nodes.requested.T.astype(np.float64)
        self.free = np.ascontiguousarray((nodes.allocatable - nodes.requested).T)
        self._least_free = [int(free.min(initial=PLENTY)) for free in self.free[:, nodes.alive]]
        self.room = self.capacities - self.used
        self.room[:2] = self.capacities[:2] - nodes.nonzero_requested.T
        self.room *= 100.0
        self._least_room = [float(room.min(initial=100.0 * PLENTY)) for room in self.room]
        self._fewest_pods_more = int(self._pods_more(ALL_ROWS).min(initial=PLENTY))
        self._offered_by_all = [bool(capacities.min(initial=1.0) > 0) for capacities in self.capacities]
        amounts = (self.capacities, self.used, nodes.nonzero_requested)
        self._are_exact = all(each.max(initial=0) < EXACT_BELOW for each in amounts)
        self._offered.clear()
        self._kept.clear()

    def _pods_more(self, rows: Rows) -> IntArray:
        """(rows,) how many more pods nodes allow."""
        nodes = self._nodes
        return np.where(nodes.alive[rows], nodes.allowed_pods[rows] - nodes.pod_counts[rows], PLENTY)

    def _read(self, row: int) -> None:
        """With plain numbers: a row is short."""
        nodes = self._nodes
        requested: list[int] = nodes.requested[row].tolist()
        supposed: list[int] = nodes.nonzero_requested[row].tolist() + requested[2:]
        alive = nodes.alive.item(row)
        for resource, taken in enumerate(requested):
            free = nodes.allocatable.item(row, resource) - taken
            self.used[resource, row] = taken
            try:
                self.free[resource, row] = free
            except OverflowError:  # plain numbers do not wrap around as arrays do
                return self._read_all()
            if alive and free < self._least_free[resource]:
                self._least_free[resource] = free
            room = self.room[resource, row] = 100.0 * (self.capacities.item(resource, row) - supposed[resource])
            if alive and room < self._least_room[resource]:
                self._least_room[resource] = room
        if alive:
            more = nodes.allowed_pods.item(row) - nodes.pod_counts.item(row)
            self._fewest_pods_more = min(self._fewest_pods_more, more)
        if max(*requested, *supposed) >= EXACT_BELOW:
            self._are_exact = False
        for values, _, of_one in self._kept.values():
            values[row] = of_one(row)

    def _read_many(self, rows: RowArray) -> None:
        """The same for several rows, some perhaps several times."""
        nodes = self._nodes
        requested = nodes.requested[rows].T
        supposed = np.concatenate((nodes.nonzero_requested[rows].T, requested[2:]))
        self.used[:, rows] = requested
        free = self.free[:, rows] = nodes.allocatable[rows].T - requested
        least = free[:, nodes.alive[rows]].min(axis=1, initial=PLENTY)
        self._least_free = np.minimum(self._least_free, least).tolist()
        room = self.room[:, rows] = 100.0 * (self.capacities[:, rows] - supposed)
        self._least_room = np.minimum(self._least_room, room.min(axis=1)).tolist()
        self._fewest_pods_more = min(self._fewest_pods_more, int(self._pods_more(rows).min(initial=PLENTY)))
        if max(requested.max(), supposed.max()) >= EXACT_BELOW:
            self._are_exact = False
        for values, of_rows, _ in self._kept.values():
            values[rows] = of_rows(rows)
