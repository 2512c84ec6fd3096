"""Pods that wait for room on a node: by node, and all of them as arrays.

A decision has to make room for those of them that are at least as important, so that they are looked at again and again
while hundreds wait.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray
from bayplan.core.columns.nodes import NodeTable


class NominatedPods(dict[str, list[int]]):
    """Node name -> rows of the pods nominated there, in order of nomination."""

    def __init__(self) -> None:
        super().__init__()
        self._node_of: dict[int, str] = {}
        self._arrays: tuple[int, RowArray, RowArray] | None = None  # with the version of the nodes they are good for

    def put(self, pod_row: int, node_name: str) -> None:
        self.setdefault(node_name, []).append(pod_row)
        self._node_of[pod_row] = node_name
        self._arrays = None

    def drop(self, pod_row: int) -> str | None:
        """The node whose pod that was; None if it was nobody's."""
        node_name = self._node_of.pop(pod_row, None)
        if node_name is not None:
            self[node_name].remove(pod_row)
            if not self[node_name]:
                del self[node_name]
            self._arrays = None
        return node_name

    def rows(self, nodes: NodeTable) -> tuple[RowArray, RowArray]:
        """The pods that are nominated to nodes that exist, and those nodes."""
        if self._arrays is None or self._arrays[0] != nodes.order_version:
            pod_rows = np.fromiter(self._node_of, dtype=np.intp, count=len(self._node_of))
            found = (nodes.rows_by_name.get(name, -1) for name in self._node_of.values())
            node_rows = np.fromiter(found, dtype=np.intp, count=len(self._node_of))
            exists = node_rows >= 0
            exists[exists] = nodes.alive[node_rows[exists]]
            self._arrays = (nodes.order_version, pod_rows[exists], node_rows[exists])
        return self._arrays[1:]
