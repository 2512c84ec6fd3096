"""Pods counted for each topology domain, and which pods a term of the incoming pod means.

`DomainCounts` is upstream's map from (topology key, value) to a number, seen from the nodes: for each node the
number of its own domain. Nodes without the key have no domain, so what stands on them counts nowhere. Which
numbers are added up is the business of filtering and scoring.
"""

from __future__ import annotations

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
        self._standing: dict[str, IntArray] = {}  # key -> (nodes,) what stands on the node itself
        self.pods_counted = 0  # a pod once for each term it was counted for

    def add(self, key: str, pod_counts: IdArray, weight: int = 1) -> None:
        """`pod_counts` (nodes,) pods stand on the nodes, each worth `weight`."""
        counted: IntArray = np.multiply(pod_counts, self._labels.column(key).ids != ABSENT, dtype=np.int64)
        pod_count = int(counted.sum())
        if not pod_count:
            return
        self.pods_counted += pod_count
        if weight != 1:
            counted *= weight
        known = self._standing.get(key)
        self._standing[key] = counted if known is None else known + counted

    def by_node(self) -> dict[str, IntArray]:
        """For each key (nodes,) the sum over the node's domain, 0 for a node without the key."""
        return {key: over_domains(self._labels.column(key), amounts) for key, amounts in self._standing.items()}


def over_domains(column: LabelColumn, amounts: IntArray) -> IntArray:
    """(nodes,) the sum of `amounts` over each node's domain; nodes without the key have amount 0 and get 0."""
    if column.is_unique:
        return amounts
    rows = np.flatnonzero(amounts)
    # One entry more than there are domains: it stays 0 and answers for id -1.
    sums = np.bincount(column.ids[rows], weights=amounts[rows], minlength=column.domains + 1)
    return sums.astype(np.int64).take(column.ids)
