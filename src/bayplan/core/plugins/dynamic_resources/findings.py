"""What is known of a pod's claims on every node, kept from pod to pod.

All pods whose claims ask for the same share one `PlanFindings`. All nodes are counted at once where that is possible;
after that, and where counting cannot tell, a node is searched when somebody asks about it. When devices of a pool that
belongs to one node change hands only that node is looked at again. It equals a search on every node at all times.
Upstream: none, as it keeps nothing from pod to pod.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, Rows, every_row
from bayplan.core.columns.devices import Inventory
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.plugins.device_pools import device_columns
from bayplan.core.plugins.dynamic_resources.allocation import Allocation, AllocationError, Search
from bayplan.core.plugins.dynamic_resources.counting import ALTERNATIVES_MAX, count_nodes
from bayplan.core.plugins.dynamic_resources.requests import Plan

FITS, CANNOT_ALLOCATE, INVALID_POOLS, FAILED = 0, 1, 2, 3
#: With so many nodes to look at it pays to count all of them.
MANY_ROWS = 16
#: Plans whose findings are kept.
KEPT_MAX = 64


class PlanFindings:
    """Verdicts and scores of one plan."""

    def __init__(self, nodes: NodeTable) -> None:
        self.codes: IntArray = np.zeros(nodes.count, dtype=np.int64)
        self.scores: IntArray = np.zeros(nodes.count, dtype=np.int64)
        self.errors: dict[int, AllocationError] = {}  # by row
        self._known: BoolArray = np.zeros(nodes.count, dtype=np.bool_)
        self._instant = (nodes.spec_changes.position, nodes.count)
        self._changes_end = -1

    def is_of(self, nodes: NodeTable) -> bool:
        return self._instant == (nodes.spec_changes.position, nodes.count)

    def look(self, inventory: Inventory, nodes: NodeTable, plan: Plan, rows: Rows) -> None:
        """Bring the rows up to date."""
        self._forget_changed(inventory, nodes)
        asked: RowArray = every_row(nodes.count)[rows]
        unknown = asked[~self._known[asked]]
        if len(unknown) > MANY_ROWS:
            self._count(inventory, nodes, plan)
            unknown = asked[~self._known[asked]]
        for row in unknown.tolist():
            if nodes.alive[row]:
                self._search(inventory, nodes, plan, row)

    def _forget_changed(self, inventory: Inventory, nodes: NodeTable) -> None:
        if self._changes_end == inventory.changes_end:
            return
        changed = inventory.changes_since(self._changes_end) if self._changes_end >= 0 else None
        self._changes_end = inventory.changes_end
        node_of_pool = device_columns(inventory, nodes).node_of_pool
        if changed is None or any(pool_id not in node_of_pool for pool_id in changed):
            self._known[:] = False
            return
        for pool_id in changed:
            self._known[node_of_pool[pool_id]] = False

    def _count(self, inventory: Inventory, nodes: NodeTable, plan: Plan) -> None:
        counted = count_nodes(inventory, nodes, plan)
        if counted is None:
            return
        new = counted.decided & ~self._known
        self.codes[new] = np.where(counted.fits[new], FITS, CANNOT_ALLOCATE)
        self.scores[new] = counted.scores[new]
        self._known |= new

    def _search(self, inventory: Inventory, nodes: NodeTable, plan: Plan, row: int) -> None:
        self.errors.pop(row, None)
        self.scores[row] = 0
        self._known[row] = True
        search = Search(inventory, nodes, row, plan)
        try:
            found = search.run()
        except AllocationError as error:
            self.codes[row] = FAILED
            self.errors[row] = error
            return
        if found is not None:
            self.codes[row] = FITS
            self.scores[row] = score_of(found)
        else:
            self.codes[row] = INVALID_POOLS if search.saw_invalid_pool else CANNOT_ALLOCATE


def score_of(found: Allocation) -> int:
    """Earlier alternatives are worth more."""
    return sum(ALTERNATIVES_MAX - alternative for alternative in found.selected.values())


def findings_of(inventory: Inventory, nodes: NodeTable, plan: Plan) -> PlanFindings:
    """What is known of such claims; `look` has to be called before anything is read."""
    kept: dict[tuple[bytes, ...], PlanFindings] = inventory.remembered.setdefault("findings", {})
    known = kept.pop(plan.key, None)
    if known is None or not known.is_of(nodes):
        known = PlanFindings(nodes)
        while len(kept) >= KEPT_MAX:
            del kept[next(iter(kept))]
    kept[plan.key] = known
    return known
