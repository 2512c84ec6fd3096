"""Pods counted for each topology domain, and which pods a term of the incoming pod means.

`DomainCounts` is upstream's map from (topology key, value) to a number, seen from the nodes: for each node the
number of its own domain. Nodes without the key have no domain, so what stands on them counts nowhere. Which
numbers are added up is the business of filtering and scoring.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayplan.core.columns import ABSENT, IdArray, IntArray
from bayplan.core.columns.counters import PodMatch
from bayplan.core.columns.labels import LabelColumn, NodeLabels
from bayplan.core.columns.terms import AffinityTerm
from bayplan.core.snapshot import Objects


def meant_by(term: AffinityTerm, objects: Objects) -> PodMatch:
    """The running pods that a term of the incoming pod means."""
    selector = term.namespace_selector
    # Upstream leaves the selector in force beside the names it stands for, and tests it on no labels at all:
    # one that a namespace without labels meets reaches every namespace. (v1.36; mended later.)
    if selector.matches({}):
        return PodMatch(None, term.selector)
    if selector.selects_nothing:
        return PodMatch(term.namespaces, term.selector)
    selected = (name for name, space in objects.namespaces.items() if selector.matches(space.metadata.labels))
    return PodMatch(term.namespaces.union(selected), term.selector)


class DomainCounts:
    """For each topology key and node, a number for the node's domain."""

    def __init__(self, labels: NodeLabels) -> None:
        self._labels = labels
        self._by_node: dict[str, IntArray] = {}  # key -> (nodes,) what stands on the node, if it has the key
        self.is_empty = True  # nothing that counts was ever added; sums may be zero all the same

    def add(self, key: str, pod_counts: IdArray, weight: int = 1) -> None:
        """`pod_counts` (nodes,) pods stand on the nodes, each worth `weight`."""
        counted = np.where(self._labels.column(key).ids != ABSENT, pod_counts, 0).astype(np.int64)
        if not counted.any():
            return
        self.is_empty = False
        known = self._by_node.get(key)
        self._by_node[key] = weight * counted if known is None else known + weight * counted

    @property
    def total(self) -> int:
        """Of all domains of all keys."""
        return sum(int(standing.sum()) for standing in self._by_node.values())

    def by_domain(self) -> Mapping[str, IntArray]:
        """For each key (nodes,) the sum over the node's domain, 0 for a node without the key."""
        return {key: over_domains(self._labels.column(key), amounts) for key, amounts in self._by_node.items()}


def over_domains(column: LabelColumn, amounts: IntArray) -> IntArray:
    """(nodes,) the sum of `amounts` over each node's domain; nodes without the key have amount 0 and get 0."""
    rows = np.flatnonzero(amounts)
    # One entry more than there are domains: it stays 0 and answers for id -1.
    sums = np.bincount(column.ids[rows], weights=amounts[rows], minlength=column.domains + 1)
    return sums.astype(np.int64)[column.ids]
