"""Pods that wait for room on a node: by node, and all of them as arrays.

A decision has to make room for those of them that are at least as important, so that they are looked at again and again
while hundreds wait. From one decision to the next one of them comes or goes, and the arrays follow.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray
from bayplan.core.columns.nodes import NodeTable
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSpec

#: With more changes than this the arrays are made anew.
_FOLLOWED_MAX = 8


def known_by_name(pod: Pod) -> Pod:
    """A pod of which upstream finds nothing else, as it is in no queue."""
    meta = pod.metadata
    return Pod(metadata=ObjectMeta(namespace=meta.namespace, name=meta.name, uid=meta.uid))


def is_known_by_name(spec: PodSpec) -> bool:
    """Whether it is that of such a pod: all others have containers."""
    return not spec.containers


class NominatedPods(dict[str, list[int]]):
    """Node name -> rows of the pods nominated there, in order of nomination."""

    def __init__(self) -> None:
        super().__init__()
        self._node_of: dict[int, str] = {}
        self._pod_rows: RowArray = np.empty(0, dtype=np.intp)
        self._node_rows: RowArray = np.empty(0, dtype=np.intp)
        self._order_version = -1  # of the nodes that the arrays are good for
        self._changes: list[tuple[int, str | None]] = []  # since then: pods that came, and (None) that went

    def put(self, pod_row: int, node_name: str, place: int | None = None) -> None:
        """At this place among those of the node; None: at the end."""
        on_node = self.setdefault(node_name, [])
        on_node.insert(len(on_node) if place is None else place, pod_row)
        self._node_of[pod_row] = node_name
        self._note(pod_row, node_name)

    def drop(self, pod_row: int) -> str | None:
        """The node whose pod that was; None if it was nobody's."""
        node_name = self._node_of.pop(pod_row, None)
        if node_name is not None:
            self[node_name].remove(pod_row)
            if not self[node_name]:
                del self[node_name]
            self._note(pod_row, None)
        return node_name

    def place_of(self, pod_row: int) -> tuple[str, int] | None:
        """The node, and the place among its pods; None if the pod is nominated nowhere."""
        node_name = self._node_of.get(pod_row)
        return None if node_name is None else (node_name, self[node_name].index(pod_row))

    def rows(self, nodes: NodeTable) -> tuple[RowArray, RowArray]:
        """The pods that are nominated to nodes that exist, and those nodes."""
        if self._order_version != nodes.order_version or len(self._changes) > _FOLLOWED_MAX:
            self._make_anew(nodes)
        for pod_row, node_name in self._changes:
            if node_name is None:
                self._take_out(pod_row)
            else:
                self._add(pod_row, nodes.rows_by_name.get(node_name, -1), nodes)
        self._changes.clear()
        return self._pod_rows, self._node_rows

    def _note(self, pod_row: int, node_name: str | None) -> None:
        if len(self._changes) <= _FOLLOWED_MAX:  # one more says that there are too many
            self._changes.append((pod_row, node_name))

    def _make_anew(self, nodes: NodeTable) -> None:
        pod_rows = np.fromiter(self._node_of, dtype=np.intp, count=len(self._node_of))
        found = (nodes.rows_by_name.get(name, -1) for name in self._node_of.values())
        node_rows = np.fromiter(found, dtype=np.intp, count=len(self._node_of))
        exists = node_rows >= 0
        exists[exists] = nodes.alive[node_rows[exists]]
        self._pod_rows, self._node_rows = pod_rows[exists], node_rows[exists]
        self._order_version = nodes.order_version
        self._changes.clear()

    def _add(self, pod_row: int, node_row: int, nodes: NodeTable) -> None:
        if node_row >= 0 and nodes.alive[node_row]:
            self._pod_rows = np.append(self._pod_rows, pod_row)
            self._node_rows = np.append(self._node_rows, node_row)

    def _take_out(self, pod_row: int) -> None:
        stays = self._pod_rows != pod_row
        self._pod_rows, self._node_rows = self._pod_rows[stays], self._node_rows[stays]
