"""A plugin written for one node at a time, for those who do not want to think in arrays.

Subclass `PerNodePlugin`, give it a `name` and override `fits` or `rate`, or both. It is asked once for each node, in
Python, so it is slower than array code by orders of magnitude; its answers are never reused. For a policy worth
keeping, write the array form of `contract` and let `bayplan.testing` compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows, every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.verdict import Status, unschedulable
from bayplan.core.snapshot import View


@dataclass(frozen=True, slots=True)
class NodeView:
    """What a per-node plugin sees of a node. Amounts are milli-cores for cpu and whole units for everything else."""

    view: View
    row: int

    @property
    def name(self) -> str:
        return self.view.nodes.names[self.row]

    @property
    def labels(self) -> Mapping[str, str]:
        return self.view.nodes.labels[self.row]

    @property
    def pod_keys(self) -> list[str]:
        """namespace/name of the pods there now.

        While preemption tries what would be without some of them, `requested` follows and this does not: a plugin that
        filters by it needs `fork` and `shift` (see `contract`).
        """
        return [self.view.pods.keys[row] for row in self.view.nodes.pod_rows[self.row]]

    def allocatable(self, resource: str) -> int:
        column = self.view.nodes.resources.find(resource)
        return int(self.view.nodes.allocatable[self.row, column]) if column >= 0 else 0

    def requested(self, resource: str) -> int:
        column = self.view.nodes.resources.find(resource)
        return int(self.view.usage.requested[self.row, column]) if column >= 0 else 0


class PerNodePlugin:
    """Filters and scores node by node."""

    name: ClassVar[str]
    # Nothing is known of what a subclass looks at, so nothing may be reused.
    reads: ClassVar[Reads] = Reads.CLUSTER
    score_reads: ClassVar[Reads] = Reads.CLUSTER

    def fits(self, pod: PodInfo, node: NodeView) -> str:  # noqa: ARG002
        """Why the pod must not go to the node, "" if it may."""
        return ""

    def rate(self, pod: PodInfo, node: NodeView) -> int:  # noqa: ARG002
        """0 to 100, higher is better."""
        return 0

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        """The code of a failing node is its row + 1, so that its own reason can be told."""
        failed = [row + 1 if self.fits(state, NodeView(view, row)) else 0 for row in _each(view, rows)]
        return np.array(failed, dtype=np.int64)

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        # A node that only fails together with the pods nominated to it has no reason of its own to tell.
        return unschedulable(self.fits(state, NodeView(view, code - 1)) or f"node(s) didn't pass {self.name}")

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        return np.array([self.rate(state, NodeView(view, row)) for row in _each(view, rows)], dtype=np.int64)


def _each(view: View, rows: Rows) -> list[int]:
    every = every_row(view.nodes.count)
    return [int(row) for row in every[rows]]
